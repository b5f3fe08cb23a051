"""Show one page of a deck and take all that is wanted of it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandboxes.browser.capture import STYLES
from sandboxes.browser.worker.bounds import PageFailed
from sandboxes.browser.worker.deck import Deck

LATER_MS = 5000
LARGEST = 2880
"""Longest side of a picture, pixels."""
SMALLEST = 64
MOST_NODES = 60_000


@dataclass(frozen=True)
class Convention:
    """As sandboxes.browser.convention.Convention, over the wire."""

    name: str
    pages: str
    show: str
    frame: str


async def find(deck: Deck, conventions: list[Convention]) -> tuple[Convention, int]:
    """The first convention that finds pages, and how many."""
    if int(await deck.inside("deck.size()")) > MOST_NODES:
        raise PageFailed("too_large", f"the document has more than {MOST_NODES} elements")
    for convention in conventions:
        await deck.inside(f"deck.conventions[{convention.name!r}] = {convention.pages}; 0")
        count = int(await deck.inside(f"deck.find({convention.name!r})"))
        if count:
            return convention, count
    raise PageFailed("empty", "no convention finds a page in this document")


async def show(deck: Deck, convention: Convention, k: int) -> str:
    """Bring page k up; "native" where the deck's own way leads there, else "forced"."""
    await deck.inside("deck.restore('shown')")
    if convention.show:
        element = await deck.backend_node(f"deck.state.pages[{k}]")
        await deck.outside(convention.show, element, k)
        await deck.tick(50)
    if convention.frame == "element":
        await deck.inside(f"deck.scroll({k})")
    await _rest(deck)
    if await deck.inside(f"deck.visible({k})") and await deck.inside("deck.active()") in (k, -1):
        return "native"
    await deck.inside(f"deck.force({k})")
    await _rest(deck)
    return "forced"


async def look(deck: Deck, convention: Convention, k: int, entry: str) -> dict[str, Any]:
    """Everything about page k, in the worker's raw form."""
    shown = await show(deck, convention, k)
    box = await deck.inside(f"deck.boxOf({k})")
    resized = False
    if convention.frame == "element" and (box["width"] > deck.width or box["height"] > deck.height):
        resized = True
        await _resize(deck, max(deck.width, round(box["width"])), max(deck.height, round(box["height"])))
        await deck.inside(f"deck.scroll({k})")
        await _rest(deck)
        box = await deck.inside(f"deck.boxOf({k})")
    # A page that has no box of its own fills the window.
    if convention.frame == "viewport" or box["width"] < SMALLEST or box["height"] < SMALLEST:
        frame = {"x": 0, "y": 0, "width": deck.width, "height": deck.height}
    else:
        frame = {
            "x": max(round(box["x"]), 0),
            "y": max(round(box["y"]), 0),
            "width": min(max(round(box["width"]), 1), LARGEST),
            "height": min(max(round(box["height"]), 1), LARGEST),
        }
    natural = await deck.inside(f"deck.natural({k})")
    snapshot = await deck.send(
        "DOMSnapshot.captureSnapshot",
        {"computedStyles": list(STYLES), "includePaintOrder": True, "includeDOMRects": True},
    )
    root = await deck.backend_node(f"deck.state.pages[{k}]")
    now = await picture(deck, frame)
    await deck.inside("deck.textAway()")
    inkless = await picture(deck, frame)
    await deck.inside("deck.textBack()")
    await deck.tick(LATER_MS)
    await _rest(deck)
    later = await picture(deck, frame)
    if resized:
        await _resize(deck, deck.width, deck.height)
    return {
        "index": k + 1,
        "entry": entry,
        "shown": shown,
        "frame_kind": convention.frame,
        "frame": frame,
        "natural": natural,
        "root": root,
        "snapshot": snapshot,
        "png": now,
        "ink_png": inkless,
        "later_png": None if later == now else later,
    }


async def picture(deck: Deck, frame: Mapping[str, float]) -> str:
    """PNG of the frame, base64."""
    # The clip counts from the document's corner, the frame from the window's.
    window = (await deck.send("Page.getLayoutMetrics", {}))["cssVisualViewport"]
    clip = {**frame, "x": frame["x"] + window["pageX"], "y": frame["y"] + window["pageY"], "scale": 1}
    answer = await deck.send(
        "Page.captureScreenshot",
        {
            "format": "png",
            "optimizeForSpeed": True,
            "clip": clip,
            "captureBeyondViewport": False,
        },
    )
    return str(answer["data"])


async def fingerprint(deck: Deck) -> str:
    """Digest of the viewport's pixels."""
    frame = {"x": 0, "y": 0, "width": deck.width, "height": deck.height}
    return hashlib.sha256((await picture(deck, frame)).encode()).hexdigest()


async def _rest(deck: Deck) -> None:
    """Two frames, so that observers of visibility fire, what they start runs, and all motion ends."""
    await deck.inside("deck.still(), deck.frame().then(() => (deck.still(), 0))")


async def _resize(deck: Deck, width: int, height: int) -> None:
    await deck.guard(
        deck.page.set_viewport_size({"width": min(width, LARGEST), "height": min(height, LARGEST)}),
        "resizing",
    )
