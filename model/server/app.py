"""The HTTP application around one engine."""

import asyncio
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse

from model.checkpoints.checkpoint import CheckpointError, load_checkpoint
from model.engine.chat import ChatError, ChatTemplate
from model.engine.engine import Engine
from model.engine.requests import EngineStopped, RequestError
from model.server import answers
from model.server.answers import Json
from model.server.chat import ChatCompletion
from model.server.completions import Completion
from model.server.metrics import Metrics
from model.server.protocol import (
    ChatRequest,
    CompletionRequest,
    DetokenizeRequest,
    TokenizeRequest,
    UpdateRequest,
)

LOOPBACK = ("127.0.0.1", "::1")
OPEN_PATHS = ("/health",)
_STATUS = {
    RequestError: 400,
    ChatError: 400,
    CheckpointError: 400,
    EngineStopped: 503,
}


def create_app(engine: Engine, model: str, token: str | None = None) -> FastAPI:
    """The application. With a token every path but /health wants it as a bearer token."""
    app = FastAPI(title="patchdeck serve", openapi_url=None)
    template = ChatTemplate(engine.vocabulary.chat_template) if engine.vocabulary.chat_template else None
    metrics = Metrics()
    _add_errors(app)

    @app.middleware("http")
    async def guard(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if (
            token
            and request.url.path not in OPEN_PATHS
            and not hmac.compare_digest(given.encode(), token.encode())
        ):
            return JSONResponse(
                answers.error("the bearer token is missing or wrong", code="invalid_api_key"), 401
            )
        response = await call_next(request)
        route = request.scope.get("route")
        metrics.answered(getattr(route, "path", "other"), response.status_code)
        return response

    def unknown(name: str | None) -> Response | None:
        if name in (None, "", model):
            return None
        message = f"the model {name!r} is not served here, only {model!r} is"
        return JSONResponse(answers.error(message, code="model_not_found"), 404)

    async def respond(job: Completion | ChatCompletion) -> Response:
        if job.request.stream:
            events = job.stream()
            # The first event is awaited before the status is sent, so that a bad request is still a 400.
            first = await anext(events)
            return StreamingResponse(_counted(first, events, job, metrics), media_type="text/event-stream")
        answer = await job.answer()
        metrics.used(answer["usage"])
        return JSONResponse(answer)

    @app.post("/v1/completions")
    async def completions(request: CompletionRequest) -> Response:
        return unknown(request.model) or await respond(Completion(engine, request, model))

    @app.post("/v1/chat/completions")
    async def chat(request: ChatRequest) -> Response:
        if template is None:
            raise ChatError("these weights have no chat template: use /v1/completions")
        return unknown(request.model) or await respond(ChatCompletion(engine, template, request, model))

    @app.get("/v1/models")
    async def models() -> Json:
        served = {
            "id": model,
            "object": "model",
            "created": 0,
            "owned_by": "patchdeck",
            "max_model_len": engine.config.context_length,
            "weight_version": engine.weight_version,
        }
        return {"object": "list", "data": [served]}

    @app.get("/health")
    async def health() -> Response:
        state = {
            "status": "ok" if engine.alive else "stopped",
            "model": model,
            "weight_version": engine.weight_version,
            "kernels": engine.kernels.name,
        }
        return JSONResponse(state, 200 if engine.alive else 503)

    @app.post("/tokenize")
    async def tokenize(request: TokenizeRequest) -> Json:
        if request.messages is not None and template is not None:
            text = template.render(request.messages)
        elif request.prompt is not None:
            text = request.prompt
        else:
            raise RequestError("give a prompt, or messages, to tokenize")
        ids = engine.tokenizer.encode(text)
        return {"count": len(ids), "max_model_len": engine.config.context_length, "tokens": ids}

    @app.post("/detokenize")
    async def detokenize(request: DetokenizeRequest) -> Json:
        if any(not 0 <= token < len(engine.tokenizer) for token in request.tokens):
            raise RequestError(f"token ids go from 0 to {len(engine.tokenizer) - 1}")
        return {"prompt": engine.tokenizer.decode(request.tokens, keep_special=True)}

    @app.post("/update_weights")
    async def update_weights(update: UpdateRequest, request: Request) -> Response:
        if request.client is None or request.client.host not in LOOPBACK:
            return JSONResponse(answers.error("weights are taken from this machine only"), 403)
        checkpoint = await asyncio.to_thread(load_checkpoint, Path(update.path))
        taken = await asyncio.to_thread(engine.update, checkpoint)
        return JSONResponse({"weight_version": await asyncio.wrap_future(taken)})

    @app.get("/metrics")
    async def prometheus() -> Response:
        return Response(metrics.text(engine.weight_version), media_type="text/plain; version=0.0.4")

    return app


async def _counted(
    first: str, events: AsyncIterator[str], job: Completion | ChatCompletion, metrics: Metrics
) -> AsyncIterator[str]:
    yield first
    try:
        async for event in events:
            yield event
    except EngineStopped as error:
        # The status has gone out already: the stream itself has to tell.
        yield answers.event(answers.error(str(error), "server_error"))
    finally:
        metrics.used(job.usage())


def _add_errors(app: FastAPI) -> None:
    async def refused(_: Request, error: Exception) -> Response:
        status = _STATUS[type(error)]
        kind = "invalid_request_error" if status < 500 else "server_error"
        return JSONResponse(answers.error(str(error), kind), status)

    for kind in _STATUS:
        app.add_exception_handler(kind, refused)

    async def malformed(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:])
        return JSONResponse(answers.error(f"{place}: {first['msg']}" if place else str(first["msg"])), 400)

    app.add_exception_handler(RequestValidationError, malformed)
