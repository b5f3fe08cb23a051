"""Every step of a page ends: by its answer, by its budget of processor time, or by the page's death."""

import asyncio
import time
from collections.abc import Awaitable
from typing import Any, TypeVar

from sandboxes.browser.worker.chromium import cpu_seconds

T = TypeVar("T")

WALL_FACTOR = 4.0
"""On a crowded machine a step may take this many times its budget of processor time before it counts as
hung."""


class PageFailed(RuntimeError):
    """The page, not the machine, is at fault. fault is one of capture.PageFault."""

    def __init__(self, fault: str, detail: str) -> None:
        super().__init__(detail)
        self.fault = fault
        self.detail = detail


class Bounds:
    """Budget of one deck. `gone` is set from outside when the page crashes or leaves."""

    def __init__(self, deck_s: float) -> None:
        self.gone: asyncio.Future[PageFailed] = asyncio.get_running_loop().create_future()
        self._deck_s = deck_s
        self._cpu_start = cpu_seconds()
        self._start = time.monotonic()

    def fail(self, fault: str, detail: str) -> None:
        if not self.gone.done():
            self.gone.set_result(PageFailed(fault, detail))

    async def step(self, work: Awaitable[T], budget_s: float, doing: str) -> T:
        """The answer of work. Raises PageFailed where it does not come within budget_s of processor time."""
        task = asyncio.ensure_future(work)
        start, cpu_start, wait = time.monotonic(), -1.0, 0.5
        try:
            while True:
                both: set[asyncio.Future[Any]] = {task, self.gone}
                await asyncio.wait(both, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
                if task.done():
                    return task.result()
                if self.gone.done():
                    raise self.gone.result()
                used = cpu_seconds()
                cpu_start = used if cpu_start < 0 else cpu_start
                waited = time.monotonic() - start
                if used - cpu_start > budget_s or waited > WALL_FACTOR * budget_s:
                    raise PageFailed("hang", f"no answer while {doing}")
                if used - self._cpu_start > self._deck_s or (
                    time.monotonic() - self._start > WALL_FACTOR * self._deck_s
                ):
                    raise PageFailed("hang", f"the deck's whole time of {self._deck_s:g} s is used up")
        finally:
            if not task.done():
                task.cancel()
