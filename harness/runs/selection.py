"""Which of a file's tasks a run is about."""

import hashlib
import re
from pathlib import Path

from tasks.store import BadTaskFile, load_tasks
from tasks.task import PatchTask

SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+@-]{0,200}")
RESERVED = frozenset({"decks", "experience", "training"})
"""folders of a run that aren't tasks"""


def select_tasks(path: Path, instance_ids: str) -> tuple[dict[str, PatchTask], str]:
    """The patch tasks asked for by id (comma-separated; "": all), and the SHA-256 of the whole file.

    Raises BadTaskFile where the file or an id does not do.
    """
    loaded = {task.id: task for task in load_tasks(path) if isinstance(task, PatchTask)}
    if not loaded:
        raise BadTaskFile(f"{path} holds no task to repair: mine some with `patchdeck mine`")
    for name in loaded:
        if not SAFE_ID.fullmatch(name) or name in RESERVED:
            raise BadTaskFile(f"{path}: {name!r} can't name a folder of a run: give the task another id")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if not instance_ids:
        return loaded, digest
    wanted = [name.strip() for name in instance_ids.split(",") if name.strip()]
    missing = [name for name in wanted if name not in loaded]
    if missing:
        raise BadTaskFile(f"{path} has no task {missing[0]}: its tasks are {', '.join(list(loaded)[:5])} …")
    return {name: loaded[name] for name in wanted}, digest
