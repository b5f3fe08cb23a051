"""Lines of text with the place that clipping leaves them: the common ground of most runtime checks."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from sandboxes.browser.capture import Node, PageCapture, Rect

_INLINE = frozenset({"inline", "contents", "ruby", "ruby-text"})
_CLIPS = frozenset({"hidden", "clip", "scroll", "auto"})
_SCREEN_READER_PX = 2.0
"""Text in a box no larger is meant for screen readers alone (the usual `sr-only` pattern)."""


@dataclass(frozen=True)
class Placed:
    """One line.

    clip: the part of the page that its ancestors' overflow leaves. block: its block's index. opacity: its own
    times its ancestors', 0 where it is not visible.
    """

    node: Node
    text: str
    rect: Rect
    clip: Rect
    block: int
    opacity: float

    @cached_property
    def characters(self) -> int:
        return sum(not each.isspace() for each in self.text)

    @property
    def left_over(self) -> float:
        """Share of the line's rectangle that clipping leaves, from 0 to 1."""
        return self.rect.intersection(self.clip).area / self.rect.area if self.rect.area else 0.0


def placed_lines(page: PageCapture) -> tuple[Placed, ...]:
    """The page's own lines of text, without pseudo elements and text for screen readers alone."""
    by_index = {node.index: node for node in page.nodes}
    bottom = _bottom(page)
    found: list[Placed] = []
    for node in page.own():
        if not node.lines or node.tag.startswith("::"):
            continue
        chain = list(_chain(node, by_index))
        clip, tiny = _clip(chain)
        if tiny:
            continue
        block = next((each.index for each in chain if each.style("display") not in _INLINE), node.index)
        opacity = _opacity(chain)
        found.extend(
            Placed(node, line.text, line.rect, clip, block, opacity)
            for line in node.lines
            if line.text.strip() and line.rect.y < bottom
        )
    return tuple(found)


def _bottom(page: PageCapture) -> float:
    """Where judging ends: a page taller than its picture has a fault of shape, not of its further words."""
    box = page.nodes[page.root].box
    taller = page.frame == "element" and box is not None and box.height > page.height + 1
    return page.height - 40.0 if taller else math.inf


def _opacity(chain: list[Node]) -> float:
    if chain[0].style("visibility") not in ("visible", ""):
        return 0.0
    return math.prod(float(node.style("opacity") or 1.0) for node in chain)


def _chain(node: Node, by_index: dict[int, Node]) -> Iterator[Node]:
    at: Node | None = node
    while at is not None:
        yield at
        at = by_index.get(at.parent)


def _clip(chain: list[Node]) -> tuple[Rect, bool]:
    """(what overflow leaves of a node, whether it or an ancestor is a screen reader's box)."""
    clip = Rect(-1e6, -1e6, 2e6, 2e6)
    tiny = False
    escapes = ""
    for node in chain:
        position = node.style("position")
        # What is positioned is clipped only from its containing block upwards.
        past = escapes == "fixed" or (escapes == "absolute" and position in ("static", ""))
        if node.box is not None and not past and node.tag not in ("html", "body"):
            if node.style("overflow-x") in _CLIPS or node.style("overflow-y") in _CLIPS:
                clip = clip.intersection(node.box)
            small = max(node.box.width, node.box.height) <= _SCREEN_READER_PX
            tiny = tiny or (small and node.style("position") == "absolute")
        if position in ("absolute", "fixed"):
            escapes = position
        elif not past and position in ("relative", "sticky"):
            escapes = ""
    return clip, tiny


def quoted(text: str) -> str:
    """The beginning of a text, for a message."""
    words = " ".join(text.split())
    return f"“{words[:40]}…”" if len(words) > 40 else f"“{words}”"
