"""A run on disk: one writer, an append-only log of events, and a folder for each attempt."""

import json
import os
import shutil
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from pydantic import ValidationError

from harness.runs.request import RunRequest
from rewards.reward import Reward
from tasks.store import AnyTask, dump, write_whole

AttemptKey = tuple[str, int]


class RunConflict(RuntimeError):
    """The folder holds another run, a broken one, or one that is being written."""


class RunStore:
    """The writer of a run's folder, locked against any other.

    An attempt's files are written into a hidden folder that is renamed when it is complete, then its event is
    appended. Killed between the two, the next writer finds the folder and appends the event.
    """

    def __init__(self, root: Path, request: RunRequest, *, anew: bool = False) -> None:
        self.folder = root / request.run_id
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(self.folder / ".lock")
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise RunConflict(
                f"another process is writing {self.folder}: wait for it, or give another --run-id"
            ) from None
        self._events = threading.Lock()
        try:
            self._begin(request, anew)
        except BaseException:
            self._lock.release()
            raise

    def _begin(self, request: RunRequest, anew: bool) -> None:
        if anew:
            for path in self.folder.iterdir():
                if path.name != ".lock":
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        earlier = read_request(self.folder)
        if earlier is not None and not earlier.same_work(request):
            raise RunConflict(
                f"{self.folder} holds another run ({earlier.agent}, seed {earlier.seed}, tests "
                f"{earlier.tests}): give another --run-id, or --new to throw that one away"
            )
        for unfinished in self.folder.glob("*/.*.unfinished"):
            shutil.rmtree(unfinished)
        if earlier is not None:
            request = request.model_copy(update={"attempts": max(request.attempts, earlier.attempts)})
        self.request = request
        write_whole(self.folder / "run.json", request.model_dump_json(indent=1).encode() + b"\n")
        self.finished = self._finished()

    def _finished(self) -> dict[AttemptKey, bool]:
        """Attempts that are done, with whether their reward is valid."""
        done: dict[AttemptKey, bool] = {}
        for event in read_events(self.folder):
            if event.get("event") == "attempt":
                done[(str(event["task_id"]), int(event["attempt"]))] = bool(event["valid"])
        for path in self.folder.glob("*/[0-9]*/reward.json"):
            key = (path.parent.parent.name, int(path.parent.name))
            if key not in done:
                reward = Reward.model_validate_json(path.read_bytes())
                done[key] = reward.valid
                self.append("attempt", task_id=key[0], attempt=key[1], valid=reward.valid)
        return {
            key: valid for key, valid in done.items() if (self.attempt_folder(*key) / "reward.json").is_file()
        }

    def attempt_folder(self, task_id: str, attempt: int) -> Path:
        return self.folder / task_id / str(attempt)

    def keep_tasks(self, tasks: list[AnyTask], funnel: Path) -> None:
        """A copy of the tasks and of the mining funnel beside them, so that the run explains itself."""
        write_whole(self.folder / "tasks.jsonl", b"".join(dump(task) for task in tasks))
        if funnel.is_file():
            write_whole(self.folder / "funnel.json", funnel.read_bytes())

    def append(self, event: str, **facts: Any) -> None:
        """One line of the log, on disk when this returns."""
        record = {"event": event, "at": datetime.now(UTC).isoformat(timespec="milliseconds"), **facts}
        with self._events, (self.folder / "events.jsonl").open("ab") as log:
            if log.tell() and not _ends_in_newline(self.folder / "events.jsonl"):
                log.write(b"\n")
            log.write(json.dumps(record).encode() + b"\n")
            log.flush()
            os.fsync(log.fileno())

    def keep_attempt(self, task_id: str, attempt: int, files: Mapping[str, bytes], reward: Reward) -> None:
        """Write an attempt's files in place of any earlier ones, and its event."""
        place = self.attempt_folder(task_id, attempt)
        unfinished = place.with_name(f".{attempt}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        for name, content in files.items():
            (unfinished / name).write_bytes(content)
        (unfinished / "reward.json").write_bytes(reward.model_dump_json(indent=1).encode() + b"\n")
        replaced = place.with_name(f".{attempt}.replaced.unfinished")
        if place.exists():
            # Removing file by file would show half an attempt to whoever is killed or reads in between.
            place.replace(replaced)
        unfinished.replace(place)
        shutil.rmtree(replaced, ignore_errors=True)
        self.append("attempt", task_id=task_id, attempt=attempt, valid=reward.valid, resolved=reward.resolved)
        with self._events:
            self.finished[(task_id, attempt)] = reward.valid

    def close(self) -> None:
        self._lock.release()

    def __enter__(self) -> "RunStore":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def read_request(folder: Path) -> RunRequest | None:
    """The run's request; None where the folder holds none. Raises RunConflict where it can't be read."""
    path = folder / "run.json"
    if not path.is_file():
        return None
    try:
        return RunRequest.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise RunConflict(
            f"{path} is no run request ({error.errors()[0]['msg']}): give another --run-id"
        ) from None


def read_events(folder: Path) -> list[dict[str, Any]]:
    """The log's events in order; a last line cut short by a kill is left out."""
    path = folder / "events.jsonl"
    if not path.is_file():
        return []
    events = []
    for line in path.read_bytes().split(b"\n"):
        try:
            event = json.loads(line)
        except ValueError:
            continue  # a torn line: its attempt is found by its folder or done again
        if isinstance(event, dict):
            events.append(event)
    return events


def read_rewards(folder: Path) -> dict[AttemptKey, Reward]:
    """The rewards of all complete attempts."""
    return {
        (path.parent.parent.name, int(path.parent.name)): Reward.model_validate_json(path.read_bytes())
        for path in sorted(folder.glob("*/[0-9]*/reward.json"))
    }


def _ends_in_newline(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
