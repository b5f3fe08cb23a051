"""From the three layers' verdicts to one Reward: a pure function."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rewards.reward import Component, Finding, Page, Reward, weighted
from rewards.slides.look import PageLook
from rewards.slides.static.layer import StaticResult
from rewards.slides.weights import LAYERS, Weights, gated, layer_score, weighed
from sandboxes.browser.capture import DeckCapture

FAULTS = {
    "hang": "the page's script never ends",
    "crash": "the page crashed its renderer",
    "navigated": "the page leads away from itself",
    "empty": "the deck shows no page",
    "not_html": "the browser found no HTML document",
    "too_large": "the page is larger than may be scored",
}


@dataclass(frozen=True)
class RuntimeResult:
    """Page components by page, the deck's own components, and findings, as the runtime layer gave them."""

    page_components: Mapping[int, tuple[Component, ...]]
    deck_components: tuple[Component, ...]
    findings: tuple[Finding, ...]


def assemble(
    task_id: str,
    capture: DeckCapture,
    static: StaticResult,
    runtime: RuntimeResult,
    looks: Mapping[int, PageLook],
    weights: Weights,
    digest: str,
) -> Reward:
    """A page's value is the weighted mean of its layers, the deck's that of layers and deck components.

    A page that the browser could not show, by the deck's own fault, scores 0.
    """
    count = max(capture.page_count, len(capture.pages), 1)
    shown = {page.index for page in capture.pages}
    pages: list[Page] = []
    for index in range(1, count + 1):
        if index not in shown:
            pages.append(_faulted(index, capture))
            continue
        looked, seen = looks.get(index, ((), ()))
        parts = static.page_components.get(index, ()), runtime.page_components.get(index, ()), looked
        components = weighed(gated(tuple(each for part in parts for each in part), weights), weights)
        findings = (
            *(each for each in static.findings if each.page == index),
            *(each for each in runtime.findings if each.page == index),
            *seen,
        )
        pages.append(
            Page(index=index, value=weighted(components), components=components, findings=tuple(findings))
        )
    deck = _deck_components(pages, static, runtime, weights)
    loose = [
        each
        for each in (*static.findings, *runtime.findings)
        if each.page is None or not 1 <= each.page <= count
    ]
    found = [*loose, *(finding for page in pages for finding in page.findings)]
    return Reward(
        task_id=task_id,
        value=weighted(deck) if shown else 0.0,
        components=deck,
        raw={
            "pages": float(count),
            "pages_shown": float(len(shown)),
            **{f"{layer}_failures": float(_failures(found, layer)) for layer in LAYERS},
        },
        scorer_digest=digest,
        pages=tuple(pages),
        findings=tuple(loose),
    )


def _faulted(index: int, capture: DeckCapture) -> Page:
    fault = capture.fault or "empty"
    detail = f" ({capture.fault_detail})" if capture.fault_detail else ""
    message = f"{FAULTS[fault]}{detail}"
    finding = Finding(
        rule=f"page-{fault}", layer="runtime", outcome="fail", message=message[:300], page=index
    )
    parts = tuple(
        Component(name=f"{layer}.shown", score=0.0, weight=1, evidence=FAULTS[fault]) for layer in LAYERS
    )
    return Page(index=index, value=0.0, components=parts, findings=(finding,))


def _deck_components(
    pages: Sequence[Page], static: StaticResult, runtime: RuntimeResult, weights: Weights
) -> tuple[Component, ...]:
    made = []
    for layer in LAYERS:
        scores = [layer_score(page.components, layer) for page in pages]
        told = [score for score in scores if score is not None]
        mean = round(sum(told) / len(told), 6) if told else None
        evidence = f"mean of {len(told)} of {len(pages)} pages" if told else _why_none(pages, layer)
        made.append(Component(name=layer, score=mean, weight=weights.layers[layer], evidence=evidence))
    for each in (static.document, *runtime.deck_components):
        made.append(each.model_copy(update={"weight": weights.deck[each.name]}))
    return tuple(made)


def _why_none(pages: Sequence[Page], layer: str) -> str:
    said = (each.evidence for page in pages for each in page.components if each.name.startswith(f"{layer}."))
    return next(said, "nothing to score")


def _failures(findings: Sequence[Finding], layer: str) -> int:
    return sum(each.layer == layer and each.outcome == "fail" for each in findings)


def component_values(reward: Reward) -> dict[str, float]:
    """Means over pages of the page components, and the deck's: what a trainer normalises by group."""
    values: dict[str, list[float]] = {}
    for page in reward.pages:
        for each in page.components:
            if each.score is not None:
                values.setdefault(each.name, []).append(each.score)
    means = {name: round(sum(scores) / len(scores), 6) for name, scores in values.items()}
    own = {each.name: each.score for each in reward.components if each.score is not None and "." in each.name}
    return {**means, **own}
