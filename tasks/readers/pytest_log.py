"""pytest's terminal output to the status of every test, for runs that left no structured report.

Three places name a test with its status: the short summary (`-rA`), the verbose line (`id STATUS [ 50%]`)
and xdist's line (`[gw0] [ 66%] STATUS id`). Captured output may print anything, so sections that show it are
passed over; a summary line wins over a progress line.
"""

import re

from tasks.testrun import TestStatus

_STATUS: dict[str, TestStatus] = {
    "PASSED": "PASS",
    "FAILED": "FAIL",
    "ERROR": "ERROR",
    "SKIPPED": "SKIP",
    "XFAIL": "XFAIL",
    "XPASS": "XPASS",
}
_WORD = "|".join(_STATUS)
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_SECTION = re.compile(r"^=+ (?P<title>.+?) =+$")
_SUMMARY = re.compile(rf"^(?P<status>{_WORD}) (?P<rest>\S.*)$")
_XDIST = re.compile(rf"^\[gw\d+\] \[ *\d+%\] (?P<status>{_WORD}) (?P<id>\S.*?)\s*$")
_VERBOSE = re.compile(rf"^(?P<id>\S.*?::.+?) (?P<status>{_WORD})(?: \(.*\))?(?: +\[ *\d+%\])?\s*$")
# Between these titles pytest shows tracebacks and captured output, which can hold any text.
_QUOTING = frozenset({"PASSES", "FAILURES", "ERRORS", "XFAILURES", "XPASSES", "warnings summary"})


def parse(log: str) -> dict[str, TestStatus]:
    """Status by node id. Ids may hold spaces and ` - ` inside brackets."""
    progress: dict[str, TestStatus] = {}
    summary: dict[str, TestStatus] = {}
    section = ""
    for raw in log.splitlines():
        line = _ANSI.sub("", raw).rstrip("\r")
        if title := _SECTION.match(line):
            section = title["title"]
            continue
        if section in _QUOTING:
            continue
        if section == "short test summary info":
            if (found := _SUMMARY.match(line)) and (identity := _without_reason(found["rest"])):
                summary[identity] = _STATUS[found["status"]]
        elif found := _XDIST.match(line) or _VERBOSE.match(line):
            progress[found["id"]] = _STATUS[found["status"]]
    return {**progress, **summary}


def _without_reason(rest: str) -> str | None:
    """The node id that a summary line starts with; None for a file or a count (`[2] path:3:`)."""
    if "::" not in rest or rest.startswith("["):
        return None
    depth = 0
    for position, character in enumerate(rest):
        if character == "[":
            depth += 1
        elif character == "]":
            depth = max(depth - 1, 0)
        elif depth == 0 and rest.startswith(" - ", position):
            return rest[:position]
    # A bracket inside a parameter that never closes: the last plausible end is the best there is.
    return rest.split("] - ", 1)[0] + "]" if depth and "] - " in rest else rest
