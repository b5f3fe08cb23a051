"""The worker's loop: one JSON request a line on standard input, JSON events on standard output."""

import asyncio
import base64
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from playwright.async_api import Browser, Playwright, async_playwright
from playwright.async_api import Error as BrowserError

from sandboxes.browser.worker import chromium, look, navigate
from sandboxes.browser.worker.bounds import PageFailed
from sandboxes.browser.worker.deck import Deck

RECYCLE_AFTER = 50
"""Decks one Chromium serves: memory grows over contexts."""

Send = Callable[[dict[str, Any]], None]


class Worker:
    def __init__(self, playwright: Playwright, send: Send) -> None:
        self._playwright = playwright
        self._send = send
        self._browser: Browser | None = None
        self._served = 0

    async def capture(self, files: dict[str, bytes], request: dict[str, Any]) -> None:
        """Send a `page` event for every page and one `deck` event at the end."""
        deck = Deck(await self._chromium(), files, request["width"], request["height"], request["deck_s"])
        facts: dict[str, Any] = {"convention": "", "page_count": 0, "navigation": None, "title": ""}
        fault: PageFailed | None = None
        try:
            await deck.open()
            await self._walk(deck, request, facts)
            await deck.close()
        except PageFailed as failed:
            fault = failed
        except (BrowserError, TimeoutError) as error:
            fault = PageFailed("crash", f"the browser was lost: {str(error)[:300]}")
        if fault is not None:
            await self._drop()
        event = {"event": "deck", **facts, **deck.facts}
        self._send({**event, "fault": fault and fault.fault, "fault_detail": fault.detail if fault else ""})

    async def _walk(self, deck: Deck, request: dict[str, Any], facts: dict[str, Any]) -> None:
        conventions = [look.Convention(**each) for each in request["conventions"]]
        entries = request["entries"]
        if len(entries) > 1:
            facts.update(convention=conventions[0].name, page_count=len(entries))
        for number, entry in enumerate(entries):
            await deck.load(entry)
            convention, count = await look.find(deck, conventions)
            if len(entries) > 1:
                page = await look.look(deck, convention, 0, entry)
                self._send({"event": "page", **page, "index": number + 1})
                continue
            facts.update(convention=convention.name, page_count=count)
            facts["title"] = str(await deck.inside("document.title.toString()"))[:300]
            if count > 1 and request["navigation"]:
                facts["navigation"] = await navigate.navigate(deck)
            for k in range(min(count, request["most_pages"])):
                self._send({"event": "page", **await look.look(deck, convention, k, entry)})

    async def _chromium(self) -> Browser:
        if self._browser is not None and (self._served >= RECYCLE_AFTER or not self._browser.is_connected()):
            await self._drop()
        if self._browser is None:
            self._browser = await chromium.launch(self._playwright)
            self._served = 0
        self._served += 1
        return self._browser

    async def _drop(self) -> None:
        if self._browser is not None:
            await chromium.kill(self._browser)
            self._browser = None

    async def start(self) -> str:
        return (await self._chromium()).version

    async def stop(self) -> None:
        await self._drop()


async def main() -> None:
    # Whatever else in this process prints must not end up between the events.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def send(event: dict[str, Any]) -> None:
        out.write(json.dumps(event, ensure_ascii=True, separators=(",", ":")).encode() + b"\n")
        out.flush()

    loop = asyncio.get_running_loop()
    files: dict[str, bytes] = {}
    async with async_playwright() as playwright:
        worker = Worker(playwright, send)
        try:
            send({"event": "ready", "version": await worker.start()})
            while line := await loop.run_in_executor(None, sys.stdin.buffer.readline):
                request = json.loads(line)
                if request["op"] == "file":
                    files[request["path"]] = base64.b64decode(request["data"])
                else:
                    await worker.capture(files, request)
                    files = {}
        except chromium.ChromiumLost as error:
            send({"event": "broken", "detail": str(error)})
        finally:
            await worker.stop()


asyncio.run(main())
