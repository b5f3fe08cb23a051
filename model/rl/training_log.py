"""The training log: one JSON object a line, appended beside the checkpoint."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

LOG_FILE = "training.jsonl"

Event = Literal["start", "step", "end", "nothing_to_learn"]
Value = str | float | int | None | dict[str, int]


class TrainingLog:
    """Appends events; a training that is killed leaves the lines written so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)

    def write(self, event: Event, **values: Value) -> None:
        line = json.dumps({"event": event, "at": datetime.now(UTC).isoformat(), **values}, allow_nan=False)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
