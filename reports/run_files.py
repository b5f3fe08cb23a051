"""Reads what a run left on disk, as values that the pages show."""

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from harness.episode import Episode
from rewards.reward import Reward
from tasks.store import load_tasks
from tasks.task import PatchTask

ContractT = TypeVar("ContractT", Reward, Episode)


class RunUnreadable(RuntimeError):
    """The folder is not a run, or a file in it is not what it should be."""


@dataclass(frozen=True)
class AttemptFiles:
    """One attempt: what is on disk of it."""

    task_id: str
    attempt: int
    reward: Reward | None
    episode: Episode | None
    patch: str
    test_output: str
    tests_status: dict[str, dict[str, list[str]]]

    @property
    def anchor(self) -> str:
        return f"{self.task_id}.{self.attempt}"

    @property
    def outcome(self) -> str:
        """resolved, unresolved, not valid, or under way."""
        if self.reward is None:
            return "under way"
        if not self.reward.valid:
            return "not valid"
        return "resolved" if self.reward.resolved else "unresolved"

    @property
    def tokens(self) -> int:
        calls = self.episode.calls if self.episode else ()
        return sum(call.prompt_tokens + call.output_tokens for call in calls)

    @property
    def seconds(self) -> float:
        return self.episode.seconds if self.episode else 0.0


@dataclass(frozen=True)
class DeckFiles:
    name: str
    reward: Reward
    shots: tuple[bytes, ...]


@dataclass(frozen=True)
class RunFiles:
    """A run. Everything but run.json may be missing while the run is under way."""

    folder: Path
    request: dict[str, Any]
    attempts: tuple[AttemptFiles, ...]
    decks: tuple[DeckFiles, ...] = ()
    funnel: dict[str, Any] = field(default_factory=dict)
    training: tuple[dict[str, Any], ...] = ()
    tasks: dict[str, PatchTask] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def agent(self) -> str:
        return str(self.request.get("agent", "?"))

    @property
    def model(self) -> str:
        return str(self.request.get("model") or "no model")

    @property
    def tests_shown(self) -> str:
        return str(self.request.get("tests", "?"))

    @property
    def shuffled(self) -> bool:
        return bool(self.request.get("shuffle_ranking"))

    @cached_property
    def valid(self) -> tuple[AttemptFiles, ...]:
        return tuple(a for a in self.attempts if a.reward is not None and a.reward.valid)

    @property
    def resolved_tasks(self) -> int:
        """Tasks that at least one valid attempt resolved."""
        return len({a.task_id for a in self.valid if a.reward and a.reward.resolved})

    @property
    def task_count(self) -> int:
        return len({a.task_id for a in self.attempts})

    @property
    def pass_at_1(self) -> float | None:
        """Mean over tasks of the share of valid attempts that resolved; None where none is valid."""
        by_task: dict[str, list[bool]] = {}
        for attempt in self.valid:
            by_task.setdefault(attempt.task_id, []).append(bool(attempt.reward and attempt.reward.resolved))
        if not by_task:
            return None
        return sum(sum(results) / len(results) for results in by_task.values()) / len(by_task)


def read_run(folder: Path) -> RunFiles:
    """The run in folder. Raises RunUnreadable with one sentence."""
    request_file = folder / "run.json"
    if not request_file.is_file():
        raise RunUnreadable(f"{folder} is not a run: it has no run.json; `patchdeck report` lists the runs")
    attempts = []
    for attempt_folder in sorted(folder.glob("*/[0-9]*"), key=_by_task_and_number):
        if attempt_folder.is_dir() and attempt_folder.parent.name not in (
            "decks",
            "experience",
            "checkpoint",
        ):
            attempts.append(_read_attempt(attempt_folder))
    decks = tuple(_read_deck(path.parent) for path in sorted(folder.glob("decks/*/reward.json")))
    funnel = folder / "funnel.json"
    tasks_file = folder / "tasks.jsonl"
    tasks = load_tasks(tasks_file) if tasks_file.is_file() else []
    return RunFiles(
        folder=folder,
        request=_json(request_file),
        attempts=tuple(attempts),
        decks=decks,
        funnel=_json(funnel) if funnel.is_file() else {},
        training=tuple(_training(folder)),
        tasks={task.id: task for task in tasks if isinstance(task, PatchTask)},
    )


def read_runs(root: Path) -> list[RunFiles]:
    """Every run under root, newest first by the time of its run.json."""
    files = sorted(root.glob("*/run.json"), key=lambda path: (-path.stat().st_mtime, path))
    return [read_run(path.parent) for path in files]


def _by_task_and_number(path: Path) -> tuple[str, int]:
    return path.parent.name, int(path.name) if path.name.isdigit() else -1


def _read_attempt(folder: Path) -> AttemptFiles:
    status: dict[str, dict[str, list[str]]] = {}
    if (folder / "report.json").is_file():
        for entry in _json(folder / "report.json").values():
            status = entry.get("tests_status", {})
    return AttemptFiles(
        task_id=folder.parent.name,
        attempt=int(folder.name),
        reward=_contract(Reward, folder / "reward.json"),
        episode=_contract(Episode, folder / "episode.json"),
        patch=_text(folder / "patch.diff"),
        test_output=_text(folder / "test_output.txt"),
        tests_status=status,
    )


def _read_deck(folder: Path) -> DeckFiles:
    reward = _contract(Reward, folder / "reward.json")
    if reward is None:
        raise RunUnreadable(f"{folder / 'reward.json'} went away while it was read: try again")
    shots = tuple(path.read_bytes() for path in sorted(folder.glob("shots/*.png")))
    return DeckFiles(folder.name, reward, shots)


def _training(folder: Path) -> list[dict[str, Any]]:
    log = folder / "training.jsonl"
    records = []
    for line in log.read_text().splitlines() if log.is_file() else ():
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            break  # a line being written; what follows comes with the next reading
    return records


def _contract(kind: type[ContractT], path: Path) -> ContractT | None:
    if not path.is_file():
        return None
    try:
        return kind.model_validate_json(path.read_bytes())
    except ValidationError as error:
        where = error.errors()[0]
        place = ".".join(map(str, where["loc"]))
        raise RunUnreadable(
            f"{path} is not a {kind.__name__}: {place}: {where['msg']}; delete its folder and run again"
        ) from None


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except ValueError as error:
        raise RunUnreadable(f"{path} is not JSON ({error}): delete it and run again") from None
    if not isinstance(value, dict):
        raise RunUnreadable(f"{path} holds no JSON object: delete it and run again")
    return value


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "backslashreplace") if path.is_file() else ""
