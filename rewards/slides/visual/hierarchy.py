"""Type hierarchy: title : body : note = 1.8 : 1.2 : 1, from effective font sizes."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from sandboxes.browser.capture import Node, PageCapture

TITLE, BODY, NOTE = 1.8, 1.2, 1.0
TOLERANCE = 1.5
"""Factor by which a ratio may pass its target at no cost: a cover's title is larger, and right so."""
NONE_LEFT = 4.0
"""Factor over the target at which nothing is left."""
NOTE_BELOW = 0.93
"""Share of the body's size under which text counts as a note."""

_HEADINGS = ("h1", "h2", "h3", "h4")


@dataclass(frozen=True)
class Sizes:
    """Effective sizes in CSS pixels, None where there is no such text; title_node is the title's element."""

    title: float | None
    body: float | None
    note: float | None
    title_node: Node | None


def read_sizes(capture: PageCapture) -> Sizes:
    """The title is the largest of the highest heading, else of all; the body is the median character."""
    nodes = [node for node in capture.own() if node.lines and node.text and not node.tag.startswith("::")]
    if not nodes:
        return Sizes(None, None, None, None)
    above = _ancestors(capture)
    title = _title(above, nodes)
    rest = [node for node in nodes if node is not title and title not in above(node)]
    if not rest:
        return Sizes(title.font_size, None, None, title)
    body = _median(rest)
    notes = [node for node in rest if node.font_size < NOTE_BELOW * body]
    return Sizes(title.font_size, body, _median(notes) if notes else None, title)


def _ancestors(capture: PageCapture) -> Callable[[Node], list[Node]]:
    by_index = {each.index: each for each in capture.nodes}

    def above(node: Node) -> list[Node]:
        found: list[Node] = []
        parent = by_index.get(node.parent)
        while parent is not None:
            found.append(parent)
            parent = by_index.get(parent.parent)
        return found

    return above


def _title(above: Callable[[Node], list[Node]], nodes: list[Node]) -> Node:
    tags = [{node.tag} | {each.tag for each in above(node)} for node in nodes]
    for tag in _HEADINGS:
        headed = [node for node, within in zip(nodes, tags, strict=True) if tag in within]
        if headed:
            return max(headed, key=lambda node: (node.font_size, -node.index))
    return max(nodes, key=lambda node: (node.font_size, -node.index))


def _median(nodes: list[Node]) -> float:
    """Font size of the middle character."""
    sized = sorted((node.font_size, len(node.text)) for node in nodes)
    half = sum(length for _, length in sized) / 2
    for size, length in sized:
        half -= length
        if half <= 0:
            return size
    return sized[-1][0]


def ratio_score(ratio: float, target: float) -> float:
    """1 from a little under the target to TOLERANCE over it, 0 at a ratio of 1 or less and far above."""
    low = 1 + (target - 1) * 0.4
    if ratio < low:
        return round(max((ratio - 1) / (low - 1), 0.0), 6)
    over = math.log(max(ratio / (target * TOLERANCE), 1.0))
    return round(max(1 - over / math.log(NONE_LEFT / TOLERANCE), 0.0), 6)


def hierarchy_score(sizes: Sizes) -> float | None:
    """Product over title : body and body : note of what exists; None where the page has only one kind."""
    if sizes.title is None or not sizes.body:
        return None
    score = ratio_score(sizes.title / sizes.body, TITLE / BODY)
    if sizes.note:
        score *= ratio_score(sizes.body / sizes.note, BODY / NOTE)
    return round(score, 6)
