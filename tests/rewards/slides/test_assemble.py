"""How three layers become one Reward: weights, gates, faulted pages, and what is not available."""

from rewards.reward import Component, Finding, weighted
from rewards.slides.assemble import RuntimeResult, assemble, component_values
from rewards.slides.digest import scorer_digest
from rewards.slides.static.layer import StaticResult
from rewards.slides.weights import LAYERS, gated, layer_score, load_weights, weighed
from sandboxes.browser.capture import DeckCapture, PageCapture

WEIGHTS = load_weights()


def component(name: str, score: float | None) -> Component:
    return Component(name=name, score=score, weight=1)


def page(index: int) -> PageCapture:
    return PageCapture(index, "d.html", 1280, 720, 1280, 720, (), 0, b"", b"", None, "native", "viewport")


def static(pages: int) -> StaticResult:
    parts = (
        component("static.structure", 1.0),
        component("static.media", None),
        component("static.text", 0.5),
    )
    by_page = dict.fromkeys(range(1, pages + 1), parts)
    return StaticResult(by_page, component("static.document", 1.0), (), pages)


LOOK = ((component("visual.contrast", 0.8), component("visual.clip", None)), ())
NO_RUNTIME = RuntimeResult({}, (), ())


def test_page_value_is_the_mean_of_its_layers() -> None:
    parts = weighed((component("static.structure", 1.0), component("static.text", 0.5), *LOOK[0]), WEIGHTS)
    own = WEIGHTS.components
    markup = (own["static.structure"] * 1.0 + own["static.text"] * 0.5) / (
        own["static.structure"] + own["static.text"]
    )
    layers = WEIGHTS.layers
    expected = (layers["static"] * markup + layers["visual"] * 0.8) / (layers["static"] + layers["visual"])
    assert abs(weighted(parts) - expected) < 1e-5
    assert layer_score(parts, "visual") == 0.8 and layer_score(parts, "runtime") is None


def test_component_without_a_score_takes_no_weight() -> None:
    parts = {each.name: each for each in weighed(LOOK[0], WEIGHTS)}
    assert parts["visual.clip"].weight == 0 and parts["visual.contrast"].weight == WEIGHTS.layers["visual"]


def test_page_that_cannot_be_read_earns_nothing_for_beauty() -> None:
    gate = WEIGHTS.gates[0]
    parts = gated((component(gate.when, gate.below - 0.1), *LOOK[0]), WEIGHTS)
    beauty = {each.name: each for each in parts}["visual.contrast"]
    assert beauty.score == 0 and gate.when in beauty.evidence
    assert gated((component(gate.when, gate.below), *LOOK[0]), WEIGHTS)[1].score == 0.8


def test_page_with_a_fault_of_its_own_scores_zero_and_says_so() -> None:
    capture = DeckCapture("generic", (page(1),), 2, fault="hang", fault_detail="20 s")
    reward = assemble("t", capture, static(2), NO_RUNTIME, {1: LOOK}, WEIGHTS, "d")
    assert [each.value > 0 for each in reward.pages] == [True, False]
    (finding,) = reward.pages[1].findings
    assert finding.rule == "page-hang" and "never ends" in finding.message and "20 s" in finding.message
    whole = assemble(
        "t", DeckCapture("generic", (page(1),), 1), static(1), NO_RUNTIME, {1: LOOK}, WEIGHTS, "d"
    )
    assert reward.value is not None and whole.value is not None and reward.value < whole.value


def test_deck_that_shows_nothing_is_valid_and_zero() -> None:
    reward = assemble(
        "t", DeckCapture("generic", (), 0, fault="crash"), static(1), NO_RUNTIME, {}, WEIGHTS, "d"
    )
    assert reward.valid and reward.value == 0.0 and len(reward.pages) == 1


def test_value_is_the_weighted_mean_of_what_is_shown() -> None:
    findings = (Finding(rule="language", layer="static", outcome="fail", message="m"),)
    result = StaticResult(static(1).page_components, component("static.document", 0.5), findings, 1)
    reward = assemble("t", DeckCapture("reveal", (page(1),), 1), result, NO_RUNTIME, {1: LOOK}, WEIGHTS, "d")
    assert reward.value == weighted(reward.components) and reward.findings == findings
    assert [each.name for each in reward.components][:3] == list(LAYERS)
    assert reward.raw["static_failures"] == 1.0
    assert component_values(reward) == {
        "static.structure": 1.0, "static.text": 0.5, "visual.contrast": 0.8, "static.document": 0.5,
    }  # fmt: skip


def test_digest_follows_browser_and_clip() -> None:
    digests = {scorer_digest(browser=b, clip=c) for b, c in (("a", ""), ("b", ""), ("a", "x"), ("a", ""))}
    assert len(digests) == 3
