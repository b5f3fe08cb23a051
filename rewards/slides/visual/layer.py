"""The visual layer over a captured page: palette, harmony, contrast, type hierarchy, CLIP where given."""

from rewards.reward import Box, Component, Finding
from rewards.slides.visual import contrast, hierarchy, palette
from rewards.slides.visual.clip import ClipScorer
from rewards.slides.visual.picture import Picture, read_picture
from sandboxes.browser.capture import PageCapture, Rect

MOST_FINDINGS = 12
"""Findings of one rule on one page; the score counts all."""


def judge_page(
    capture: PageCapture, clip_score: float | None, clip_says: str
) -> tuple[tuple[Component, ...], tuple[Finding, ...]]:
    """Components, weights still 1, and the findings of one page."""
    picture = read_picture(capture.png, capture.ink_png)
    made: list[Component] = []
    findings: list[Finding] = []
    for components, found in (
        _colours(capture, picture),
        _contrast(capture, picture),
        _hierarchy(capture),
    ):
        made.extend(components)
        findings.extend(found)
    made.append(_component("clip", clip_score, clip_says))
    return tuple(made), tuple(findings)


def clip_scores(clip: ClipScorer | None, pages: list[PageCapture]) -> list[float | None]:
    """CLIP's number for each page, None for all without a model."""
    if clip is None or not pages:
        return [None] * len(pages)
    return list(clip.score([read_picture(page.png, page.ink_png).page for page in pages]))


def _component(name: str, score: float | None, evidence: str) -> Component:
    return Component(name=f"visual.{name}", score=score, weight=1, evidence=evidence)


def _finding(rule: str, capture: PageCapture, message: str, element: str, rect: Rect | None) -> Finding:
    box = None
    if rect is not None:
        box = Box(**{side: round(value, 1) for side, value in rect._asdict().items()})
    return Finding(
        rule=rule,
        layer="visual",
        outcome="fail",
        message=message,
        page=capture.index,
        element=element,
        box=box,
    )


def _colours(capture: PageCapture, picture: Picture) -> tuple[list[Component], list[Finding]]:
    seen = palette.read_palette(picture)
    main, harmony = palette.main_colour_score(seen), palette.harmony_score(seen)
    if main is None:
        nothing = "no ink on the page"
        return [_component("palette", None, nothing), _component("harmony", None, nothing)], []
    root = next((node for node in capture.nodes if node.index == capture.root), None)
    path = root.css_path if root is not None else ""
    findings = []
    if seen.main_share > 0.85 and len(seen.inks) > 1 and seen.coverage > 0.25:
        said = f"one colour makes {seen.main_share:.0%} of the ink, {palette.MAIN_SHARE:.0%} is the most"
        findings.append(_finding("main-colour", capture, said, path, None))
    if harmony is not None and harmony < 0.6:
        said = f"the colours fit no harmony (score {harmony:.2f}, mean chroma {seen.loudness:.0f})"
        findings.append(_finding("harmony", capture, said, path, None))
    shares = f"main colour {seen.main_share:.2f} of the ink, {len(seen.inks)} colours"
    return [
        _component("palette", main, shares),
        _component("harmony", harmony, f"mean chroma {seen.loudness:.1f}"),
    ], findings


def _contrast(capture: PageCapture, picture: Picture) -> tuple[list[Component], list[Finding]]:
    lines = contrast.measure(capture, picture)
    score = contrast.contrast_score(lines)
    failing = [line for line in lines if line.passes is False]
    worst: dict[str, contrast.TextContrast] = {}
    for line in failing:
        known = worst.get(line.node.css_path)
        if known is None or (line.ratio or 0) < (known.ratio or 0):
            worst[line.node.css_path] = line
    findings = [
        _finding(
            "contrast",
            capture,
            f"contrast {line.ratio:.2f} : 1, {line.needed:.1f} is the least",
            path,
            line.rect,
        )
        for path, line in sorted(worst.items(), key=lambda each: each[1].ratio or 0.0)[:MOST_FINDINGS]
    ]
    told = sum(line.ratio is not None for line in lines)
    evidence = f"{told - len(failing)} of {told} lines reach their ratio" if told else "no text that shows"
    return [_component("contrast", score, evidence)], findings


def _hierarchy(capture: PageCapture) -> tuple[list[Component], list[Finding]]:
    sizes = hierarchy.read_sizes(capture)
    score = hierarchy.hierarchy_score(sizes)
    if score is None or sizes.title is None or not sizes.body:
        return [_component("hierarchy", None, "only one kind of text")], []
    note = f" : {sizes.note:.0f}" if sizes.note else ""
    said = f"title : body{' : note' if note else ''} = {sizes.title:.0f} : {sizes.body:.0f}{note} px"
    findings = []
    if score < 0.6 and sizes.title_node is not None:
        element = sizes.title_node
        findings.append(_finding("type-hierarchy", capture, said, element.css_path, element.box))
    return [_component("hierarchy", score, said)], findings
