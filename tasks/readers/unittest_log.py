"""Output of `python -m unittest -v` to the status of every test, by dotted name."""

import re

from tasks.testrun import TestStatus

_STATUS: dict[str, TestStatus] = {
    "ok": "PASS",
    "FAIL": "FAIL",
    "ERROR": "ERROR",
    "expected failure": "XFAIL",
    "unexpected success": "XPASS",
}
_HEAD = re.compile(r"^(?P<method>\w+) \((?P<where>[\w.]+)\)(?P<tail>.*)$")
_END = re.compile(r"(?:^| )\.\.\. (?P<word>ok|FAIL|ERROR|expected failure|unexpected success|skipped\b.*)$")
_BARE = re.compile(r"^(?P<word>ok|FAIL|ERROR|expected failure|unexpected success|skipped\b.*)$")
_RULE = re.compile(r"^={20,}$")


def parse(log: str) -> dict[str, TestStatus]:
    """Status by name; a docstring or output printed under the name belongs to that test."""
    results: dict[str, TestStatus] = {}
    waiting: str | None = None
    for line in log.splitlines():
        if _RULE.match(line):
            break  # what follows are tracebacks, with the same heads again
        if head := _HEAD.match(line):
            where = head["where"]
            waiting = where if where.rsplit(".", 1)[-1] == head["method"] else f"{where}.{head['method']}"
        if waiting and (end := _END.search(line) or _BARE.match(line)):
            word = end["word"]
            results[waiting] = "SKIP" if word.startswith("skipped") else _STATUS[word]
            waiting = None
    return results
