"""The table for people: text of a deck stays text, and every finding says how to mend it."""

import io

from rich.console import Console

from rewards.reward import Component, Finding, Page, Reward
from rewards.slides.static.rules import RULES
from rewards.slides.table import print_reward


def printed(finding: Finding) -> str:
    parts = (
        Component(name="static.structure", score=0.5, weight=0.2),
        Component(
            name="visual.clip",
            score=None,
            weight=0,
            evidence="not available: no CLIP model was given (--clip)",
        ),
    )
    page = Page(index=1, value=0.5, components=parts, findings=(finding,))
    reward = Reward(task_id="t", value=0.5, components=parts, scorer_digest="d", pages=(page,))
    stream = io.StringIO()
    print_reward(reward, "deck.html", Console(file=stream, width=200, force_terminal=False))
    return stream.getvalue()


def test_hostile_text_prints_as_text() -> None:
    shown = printed(
        Finding(
            rule="image-alt", layer="static", outcome="fail", page=1, element="[bold]x[/bold] > img",
            message="alt='\x1b[2J\x1b]0;owned\x07[red]hi[/red]'",
        )
    )  # fmt: skip
    assert "\x1b" not in shown and "\x07" not in shown
    assert "[red]hi[/red]" in shown and "[bold]x[/bold] > img" in shown


def test_finding_says_where_and_how_to_mend() -> None:
    for rule in RULES:
        shown = printed(
            Finding(rule=rule.id, layer="static", outcome="fail", message="m", page=1, element="p")
        )
        assert "page 1" in shown and rule.mend in shown
    assert "not available: no CLIP model" in shown
