"""One deck in one browser context: its files served by route, everything else refused and written down."""

import asyncio
import mimetypes
from importlib import resources
from typing import Any
from urllib.parse import unquote, urlsplit

from playwright.async_api import Browser, BrowserContext, CDPSession, Dialog, Frame, Page, Route
from playwright.async_api import Error as BrowserError

from sandboxes.browser.worker.bounds import Bounds, PageFailed
from sandboxes.browser.worker.chromium import agent_string

ORIGIN = "https://deck.invalid/"
INSTALLED, START = "2025-12-31T23:59:00Z", "2026-01-01T00:00:00Z"
"""When a page's clock is put in, and where it stands: the moments that pass between the two must not show."""
_PERFORMANCE = """(() => {
  const clock = Date, opened = clock.now();
  const now = {value: () => clock.now() - opened, configurable: true, writable: true};
  Object.defineProperty(performance, "now", now);
})()"""
"""The installed clock counts performance.now from a real moment; from the stopped one it never varies."""
KEPT = 50
"""Facts of one sort kept a deck; a page can make millions."""

STEP_S = 4.0
LOAD_S = 8.0
FONTS_MS = 3000

for _suffix, _kind in ((".woff2", "font/woff2"), (".woff", "font/woff"), (".mjs", "text/javascript")):
    mimetypes.add_type(_kind, _suffix)


