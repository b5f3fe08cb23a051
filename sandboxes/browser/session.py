"""The host's side: hand a deck to the browser container, take back what it saw."""

import base64
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sandboxes.browser.capture import Button, DeckCapture, Navigation, PageCapture, Rect, Request
from sandboxes.browser.container import BrowserContainer
from sandboxes.browser.convention import Convention
from sandboxes.browser.image import ensure_browser_image
from sandboxes.browser.snapshot import Snapshot
from sandboxes.browser.source import worker_digest
from sandboxes.sandbox import SandboxFault, SandboxLost

WIDTH, HEIGHT = 1280, 720
MOST_PAGES = 200
DECK_S = 90.0
"""Processor time for a deck whose pages are few; every page of a folder adds to it."""
_PROBE = b"<!doctype html><title>probe</title><body><section><h1>probe</h1></section>"
_PROBE_CONVENTION = Convention("probe", "probe", "($$) => $$('section')")

PageHeard = Callable[[int], None]


class BrowserSession:
    """An open browser. Decks one after another; a container that dies is replaced. Close it."""

    def __init__(self, image: str, run_id: str) -> None:
        self._image = image
        self._run_id = run_id
        self._container: BrowserContainer | None = None

    def __enter__(self) -> "BrowserSession":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def digest(self) -> str:
        """Of all that a capture depends on beside the deck: image, worker, settings."""
        settings = f"{self._image} {worker_digest()} {WIDTH}x{HEIGHT}"
        return hashlib.sha256(settings.encode()).hexdigest()

    def capture(
        self,
        files: Mapping[str, bytes],
        entry: str | Sequence[str],
        conventions: Sequence[Convention],
        *,
        navigation: bool = True,
        heard: PageHeard = lambda page: None,
    ) -> DeckCapture:
        """What the browser saw of a deck.

        files: everything the deck may load, by path relative to its folder. entry: its document, or several
        in order where every page is a file of its own (then conventions[0] finds the page in each). heard is
        told each page's number as it comes. Raises SandboxFault where the browser, not the deck, failed.
        """
        entries = [entry] if isinstance(entry, str) else list(entry)
        try:
            return self._attempt(files, entries, conventions, navigation, heard)
        except (SandboxLost, TimeoutError) as first:
            # A fresh browser that shows an honest page, and is lost a second time over this deck, puts it on
            # the deck.
            self.close()
            self._attempt(
                {"probe.html": _PROBE}, ["probe.html"], [_PROBE_CONVENTION], False, lambda page: None
            )
            try:
                return self._attempt(files, entries, conventions, navigation, heard)
            except (SandboxLost, TimeoutError):
                self.close()
                return DeckCapture(
                    "", (), 0, fault="crash", fault_detail=str(first)[:300], digest=self.digest
                )

    def close(self) -> None:
        if self._container is not None:
            self._container.close()
            self._container = None

    def _attempt(
        self,
        files: Mapping[str, bytes],
        entries: Sequence[str],
        conventions: Sequence[Convention],
        navigation: bool,
        heard: PageHeard,
    ) -> DeckCapture:
        if self._container is None:
            self._container = BrowserContainer(self._image, self._run_id)
        container = self._container
        deck_s = DECK_S + 2.0 * len(entries)
        for path, content in files.items():
            container.send({"op": "file", "path": path, "data": base64.b64encode(content).decode()})
        container.send(
            {
                "op": "capture",
                "entries": list(entries),
                "navigation": navigation,
                "most_pages": MOST_PAGES,
                "conventions": [_wire(each) for each in conventions],
                "width": WIDTH,
                "height": HEIGHT,
                "deck_s": deck_s,
            }
        )
        pages: list[PageCapture] = []
        deadline = time.monotonic() + 5 * deck_s
        while True:
            event = container.receive(max(deadline - time.monotonic(), 0.0))
            if event["event"] == "page":
                pages.append(_page(event))
                heard(len(pages))
            elif event["event"] == "deck":
                return _deck(event, pages, self.digest)
            else:
                raise SandboxFault(f"the browser does not start in its container: {event.get('detail', '')}")


def open_browser(run_id: str, *, report: Callable[[str], None] | None = None) -> BrowserSession:
    """A browser session for a run, its image made where it is not there. Raises SandboxFault."""
    return BrowserSession(ensure_browser_image(report), run_id)


def _wire(convention: Convention) -> dict[str, str]:
    return {key: value for key, value in asdict(convention).items() if key != "title"}


def _page(event: Mapping[str, Any]) -> PageCapture:
    frame = Rect(*(float(event["frame"][side]) for side in ("x", "y", "width", "height")))
    nodes, root = Snapshot(event["snapshot"], frame).nodes(event["root"])
    natural = event["natural"]
    holds = natural["bottom"] > natural["top"]
    top, left = min(natural["top"], frame.y), min(natural["left"], frame.x)
    later = event["later_png"]
    return PageCapture(
        index=event["index"],
        entry=event["entry"],
        width=int(frame.width),
        height=int(frame.height),
        natural_width=round(max(frame.width, natural["right"] - left), 3) if holds else frame.width,
        natural_height=round(max(frame.height, natural["bottom"] - top), 3) if holds else frame.height,
        nodes=nodes,
        root=root,
        png=base64.b64decode(event["png"]),
        ink_png=base64.b64decode(event["ink_png"]),
        later_png=None if later is None else base64.b64decode(later),
        shown=event["shown"],
        frame=event["frame_kind"],
    )


def _deck(event: Mapping[str, Any], pages: Sequence[PageCapture], digest: str) -> DeckCapture:
    return DeckCapture(
        convention=event["convention"],
        pages=tuple(pages),
        page_count=event["page_count"],
        fault=event["fault"],
        fault_detail=event["fault_detail"],
        missing=tuple(Request(*each) for each in event["missing"]),
        external=tuple(Request(*each) for each in event["external"]),
        console_errors=tuple(event["console_errors"]),
        dialogs=tuple(event["dialogs"]),
        popups=tuple(event["popups"]),
        navigations=tuple(event["navigations"]),
        navigation=_navigation(event["navigation"]),
        title=event["title"],
        digest=digest,
    )


def _navigation(raw: Mapping[str, Any] | None) -> Navigation:
    if raw is None:
        return Navigation()
    buttons = tuple(
        Button(
            css_path=each["path"],
            label=each["label"],
            direction=each["direction"],
            changed=each["changed"],
            box=Rect(each["x"], each["y"], each["width"], each["height"]),
        )
        for each in raw["buttons"]
    )
    facts = {name: raw[name] for name in ("tried", "key", "changed", "restored", "scrolls")}
    return Navigation(**facts, buttons=buttons)
