"""From the engine's thread to the server's event loop."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Generic, TypeVar

from model.engine.engine import Engine
from model.engine.requests import Failed, GenerateRequest, Progress, Scored

E = TypeVar("E")


async def progress(engine: Engine, request: GenerateRequest) -> AsyncIterator[Progress]:
    """Every token of every choice as it is drawn. Leaving early frees the request's place in the engine."""
    heard: asyncio.Queue[Progress | Failed] = asyncio.Queue()
    ticket = engine.generate(request, _Listener(heard))
    unfinished = request.choices
    try:
        while unfinished:
            event = await heard.get()
            if isinstance(event, Failed):
                raise event.error
            unfinished -= event.finish is not None
            yield event
    finally:
        ticket.cancel()


async def scored(engine: Engine, texts: Sequence[Sequence[int]], top: int) -> Scored:
    """The scores of all texts. A cancelled request frees its place in the engine."""
    heard: asyncio.Queue[Scored | Failed] = asyncio.Queue()
    ticket = engine.score(texts, top, _Listener(heard))
    try:
        event = await heard.get()
    finally:
        ticket.cancel()
    if isinstance(event, Failed):
        raise event.error
    return event


class _Listener(Generic[E]):
    """Puts what the engine says into a queue of the loop that made it."""

    def __init__(self, heard: "asyncio.Queue[E]") -> None:
        self._heard = heard
        self._loop = asyncio.get_running_loop()

    def __call__(self, event: E) -> None:
        # A loop that is closed has no one left who listens.
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._heard.put_nowait, event)
