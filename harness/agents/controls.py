"""Agents that ask no model and open no sandbox: they know their patch beforehand."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from tasks.task import PatchTask


class KnownPatch(Protocol):
    @property
    def name(self) -> str: ...

    def patch(self, task: PatchTask) -> str | None: ...


class Gold:
    """Submits the gold patch: every task must be resolved, or the task or the grading is at fault."""

    name = "gold"

    def patch(self, task: PatchTask) -> str | None:
        return task.oracle.gold_patch


class Empty:
    """Submits nothing: no task may be resolved, or its tests pass without a fix."""

    name = "empty"

    def patch(self, task: PatchTask) -> str | None:
        return None


@dataclass(frozen=True)
class Predictions:
    """Submits patches made elsewhere, by task id."""

    patches: Mapping[str, str | None]
    name: str = "predictions"

    def patch(self, task: PatchTask) -> str | None:
        return self.patches.get(task.id)
