"""What a runtime rule is: data that says what, why and how to mend, and one small check."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rewards.reward import Outcome
from rewards.slides.runtime.lines import Placed, placed_lines
from sandboxes.browser.capture import DeckCapture, Node, PageCapture, Rect

if TYPE_CHECKING:
    from rewards.slides.visual.picture import Picture

MOST_VERDICTS = 12
"""Findings of one rule on one page; the score counts all."""


@dataclass(frozen=True)
class Verdict:
    """One rule's word on one thing. box is in page pixels."""

    outcome: Outcome
    message: str
    element: str = ""
    box: Rect | None = None


@dataclass(frozen=True)
class Judgement:
    """score is in [0, 1]; None where the rule found nothing to judge or could not judge."""

    score: float | None
    evidence: str
    verdicts: tuple[Verdict, ...] = ()


@dataclass(frozen=True)
class Seen:
    """A page and what several checks share of it. picture is None without the `visual` extra."""

    page: PageCapture
    lines: tuple[Placed, ...]
    picture: "Picture | None"

    @property
    def characters(self) -> int:
        return sum(line.characters for line in self.lines)

    @property
    def unit(self) -> float:
        """Factor from the page's pixels to those of a page 1280 wide."""
        return 1280.0 / self.page.width


def see(page: PageCapture, picture: "Picture | None") -> Seen:
    return Seen(page, placed_lines(page), picture)


@dataclass(frozen=True)
class PageRule:
    """id: stable name. component: what its score is called. selects: what it looks at. why: what a viewer
    loses."""

    id: str
    component: str
    selects: str
    why: str
    mend: str
    check: Callable[[Seen], Judgement]


@dataclass(frozen=True)
class DeckRule:
    """As PageRule, for what concerns the deck as a whole."""

    id: str
    component: str
    selects: str
    why: str
    mend: str
    check: Callable[[DeckCapture], Judgement]


def fail(message: str, node: Node | None = None, box: Rect | None = None) -> Verdict:
    """A failure, at a node where there is one."""
    place = box if box is not None else (node.box if node is not None else None)
    return Verdict("fail", message, node.css_path if node is not None else "", place)


def bounded(value: float) -> float:
    return round(min(max(value, 0.0), 1.0), 6)
