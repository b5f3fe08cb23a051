"""A submitted patch as text: prose and fences off, line ends and hunk counts put right.

Only the text is judged here. Which paths it may touch is decided after git has applied it, by what git did:
a reader of our own could be made to see other paths than git does.
"""

import re
from dataclasses import dataclass

_HUNK = re.compile(
    r"^@@ -(?P<old>\d+)(?:,(?P<old_n>\d+))? \+(?P<new>\d+)(?:,(?P<new_n>\d+))? @@(?P<tail>.*)$"
)
_LOOSE_HUNK = re.compile(r"^@@.*@@")
_EXTENDED = re.compile(
    r"^(?:old mode|new mode|new file mode|deleted file mode|similarity index|dissimilarity index|"
    r"rename from|rename to|copy from|copy to|index) "
)
_BINARY_BODY = re.compile(r"^(?:literal|delta) \d+$|^[A-Za-z][!-~]{1,66}$")
_BARE_BINARY = re.compile(r"^Binary files (?P<old>.+) and (?P<new>.+) differ$")
_BUILT = re.compile(r"(?:^|/)__pycache__/|\.py[co]$|\.egg-info/|(?:^|/)\.pytest_cache/")


class UnreadablePatch(ValueError):
    """The text holds no patch, or one that can't be applied by anybody."""


@dataclass(frozen=True)
class PatchText:
    """A patch that git can read; empty text where nothing is changed."""

    text: str
    dropped: tuple[str, ...] = ()
    """Build products whose binary section had no contents to apply."""


def read_patch(submitted: str | None) -> PatchText:
    """The patch inside what was submitted.

    Raises UnreadablePatch where there is text but no patch in it, or where a binary section carries no
    contents.
    """
    if submitted is None or not submitted.strip():
        return PatchText("")
    lines = submitted.split("\n")
    # Transport turned every line end into CRLF, headers too; a CRLF file's own patch has bare headers.
    if any(_is_header(line) and line.endswith("\r") for line in lines):
        lines = [line.removesuffix("\r") for line in lines]
    out: list[str] = []
    dropped: list[str] = []
    at = 0
    while at < len(lines):
        if not _starts_section(lines, at):
            at += 1
            continue
        section, at, path = _section(lines, at)
        if path is not None:
            dropped.append(path)
        else:
            out += section
    if not out and not dropped:
        raise UnreadablePatch("the submission holds no unified diff")
    return PatchText("\n".join(out) + "\n" if out else "", tuple(dropped))


def _is_header(line: str) -> bool:
    return line.startswith(("diff --git ", "--- ", "+++ ")) or bool(_LOOSE_HUNK.match(line))


def _starts_section(lines: list[str], at: int) -> bool:
    """A `diff --git` line, or the pair `---`, `+++` that stands without one."""
    if lines[at].startswith("diff --git "):
        return True
    return lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")


def _section(lines: list[str], at: int) -> tuple[list[str], int, str | None]:
    """One file's part: (its lines, where it ends, path of a build product to leave out or None)."""
    section: list[str] = []
    header = lines[at]
    if header.startswith("diff --git "):
        section.append(header)
        at += 1
        while at < len(lines) and _EXTENDED.match(lines[at]):
            section.append(lines[at])
            at += 1
    if at < len(lines) and lines[at] == "GIT binary patch":
        body, at = _binary(lines, at)
        return section + body, at, None
    if at < len(lines) and (bare := _BARE_BINARY.match(lines[at])):
        name = bare["new"] if bare["new"] != "/dev/null" else bare["old"]
        path = name.split("/", 1)[-1]
        if _BUILT.search(path):
            return [], at + 1, path
        raise UnreadablePatch(
            f"binary change to {path} has no contents: make the diff with `git diff --binary`"
        )
    if at + 1 < len(lines) and lines[at].startswith("--- ") and lines[at + 1].startswith("+++ "):
        section += [_dated(lines[at]), _dated(lines[at + 1])]
        at += 2
        hunks, at = _hunks(lines, at)
        # A file's pair of names without a hunk is noise that git would refuse.
        section = section + hunks if hunks else section[:-2]
    return section, at, None


def _dated(line: str) -> str:
    """`--- path<TAB>time` as plain diff writes it, without the time: git refuses a broken one."""
    return line.split("\t", 1)[0].rstrip("\r") if "\t" in line else line


def _binary(lines: list[str], at: int) -> tuple[list[str], int]:
    body = [lines[at]]
    at += 1
    while at < len(lines) and (lines[at] == "" or _BINARY_BODY.match(lines[at])):
        body.append(lines[at])
        at += 1
    while body and body[-1] == "":
        body.pop()
    return [*body, ""], at


def _hunks(lines: list[str], at: int) -> tuple[list[str], int]:
    out: list[str] = []
    while at < len(lines) and _LOOSE_HUNK.match(lines[at]):
        head = _HUNK.match(lines[at])
        if head is None:
            raise UnreadablePatch(f"hunk header {lines[at][:60]!r} names no line numbers")
        body, end = _counted_body(lines, at + 1, int(head["old_n"] or 1), int(head["new_n"] or 1))
        if body is None:
            body, end = _open_body(lines, at + 1)
        old = sum(line[0] in " -" for line in body)
        new = sum(line[0] in " +" for line in body)
        if body:
            out.append(f"@@ -{head['old']},{old} +{head['new']},{new} @@{head['tail']}")
            out += body
        at = end
    return out, at


def _counted_body(lines: list[str], at: int, old: int, new: int) -> tuple[list[str] | None, int]:
    """The body that the header's counts announce; None where the lines do not bear them out."""
    body: list[str] = []
    while old > 0 or new > 0:
        if at >= len(lines):
            return None, at
        line = lines[at] or " "
        if line[0] == "\\":
            body.append(line)
            at += 1
            continue
        if line == "\r":
            line = " \r"
        if line[0] not in " +-":
            return None, at
        old -= line[0] in " -"
        new -= line[0] in " +"
        if old < 0 or new < 0:
            return None, at
        body.append(line)
        at += 1
    while at < len(lines) and lines[at].startswith("\\"):
        body.append(lines[at])
        at += 1
    follows = lines[at] if at < len(lines) else ""
    # More hunk lines after the announced end: the counts are wrong, unless a mail signature stands there.
    if (
        follows[:1] in {"+", "-", " "}
        and follows
        and follows.rstrip() != "--"
        and not _starts_section(lines, at)
    ):
        return None, at
    return body, at


def _open_body(lines: list[str], at: int) -> tuple[list[str], int]:
    """The body by its look, where the counts are wrong: up to a header or a line that is no hunk line."""
    body: list[str] = []
    while at < len(lines):
        line = lines[at]
        if _starts_section(lines, at) or _LOOSE_HUNK.match(line) or line.rstrip() == "--":
            break
        if line and line[0] not in " +-\\":
            break
        body.append(line)
        at += 1
    # Blank lines after the last hunk are the message's, not the file's.
    while body and not body[-1]:
        body.pop()
    return [line or " " for line in body], at