class Deck:
    """An open deck. Facts gather in `facts`; whoever opens it closes it."""

    def __init__(
        self, browser: Browser, files: dict[str, bytes], width: int, height: int, deck_s: float
    ) -> None:
        self._browser = browser
        self._files = files
        self._loaded = False
        self._inside = 0
        self._frame_id = ""
        self.width, self.height = width, height
        self.bounds = Bounds(deck_s)
        self.facts: dict[str, list[Any]] = {
            name: [] for name in ("missing", "external", "console_errors", "dialogs", "popups", "navigations")
        }
        self.context: BrowserContext
        self.page: Page
        self.cdp: CDPSession

    def note(self, sort: str, fact: Any) -> None:
        kept = self.facts[sort]
        if len(kept) < KEPT and fact not in kept:
            kept.append(fact)

    async def open(self) -> None:
        self.context = await self._browser.new_context(
            viewport={"width": self.width, "height": self.height},
            device_scale_factor=1,
            locale="en-US",
            timezone_id="UTC",
            reduced_motion="reduce",
            color_scheme="light",
            user_agent=agent_string(self._browser),
            service_workers="block",
            accept_downloads=False,
        )
        await self.context.clock.install(time=INSTALLED)
        await self.context.clock.pause_at(START)
        await self.context.add_init_script(_PERFORMANCE)
        await self.context.route("**/*", self._serve)
        await self.context.route_web_socket(
            "**/*", lambda socket: self.note("external", [socket.url, "websocket"])
        )
        self.page = await self.context.new_page()
        self.context.on("page", self._popup)
        self.page.on("dialog", self._dialog)
        self.page.on(
            "crash", lambda _: self.bounds.fail("crash", "the renderer crashed or ran out of memory")
        )
        self.page.on("pageerror", lambda error: self.note("console_errors", str(error)[:500]))
        self.page.on("console", self._console)
        self.page.on("framenavigated", self._navigated)
        self.cdp = await self.context.new_cdp_session(self.page)
        await self.cdp.send("DOMSnapshot.enable")
        await self.cdp.send("DOM.enable")

    async def load(self, entry: str) -> None:
        """Load one file of the deck and wait for fonts, pictures and a second of the page's own time."""
        self._loaded = False
        try:
            await self.bounds.step(
                self.page.goto(ORIGIN + entry, wait_until="load", timeout=0), LOAD_S, f"loading {entry}"
            )
        except BrowserError as error:
            raise self._failed(error, f"loading {entry}") from error
        self._loaded = True
        await self._enter()
        await self.tick(1000)
        await self.inside(f"deck.loaded({FONTS_MS})", f"loading the fonts and pictures of {entry}", LOAD_S)
        await self.tick(500)

    async def tick(self, milliseconds: int) -> None:
        """Let the page's own clock run."""
        await self.guard(self.context.clock.run_for(milliseconds), "the page's timers ran")

    async def send(self, method: str, parameters: dict[str, Any] | None = None) -> dict[str, Any]:
        answer = await self.guard(self.cdp.send(method, parameters), method)
        return dict(answer)

    async def inside(self, expression: str, doing: str = "", budget_s: float = STEP_S) -> Any:
        """Value of an expression in the isolated world, which the page can't touch."""
        reply = await self.guard(
            self.cdp.send(
                "Runtime.evaluate",
                {
                    "expression": expression,
                    "contextId": self._inside,
                    "returnByValue": True,
                    "awaitPromise": True,
                },
            ),
            doing or expression[:80],
            budget_s,
        )
        if "exceptionDetails" in reply:
            details = reply["exceptionDetails"]
            text = details.get("exception", {}).get("description") or details.get("text", "")
            raise PageFailed("crash", f"the document can't be examined ({expression[:60]}): {text[:300]}")
        return reply["result"].get("value")

    async def outside(self, function: str, backend_node_id: int, argument: int) -> None:
        """Call a function in the page's own world, `this` being the element. What it throws is no matter."""
        node = await self.send("DOM.resolveNode", {"backendNodeId": backend_node_id})
        await self.send(
            "Runtime.callFunctionOn",
            {
                "functionDeclaration": function,
                "objectId": node["object"]["objectId"],
                "arguments": [{"value": argument}],
                "silent": True,
            },
        )

    async def backend_node(self, expression: str) -> int:
        """The DevTools id of the element that an expression of the isolated world gives."""
        reply = await self.send("Runtime.evaluate", {"expression": expression, "contextId": self._inside})
        node = await self.send("DOM.describeNode", {"objectId": reply["result"]["objectId"]})
        return int(node["node"]["backendNodeId"])

    async def guard(self, work: Any, doing: str, budget_s: float = STEP_S) -> Any:
        try:
            return await self.bounds.step(work, budget_s, doing)
        except BrowserError as error:
            raise self._failed(error, doing) from error

    async def close(self) -> None:
        await asyncio.wait_for(self.context.close(), 10.0)

    async def _enter(self) -> None:
        tree = await self.send("Page.getFrameTree")
        self._frame_id = tree["frameTree"]["frame"]["id"]
        world = await self.send("Page.createIsolatedWorld", {"frameId": self._frame_id, "worldName": "deck"})
        self._inside = world["executionContextId"]
        await self.inside(resources.files(__package__).joinpath("inside.js").read_text("utf-8") + "; 0")

    def _failed(self, error: BrowserError, doing: str) -> PageFailed:
        if self.bounds.gone.done():
            return self.bounds.gone.result()
        words = error.message.splitlines()[0][:300]
        lost = "crash" in words.lower() or "closed" in words.lower()
        return PageFailed("crash" if lost else "navigated", f"the page was lost while {doing}: {words}")

    async def _serve(self, route: Route) -> None:
        request = route.request
        url = request.url
        try:
            top = request.is_navigation_request() and request.frame == self.page.main_frame
        except BrowserError:
            top = True
        if top and self._loaded:
            self.note("navigations", url)
            await _quietly(route.abort("aborted"))
            return
        if not url.startswith(ORIGIN):
            self.note("external", [url[:500], request.resource_type])
            await _quietly(route.abort("blockedbyclient"))
            return
        path = unquote(urlsplit(url).path).lstrip("/")
        content = self._files.get(path)
        if content is None and path.endswith("/") | (path == ""):
            path += "index.html"
            content = self._files.get(path)
        if content is None:
            if not path.endswith("favicon.ico"):
                self.note("missing", [path[:500], request.resource_type])
            await _quietly(route.fulfill(status=404, body=b""))
            return
        kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
        if kind.startswith("text/") and kind != "text/html":
            kind += "; charset=utf-8"
        await _quietly(
            route.fulfill(
                status=200, body=content, content_type=kind, headers={"access-control-allow-origin": "*"}
            )
        )

    async def _dialog(self, dialog: Dialog) -> None:
        self.note("dialogs", f"{dialog.type}: {dialog.message[:200]}")
        await _quietly(dialog.dismiss())

    async def _popup(self, page: Page) -> None:
        if page is not self.page:
            self.note("popups", page.url[:300])
            await _quietly(page.close())

    def _console(self, message: Any) -> None:
        # A refused request is told apart as missing or external already.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            self.note("console_errors", message.text[:500])

    def _navigated(self, frame: Frame) -> None:
        if self._loaded and frame == self.page.main_frame and not frame.url.startswith(ORIGIN):
            self.note("navigations", frame.url[:500])
            self.bounds.fail("navigated", f"the page left for {frame.url[:200]}")


async def _quietly(work: Any) -> None:
    """The page may be gone by the time its request or dialog is answered; that is seen elsewhere."""
    try:
        await work
    except BrowserError:
        return
