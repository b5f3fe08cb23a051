# ruff: noqa: E501 (markup reads better unbroken)
"""Each runtime rule on a page that passes and on one that fails; every case is one page of one deck."""

from collections.abc import Callable

import pytest

from rewards.reward import Component, Finding
from rewards.slides.runtime.layer import judge
from rewards.slides.runtime.rules import BY_ID, PAGE_RULES
from sandboxes.browser.capture import DeckCapture

Capture = Callable[..., DeckCapture]
Judged = tuple[dict[str, Component], list[Finding]]

STYLE = """<style>body{margin:0;font-family:"Liberation Sans";color:#222;background:#fff}
section{width:1280px;height:720px;position:relative;overflow:hidden;box-sizing:border-box;padding:60px 80px}
h1{font-size:48px;margin:0 0 40px} p,li{font-size:26px;margin:0 0 20px}</style>"""
TEXT = "<p>Tides follow the moon.</p><p>They come twice a day.</p><p>Spring tides are the highest.</p>"
GOOD = f"<h1 style='text-align:center'>Tides</h1>{TEXT}"
LONG = "<p>A line of text that needs its room on the page.</p>" * 30

CASES = {
    "good": f"<section>{GOOD}</section>",
    "left": f"<section><h1>Tides</h1>{TEXT}</section>",
    "tall": f"<section style='height:auto'><h1>Tides</h1>{LONG}</section>",
    "cut": f"<section><h1>Tides</h1>{LONG}</section>",
    "clamped": f"<section>{GOOD}<p style='width:300px;white-space:nowrap;overflow:hidden;text-overflow:ellipsis'>"
    "words that go on and on and on and on</p></section>",
    "away": f"<section style='overflow:visible'>{GOOD}<p style='position:absolute;left:1400px;top:99px;width:300px'>"
    "beside the page</p></section>",
    "collided": f"<section>{GOOD}<p style='position:absolute;left:80px;top:148px'>Words that lie over others</p></section>",
    "aside": f"<section><h1 style='margin-left:233px'>Tides</h1>{TEXT}</section>",
    "edged": f"<section style='padding:2px'><h1>Tides</h1>{TEXT}</section>",
    "empty": "<section></section>",
    "crowded": "<section style='padding:4px 10px;overflow:visible'><p style='word-break:break-all;font-size:24px;line-height:1;margin:0'>"
    + "words without any room between " * 150 + "</p></section>",
    "small": f"<section>{GOOD}<p style='font-size:9px'>{'a note that nobody can read ' * 9}</p></section>",
    "shrunk": f"<section>{GOOD}<div style='transform:scale(.3)'>{TEXT}{TEXT}</div></section>",
}  # fmt: skip

FAILS = {
    "aspect": "tall",
    "fit": "cut",
    "off_page": "away",
    "collision": "collided",
    "title": "aside",
    "margins": "edged",
    "whitespace": "empty",
    "type_size": "small",
}


@pytest.fixture(scope="module")
def judged(capture: Capture) -> dict[str, Judged]:
    deck = capture(f"<!doctype html><title>cases</title>{STYLE}{''.join(CASES.values())}")
    assert deck.page_count == len(deck.pages) == len(CASES)
    result = judge(deck)
    return {
        name: (
            {each.name.removeprefix("runtime."): each for each in result.page_components[index]},
            [each for each in result.findings if each.page == index],
        )
        for index, name in enumerate(CASES, 1)
    }


def score(judged: dict[str, Judged], case: str, component: str) -> float:
    value = judged[case][0][component].score
    assert value is not None
    return value


@pytest.mark.parametrize("case", ["good", "left"])
def test_a_good_page_has_no_findings_and_full_scores(judged: dict[str, Judged], case: str) -> None:
    components, findings = judged[case]
    assert findings == []
    assert min(each.score for each in components.values() if each.score is not None) >= 0.9


@pytest.mark.parametrize(("component", "case"), FAILS.items())
def test_a_fault_lowers_its_component_and_is_found(
    judged: dict[str, Judged], component: str, case: str
) -> None:
    rule = next(each.id for each in PAGE_RULES if each.component == component)
    assert score(judged, case, component) < 0.75 < score(judged, "good", component)
    found = [each for each in judged[case][1] if each.rule == rule]
    assert found
    assert all(each.outcome == "fail" and each.element and each.box for each in found)


def test_further_faults(judged: dict[str, Judged]) -> None:
    assert score(judged, "clamped", "fit") < 1
    assert score(judged, "crowded", "whitespace") < 1
    assert score(judged, "shrunk", "type_size") < score(judged, "good", "type_size")
    assert score(judged, "cut", "aspect") < 0.5, "clipping does not make a page fit"


def test_a_page_without_text_has_no_score_for_it(judged: dict[str, Judged]) -> None:
    components = judged["empty"][0]
    assert (
        components["readable"].score is components["type_size"].score is components["collision"].score is None
    )


def test_navigation_errors_and_assets_are_judged_for_the_deck(capture: Capture) -> None:
    bad = f"""<!doctype html><style>section{{display:none;position:absolute;inset:0}}.active{{display:block!important}}
        </style><section class=active>{GOOD}</section><section>{GOOD}</section><script>absent()</script>
        <script src="gone.js"></script><button style="position:fixed;bottom:9px;left:9px">next</button>"""
    result = judge(capture(bad, navigation=True))
    assert {each.name: each.score for each in result.deck_components} == {
        "runtime.navigation": 0.0, "runtime.console": 0.75, "runtime.assets": 0.8,
    }  # fmt: skip
    assert {each.rule for each in result.findings if each.page is None} == {
        "navigation", "script-error", "unanswered-request",
    }  # fmt: skip
    good = judge(capture(f"<!doctype html>{STYLE}{CASES['good']}{CASES['left']}", navigation=True))
    assert [each.score for each in good.deck_components] == [1.0, 1.0, 1.0]


def test_a_page_that_changes_by_itself_is_unsettled(capture: Capture) -> None:
    late = "<script>setTimeout(() => { document.body.style.background = 'teal'; }, 4000)</script>"
    result = judge(capture(f"<!doctype html>{STYLE}{CASES['good']}{CASES['left']}{late}"))
    scores = {each.name: each.score for each in result.page_components[1]}
    assert scores["runtime.settled"] is not None
    assert scores["runtime.settled"] < 0.5


def test_every_rule_says_why_and_how_to_mend() -> None:
    assert len(BY_ID) == 13
    assert all(rule.why.endswith(".") and rule.mend.endswith(".") for rule in BY_ID.values())
