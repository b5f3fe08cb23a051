"""Run every static rule over a deck and gather verdicts into scores by page and component."""

from collections import Counter
from dataclasses import dataclass

from rewards.reward import Component, Finding
from rewards.slides.static.rule import Rule, StaticDeck, Verdict
from rewards.slides.static.rules import RULES

MOST_FINDINGS = 12
"""Findings of one rule on one page; the score counts all."""

PAGE_GROUPS = ("structure", "media", "text", "styling")


@dataclass(frozen=True)
class StaticResult:
    """pages: components by page, weights still 1. findings: what failed or is not known."""

    page_components: dict[int, tuple[Component, ...]]
    document: Component
    findings: tuple[Finding, ...]
    page_count: int


def judge(deck: StaticDeck) -> StaticResult:
    """Scores in [0, 1]: a rule's is the share of subjects that pass, a component's the mean of its rules."""
    verdicts = {rule.id: list(rule.check(deck)) for rule in RULES}
    findings = tuple(finding for rule in RULES for finding in _findings(rule, verdicts[rule.id]))
    pages = {
        page.index: tuple(_component(group, verdicts, page.index) for group in PAGE_GROUPS)
        for page in deck.pages
    }
    return StaticResult(pages, _component("document", verdicts, None), findings, len(deck.pages))


def _findings(rule: Rule, verdicts: list[Verdict]) -> list[Finding]:
    """What did not pass, MOST_FINDINGS a page at most: a page's ten thousandth tells nobody more."""
    made: Counter[int | None] = Counter()
    found: list[Finding] = []
    for each in verdicts:
        if each.outcome == "pass" or made[each.page] >= MOST_FINDINGS:
            continue
        made[each.page] += 1
        found.append(
            Finding(
                rule=rule.id,
                layer="static",
                outcome=each.outcome,
                message=each.message,
                page=each.page,
                element=each.element,
            )
        )
    return found


def _component(group: str, verdicts: dict[str, list[Verdict]], page: int | None) -> Component:
    shares: dict[str, float] = {}
    for rule in _rules(group):
        # What lies in no page (a style sheet, the head) counts for every page.
        counted = [v for v in verdicts[rule.id] if page is None or v.page in (page, None)]
        told = [v for v in counted if v.outcome != "incomplete"]
        if told:
            shares[rule.id] = sum(v.outcome == "pass" for v in told) / len(told)
    if not shares:
        return Component(name=f"static.{group}", score=None, weight=1, evidence="nothing of the kind here")
    score = round(sum(shares.values()) / len(shares), 6)
    short = ", ".join(f"{rule} {share:.2f}" for rule, share in shares.items() if share < 1)
    return Component(name=f"static.{group}", score=score, weight=1, evidence=short or "every rule passes")


def _rules(group: str) -> list[Rule]:
    return [rule for rule in RULES if rule.group == group]
