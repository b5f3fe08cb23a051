"""A unified diff as lines with a class each, for colouring."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

LineKind = Literal["file", "hunk", "add", "del", "context"]


@dataclass(frozen=True)
class DiffLine:
    kind: LineKind
    text: str


def diff_lines(patch: str, *, limit: int = 600) -> Iterator[DiffLine]:
    """The patch's lines, at most limit of them, with a last line that says how many were left out."""
    lines = patch.splitlines()
    for line in lines[:limit]:
        yield DiffLine(_kind(line), line)
    if len(lines) > limit:
        yield DiffLine("hunk", f"… {len(lines) - limit:,} lines left out: the whole is in patch.diff …")


def _kind(line: str) -> LineKind:
    if line.startswith(
        ("diff --git", "index ", "--- ", "+++ ", "new file", "deleted file", "rename ", "similarity ")
    ):
        return "file"
    if line.startswith("@@"):
        return "hunk"
    return {"+": "add", "-": "del"}.get(line[:1], "context")  # type: ignore[return-value]
