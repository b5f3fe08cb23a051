"""The runtime layer over a whole capture: components and findings. Pure."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from rewards.reward import Box, Component, Finding
from rewards.slides.assemble import RuntimeResult
from rewards.slides.runtime.rule import Judgement, see
from rewards.slides.runtime.rules import DECK_RULES, PAGE_RULES
from sandboxes.browser.capture import DeckCapture, PageCapture

if TYPE_CHECKING:
    from rewards.slides.visual.picture import Picture


def judge(capture: DeckCapture) -> RuntimeResult:
    """Every rule's verdict on every page, and on the deck."""
    by_page: dict[int, tuple[Component, ...]] = {}
    findings: list[Finding] = []
    for page in capture.pages:
        seen = see(page, _picture(page))
        parts = []
        for rule in PAGE_RULES:
            judged = rule.check(seen)
            parts.append(_component(rule.component, judged))
            findings.extend(_findings(rule.id, judged, page.index))
        by_page[page.index] = tuple(parts)
    deck = []
    for whole in DECK_RULES:
        judged = whole.check(capture)
        deck.append(_component(whole.component, judged))
        findings.extend(_findings(whole.id, judged, None))
    return RuntimeResult(by_page, tuple(deck), tuple(findings))


def _picture(page: PageCapture) -> "Picture | None":
    if find_spec("numpy") is None or find_spec("PIL") is None:
        return None
    from rewards.slides.visual.picture import read_picture

    return read_picture(page.png, page.ink_png)


def _component(name: str, judged: Judgement) -> Component:
    return Component(name=f"runtime.{name}", score=judged.score, weight=1, evidence=judged.evidence)


def _findings(rule: str, judged: Judgement, page: int | None) -> list[Finding]:
    return [
        Finding(
            rule=rule,
            layer="runtime",
            outcome=each.outcome,
            message=each.message,
            page=page,
            element=each.element,
            box=None
            if each.box is None
            else Box(x=each.box.x, y=each.box.y, width=each.box.width, height=each.box.height),
        )
        for each in judged.verdicts
    ]
