"""The texts that the model continues or weighs: issue and tests first, then the function up to a line.

Texts about one function begin alike, so that an endpoint that computes shared beginnings once does little
more than the changed lines of each.
"""

from bisect import bisect_right

from harness.agents.pipeline.locate import Location, Suspect
from harness.agents.pipeline.source import Candidate, Module, apply_edits

ISSUE_CHARS = 300
TEST_CHARS = 400
LINES_SHOWN = 50
STRIDE = 30
LINES_AFTER = 2
MAX_CHANGED_LINES = 14


def preamble(location: Location, instruction: str) -> str:
    """What all prompts about one task share: the issue as a comment, then the failing tests."""
    issue = " ".join(instruction.split())[:ISSUE_CHARS]
    wrapped = [issue[i : i + 100] for i in range(0, len(issue), 100)]
    text = "".join(
        f"# {line.strip()}\n" for line in ["Issue: " + (wrapped[0] if wrapped else ""), *wrapped[1:]]
    )
    if location.test_source:
        text += f"\n# Tests\n{location.test_source[:TEST_CHARS].rstrip()}\n"
    return text


def start_line(suspect: Suspect, line: int) -> int:
    """Where the shown code begins for a change at `line`: one place for many lines, to be shared."""
    first = suspect.function.first
    behind = line - first
    return first if behind <= LINES_SHOWN else first + behind // STRIDE * STRIDE - STRIDE // 2


def head(suspect: Suspect, module: Module, line: int) -> str:
    """The function's lines before the given one, its class named, long beginnings left out."""
    function = suspect.function
    start = start_line(suspect, line)
    text = f"\n# Fixed code of {function.path}\n"
    if function.owner is not None:
        text += module.line_text(function.owner.lineno).rstrip("\r\n") + "\n"
    if start > function.first:
        text += module.line_text(function.first) + "        ...\n"
    return text + lines(module, start, line - 1)


def lines(module: Module, first: int, last: int) -> str:
    """Lines first to last, both 1-based and included; "" where there are none."""
    return "".join(module.line_text(n) for n in range(first, last + 1))


def touched(module: Module, candidate: Candidate) -> tuple[int, int]:
    """First line that the candidate changes and the last one (before the first for a pure insertion)."""
    start, end = min(e.start for e in candidate.edits), max(e.end for e in candidate.edits)
    first = line_of(module, start)
    last = (
        first - 1
        if end == start and start == module.starts[first - 1]
        else line_of(module, max(start, end - 1))
    )
    return first, last


def line_of(module: Module, offset: int) -> int:
    """1-based line that holds the byte; one past the last line for the file's end."""
    return bisect_right(module.starts, offset)


def after(module: Module, last: int, limit: int) -> int:
    """The line up to which the text after a change is weighed: LINES_AFTER lines that aren't blank."""
    line, seen = last, 0
    while seen < LINES_AFTER and line < limit:
        line += 1
        seen += bool(module.line_text(line).strip())
    return line


def changed_text(module: Module, candidate: Candidate, first: int, end_line: int) -> str:
    """The edited file's text from the start of line `first` to the end of (old) line end_line."""
    start, end = module.starts[first - 1], module.starts[min(end_line, len(module.lines))]
    shifted = tuple(
        type(e)(e.start - start, e.end - start, e.text)
        for e in candidate.edits
        if start <= e.start and e.end <= end
    )
    return apply_edits(module.raw[start:end], shifted).decode("utf-8", "replace")
