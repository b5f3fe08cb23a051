"""The reward service as an ASGI application."""

import asyncio
import logging
import secrets
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ValidationError

from rewards.reward import Reward
from rewards.service.judges import JUDGES, Judges
from rewards.service.metrics import Metrics
from rewards.service.upload import BadUpload, DeckUpload, PatchUpload, lay_out
from sandboxes.sandbox import SandboxFault
from tasks.store import AnyTask
from tasks.task import PatchTask

Kind = Literal["patch", "deck"]
Body = TypeVar("Body", bound=BaseModel)
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ServiceSettings:
    token: str
    workers: int = 2
    queue: int = 32
    """requests that may wait for a worker; past it the answer is 503 at once"""
    largest_body: int = 32 * 1024 * 1024
    """bytes; past it the answer is 413"""
    retry_after_s: int = 5


class Unavailable(HTTPException):
    """No reward, through no fault of the submission: HTTP 503 and when to try again, never a number."""

    def __init__(self, failure: str, reason: str, retry_after_s: int) -> None:
        detail = {"failure": failure, "reason": reason}
        super().__init__(503, detail, headers={"Retry-After": str(retry_after_s)})


def application(tasks: Iterable[AnyTask], settings: ServiceSettings, judges: Judges = JUDGES) -> FastAPI:
    """POST /rewards/patch and /rewards/deck (with the bearer token) give a Reward; GET /health and /metrics.

    Status 401 without the token, 404 for an unknown task, 413 and 422 for a body that is too large or wrong,
    503 where there is no valid reward or no room in the queue.
    """
    patch_tasks = {task.id: task for task in tasks if isinstance(task, PatchTask)}
    metrics = Metrics()
    pool = ThreadPoolExecutor(settings.workers, thread_name_prefix="reward")
    taken = 0

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        pool.shutdown(wait=True, cancel_futures=True)

    app = FastAPI(
        title="patchdeck rewards", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None
    )

    async def authorised(request: Request) -> None:
        given = request.headers.get("authorization", "").encode()
        if not secrets.compare_digest(given, f"Bearer {settings.token}".encode()):
            raise HTTPException(
                401, "send the token: Authorization: Bearer ...", {"WWW-Authenticate": "Bearer"}
            )

    async def read_body(request: Request) -> bytes:
        parts, size = [], 0
        async for part in request.stream():
            size += len(part)
            if size > settings.largest_body:
                raise HTTPException(413, f"the body is larger than {settings.largest_body} bytes")
            parts.append(part)
        return b"".join(parts)

    async def judged(kind: Kind, judge: Callable[[], Reward]) -> Reward:
        nonlocal taken
        if taken >= settings.workers + settings.queue:
            raise Unavailable("queue", "too many requests are waiting already", settings.retry_after_s)
        taken += 1
        metrics.running.set(taken)
        try:
            reward = await asyncio.get_running_loop().run_in_executor(pool, judge)
        except SandboxFault as fault:
            metrics.invalid.labels(kind, "infrastructure").inc()
            log.warning("no reward for a %s: %s", kind, fault)
            raise Unavailable("infrastructure", str(fault), settings.retry_after_s) from fault
        finally:
            taken -= 1
            metrics.running.set(taken)
        if not reward.valid:
            failure = reward.failure or "infrastructure"
            metrics.invalid.labels(kind, failure).inc()
            raise Unavailable(failure, reward.failure_reason, settings.retry_after_s)
        return reward

    @app.middleware("http")
    async def count(request: Request, call_next: Callable[[Request], "asyncio.Future[Response]"]) -> Response:
        kind = {"/rewards/patch": "patch", "/rewards/deck": "deck"}.get(request.url.path)
        start = time.monotonic()
        status = 500
        try:
            response = await call_next(request)
            status = response.status_code
            return response
        finally:
            if kind is not None:
                metrics.requests.labels(kind, str(status)).inc()
                if status == 200:
                    metrics.seconds.labels(kind).observe(time.monotonic() - start)

    @app.exception_handler(BadUpload)
    async def refuse(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 422)

    @app.post("/rewards/patch", dependencies=[Depends(authorised)])
    async def reward_patch(body: Annotated[bytes, Depends(read_body)]) -> Reward:
        upload = _parsed(PatchUpload, body)
        task = patch_tasks.get(upload.task_id)
        if task is None:
            raise HTTPException(404, f"no patch task {upload.task_id!r} is served here")
        return await judged("patch", lambda: judges.patch(task, upload.patch))

    @app.post("/rewards/deck", dependencies=[Depends(authorised)])
    async def reward_deck(body: Annotated[bytes, Depends(read_body)]) -> Reward:
        upload = _parsed(DeckUpload, body)
        return await judged("deck", lambda: _judge_deck(upload, judges))

    @app.get("/health")
    async def health() -> dict[str, str | int]:
        return {"status": "ok", "tasks": len(patch_tasks), "workers": settings.workers, "running": taken}

    @app.get("/metrics")
    async def show_metrics() -> Response:
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return app


def _judge_deck(upload: DeckUpload, judges: Judges) -> Reward:
    from rewards.slides.static.source import NotADeck

    with tempfile.TemporaryDirectory(prefix="patchdeck-deck-") as folder:
        try:
            reward = judges.deck(lay_out(upload, Path(folder)))
        except NotADeck as error:
            # The message names a folder of ours that means nothing to the client.
            raise BadUpload(str(error).replace(folder, "the deck")) from error
    return reward.model_copy(update={"task_id": upload.task_id}) if upload.task_id else reward


def _parsed(model: type[Body], body: bytes) -> Body:
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the body"
        raise HTTPException(422, f"{where}: {first['msg']}") from None
