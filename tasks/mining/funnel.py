"""The funnel: how many commits became tasks, and for each that fell why, kept on disk as mining goes."""

import json
import shutil
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tasks.store import AnyTask, dump, write_whole
from tasks.task import TASK_ADAPTER

Stage = Literal["change", "environment", "validation"]


class Outcome(BaseModel):
    """What became of one candidate."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    commit: str
    subject: str
    validated: bool = False
    stage: Stage | None = Field(None, description="where it fell; None where it did not")
    environment_built: bool = False
    reason: str = ""
    command: str = Field("", description="the command that failed")
    log: str = Field("", description="path of that command's log, relative to the funnel's file")
    fail_to_pass: dict[str, int] = Field(default_factory=dict, description="tests by origin: f2p, s2p, n2p")
    pass_to_pass: int = 0
    quarantined: int = 0


class Funnel(BaseModel):
    """Counts at each stage; environments counts candidates whose environment was built."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    repo: str
    head: str
    fix_worded: bool
    since: str | None = None
    commits: int
    candidates: int
    environments: int
    validated: int
    with_f2p: int = Field(description="validated ones of which at least one test failed before the fix")
    fallen: tuple[Outcome, ...] = ()


class MiningFolder:
    """`<out stem>.mining/<commit>/` and `<out stem>.funnel.json` beside the tasks file."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.folder = out.with_name(f"{out.stem}.mining")
        self.funnel_path = out.with_name(f"{out.stem}.funnel.json")

    def begin(self, commit: str) -> Path:
        """An empty folder for the candidate; what a killed attempt left in it is removed."""
        folder = self.folder / commit
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        return folder

    def keep_log(self, commit: str, name: str, text: str) -> str:
        """Write a log; returns its path as an Outcome names it."""
        path = self.folder / commit / f"{name}.log"
        path.write_bytes(text.encode("utf-8", "backslashreplace"))
        return f"{self.folder.name}/{commit}/{name}.log"

    def finish(self, outcome: Outcome, task: AnyTask | None) -> None:
        """The outcome last, by a rename: where it stands, everything else of the candidate stands too."""
        folder = self.folder / outcome.commit
        if task is not None:
            write_whole(folder / "task.json", dump(task))
        write_whole(folder / "outcome.json", outcome.model_dump_json(indent=1).encode() + b"\n")

    def outcome(self, commit: str) -> Outcome | None:
        """The candidate's outcome from an earlier run, or None where it must be tried."""
        try:
            return Outcome.model_validate_json((self.folder / commit / "outcome.json").read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def task(self, commit: str) -> AnyTask:
        return TASK_ADAPTER.validate_json((self.folder / commit / "task.json").read_bytes())

    def write_funnel(self, funnel: Funnel) -> None:
        body = json.dumps(funnel.model_dump(mode="json"), indent=1, ensure_ascii=True)
        write_whole(self.funnel_path, body.encode() + b"\n")
