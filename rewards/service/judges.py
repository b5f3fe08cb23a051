"""What the service asks for a reward: functions from a submission to a Reward."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rewards.reward import Reward
from tasks.task import PatchTask


@dataclass(frozen=True)
class Judges:
    """Both raise SandboxFault or return a reward that is not valid where the submission is not at fault."""

    patch: Callable[[PatchTask, str | None], Reward]
    deck: Callable[[Path], Reward]
    """takes an HTML file or a deck's folder; raises NotADeck"""


def judge_patch(task: PatchTask, patch: str | None) -> Reward:
    """Try the patch in a fresh container and grade what happened."""
    from rewards.code import grade
    from tasks.trial import run_trial

    return grade(task, run_trial(task, patch, run_id=f"serve-rewards-{os.getpid()}"))


def judge_deck(path: Path) -> Reward:
    """Score the deck in the browser container."""
    from rewards.slides.score import score_deck

    return score_deck(path)


JUDGES = Judges(judge_patch, judge_deck)
