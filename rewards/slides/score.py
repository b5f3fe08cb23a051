"""Score a deck: markup, rendered page and look, into one Reward."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rewards.reward import Reward
from rewards.slides.assemble import assemble
from rewards.slides.digest import scorer_digest
from rewards.slides.look import look_at, visual_available
from rewards.slides.pages.conventions import FOLDER, ONE_FILE
from rewards.slides.runtime.layer import judge as judge_runtime
from rewards.slides.static.layer import judge
from rewards.slides.static.rule import StaticDeck
from rewards.slides.static.source import DeckSource, NotADeck, open_deck, read_files
from rewards.slides.weights import load_weights
from sandboxes.browser.capture import DeckCapture
from sandboxes.browser.session import BrowserSession, open_browser
from sandboxes.sandbox import SandboxFault

if TYPE_CHECKING:
    from rewards.slides.visual.clip import ClipScorer

Report = Callable[[str, int, int], None]
"""Hears the stage, how much of it is done, and of how much (0 where not known)."""


@dataclass(frozen=True)
class ScoredDeck:
    """capture holds the page pictures; None where the reward is not valid."""

    reward: Reward
    capture: DeckCapture | None


def _silent(stage: str, done: int, total: int) -> None:
    """Nobody listens."""


def score_deck(
    path: str | Path,
    *,
    session: BrowserSession | None = None,
    clip: "str | ClipScorer | None" = None,
    task_id: str | None = None,
    report: Report = _silent,
) -> Reward:
    """The Reward of an HTML file or a folder that holds one, or one file a page. As `examine_deck`."""
    return examine_deck(path, session=session, clip=clip, task_id=task_id, report=report).reward


def examine_deck(
    path: str | Path,
    *,
    session: BrowserSession | None = None,
    clip: "str | ClipScorer | None" = None,
    task_id: str | None = None,
    report: Report = _silent,
) -> ScoredDeck:
    """The Reward together with what the browser saw.

    session: an open browser to use; without one a browser is opened and closed. clip: an open_clip model or
    checkpoint, or one that is loaded already. task_id: the deck's file or folder name where not given.
    A fault of the browser gives a reward that is not valid. Raises NotADeck and ClipUnavailable.
    """
    source = open_deck(path)
    task_id = task_id or source.path.resolve().name
    scorer = _clip(clip)
    clip_digest = scorer.digest if scorer is not None else ""
    try:
        capture = _capture(source, session, report)
    except SandboxFault as fault:
        reward = Reward(
            task_id=task_id,
            value=None,
            valid=False,
            failure="infrastructure",
            failure_reason=str(fault),
            scorer_digest=scorer_digest(browser="", clip=clip_digest),
        )
        return ScoredDeck(reward, None)
    if capture.fault == "not_html":
        raise NotADeck(
            f"{path} is not HTML ({capture.fault_detail or 'the browser says so'}): give an HTML deck"
        )
    report("Reading the markup", 0, 0)
    static = judge(StaticDeck(source, _roots(capture)))
    total = len(capture.pages)
    looks = look_at(capture, scorer, lambda done: report("Looking at pages", done, total))
    digest = scorer_digest(browser=capture.digest, clip=clip_digest)
    measured = judge_runtime(capture)
    return ScoredDeck(assemble(task_id, capture, static, measured, looks, load_weights(), digest), capture)


def _clip(clip: "str | ClipScorer | None") -> "ClipScorer | None":
    if not isinstance(clip, str):
        return clip
    from rewards.slides.visual.clip import ClipUnavailable, load_clip

    if not visual_available():
        raise ClipUnavailable("CLIP needs the visual extra: pip install 'patchdeck[visual]'")
    return load_clip(clip)


def _capture(source: DeckSource, session: BrowserSession | None, report: Report) -> DeckCapture:
    if session is None:
        with open_browser("score", report=lambda stage: report(stage, 0, 0)) as opened:
            return _capture(source, opened, report)
    names = [entry.name for entry in source.entries]
    total = len(names) if source.page_files else 0
    return session.capture(
        read_files(source),
        names if source.page_files else names[0],
        FOLDER if source.page_files else ONE_FILE,
        heard=lambda page: report("Rendering pages", page, total),
    )


def _roots(capture: DeckCapture) -> list[tuple[str, str]]:
    """Entry and CSS path of each page's own element; empty where a page could not be shown."""
    if len(capture.pages) != capture.page_count:
        return []
    found = []
    for page in capture.pages:
        root = next((node for node in page.nodes if node.index == page.root), None)
        found.append((page.entry, root.css_path if root is not None else ""))
    return found
