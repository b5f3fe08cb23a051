"""Patches made elsewhere: a line each, one list, or one object by instance id."""

import json
from pathlib import Path
from typing import Any


class BadPredictions(ValueError):
    """A predictions file that can't be read, with the place at fault."""


def load_predictions(path: Path) -> tuple[str, dict[str, str | None]]:
    """The model's name, empty where the predictions name none or several, and instance id to patch.

    Raises BadPredictions with one sentence.
    """
    if not path.is_file():
        raise BadPredictions(
            f"{path} is not a file: give predictions as JSON lines, a JSON list or a JSON object"
        )
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    patches: dict[str, str | None] = {}
    models: set[str] = set()
    for place, entry in _entries(path, text):
        if not isinstance(entry, dict) or not isinstance(entry.get("instance_id"), str):
            raise BadPredictions(f"{path}, {place}: a prediction is an object with an instance_id")
        patch = entry.get("model_patch")
        if patch is not None and not isinstance(patch, str):
            raise BadPredictions(f"{path}, {place}: model_patch is text or null, not {type(patch).__name__}")
        if entry["instance_id"] in patches:
            raise BadPredictions(f"{path}, {place}: {entry['instance_id']} was predicted already")
        patches[entry["instance_id"]] = patch
        models.add(str(entry.get("model_name_or_path") or ""))
    if not patches:
        raise BadPredictions(f"{path} holds no prediction")
    return models.pop() if len(models) == 1 else "", patches


def _entries(path: Path, text: str) -> list[tuple[str, Any]]:
    try:
        whole = json.loads(text)
    except ValueError:
        return [
            (f"line {number}", _line(path, number, line))
            for number, line in enumerate(text.splitlines(), start=1)
            if line.strip()
        ]
    if isinstance(whole, list):
        return [(f"entry {number}", entry) for number, entry in enumerate(whole, start=1)]
    if isinstance(whole, dict) and "instance_id" not in whole:
        return [(f"entry {name}", _named(name, entry)) for name, entry in whole.items()]
    return [("line 1", whole)]


def _named(name: str, entry: Any) -> Any:
    """An entry of an object by id: the id may be left out of it, and the patch may stand alone."""
    if isinstance(entry, str) or entry is None:
        return {"instance_id": name, "model_patch": entry}
    return {"instance_id": name, **entry} if isinstance(entry, dict) else entry


def _line(path: Path, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise BadPredictions(f"{path}, line {number}: not JSON ({error})") from None
