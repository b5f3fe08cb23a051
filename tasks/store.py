"""Task files: one Task a line, JSON."""

import json
import os
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from tasks.task import TASK_ADAPTER, DeckTask, PatchTask, QuestionTask

AnyTask = PatchTask | DeckTask | QuestionTask


class BadTaskFile(ValueError):
    """A task file that can't be read, with the line at fault."""


def load_tasks(path: Path) -> list[AnyTask]:
    """Every task of the file, in order. Raises BadTaskFile naming the first line that is none."""
    try:
        content = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise BadTaskFile(f"{path} is not a file: give the tasks.jsonl that `patchdeck mine` wrote") from None
    tasks: list[AnyTask] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        task = _task(path, number, line)
        if task.id in seen:
            raise BadTaskFile(f"{path}, line {number}: task {task.id} stands on line {seen[task.id]} already")
        seen[task.id] = number
        tasks.append(task)
    return tasks


def _task(path: Path, number: int, line: bytes) -> AnyTask:
    try:
        return TASK_ADAPTER.validate_python(json.loads(line), strict=False)
    except UnicodeDecodeError:
        raise BadTaskFile(f"{path}, line {number}: not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise BadTaskFile(f"{path}, line {number}: not JSON ({error.msg} at column {error.colno})") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the line"
        raise BadTaskFile(f"{path}, line {number}: not a task: {where}: {first['msg']}") from None


def dump(task: AnyTask) -> bytes:
    """The task as its line, newline included."""
    return json.dumps(task.model_dump(mode="json"), ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def append_task(path: Path, task: AnyTask) -> bool:
    """Append the task unless its id is there; True where it was. A last line cut short is dropped first."""
    return append_tasks(path, [task]) == 1


def append_tasks(path: Path, tasks: Iterable[AnyTask]) -> int:
    """Append those whose id is not there yet; returns how many."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        content = path.read_bytes()
        if content and not content.endswith(b"\n"):
            # A writer killed in mid-line leaves no newline; what it was writing is written again.
            with path.open("r+b") as file:
                file.truncate(content.rfind(b"\n") + 1)
    present = {task.id for task in load_tasks(path)} if path.exists() else set()
    fresh = [task for task in tasks if task.id not in present]
    if fresh or not path.exists():
        with path.open("ab") as file:
            file.write(b"".join(dump(task) for task in fresh))
    return len(fresh)


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the name, then rename: a reader sees the old content or the new one, never a part."""
    draft = path.with_name(f".{path.name}.part")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
