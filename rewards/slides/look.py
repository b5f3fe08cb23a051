"""The visual layer over a whole deck, or the reason why there is none."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from rewards.reward import Component, Finding
from sandboxes.browser.capture import DeckCapture

if TYPE_CHECKING:
    from rewards.slides.visual.clip import ClipScorer

PageLook = tuple[tuple[Component, ...], tuple[Finding, ...]]

NAMES = ("palette", "harmony", "contrast", "hierarchy", "clip")
NEEDS = ("numpy", "PIL", "scipy")
CURE = "not available: pip install 'patchdeck[visual]'"
NO_CLIP = "not available: no CLIP model was given (--clip)"


def visual_available() -> bool:
    """Whether the `visual` extra is installed."""
    return all(find_spec(name) is not None for name in NEEDS)


def look_at(
    capture: DeckCapture, clip: "ClipScorer | None", report: Callable[[int], None] = lambda done: None
) -> dict[int, PageLook]:
    """Components and findings by page. report hears how many pages are done."""
    if not visual_available():
        absent = tuple(
            Component(name=f"visual.{name}", score=None, weight=1, evidence=CURE) for name in NAMES
        )
        return {page.index: (absent, ()) for page in capture.pages}
    from rewards.slides.visual.layer import clip_scores, judge_page

    says = f"CLIP {clip.label}, antonym prompts about slides" if clip is not None else NO_CLIP
    scores = clip_scores(clip, list(capture.pages))
    found: dict[int, PageLook] = {}
    for page, score in zip(capture.pages, scores, strict=True):
        found[page.index] = judge_page(page, score, says)
        report(len(found))
    return found
