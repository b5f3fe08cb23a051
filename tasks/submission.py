"""Lay a submitted patch onto the tree in a sandbox, by what git made of it and not by what its text says."""

import posixpath
from dataclasses import dataclass

from sandboxes.sandbox import ExecResult, Sandbox, SandboxFault
from tasks.git import patch_paths
from tasks.instances import AGENT, WORKDIR
from tasks.languages.language import Language
from tasks.patches import UnreadablePatch, read_patch
from tasks.task import PatchTask

_GIT_TIMEOUT_S = 120.0
_SYMLINK, _SUBMODULE, _GONE = "120000", "160000", "000000"


@dataclass(frozen=True)
class Change:
    """One path that the patch changed: modes as git prints them, 000000 where it is not there."""

    path: str
    old_mode: str
    new_mode: str
    new_blob: str


@dataclass(frozen=True)
class Laid:
    """What became of a submission. error is empty where it applied."""

    error: str = ""
    touched: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    parses: bool = True


def lay_submission(sandbox: Sandbox, task: PatchTask, patch: str | None, language: Language) -> Laid:
    """Apply the patch, then put every protected path back as it was at the base commit.

    A path is protected where the language says so or the task's tests hold it, unless the gold source change
    touches it too. Raises SandboxFault.
    """
    try:
        submitted = read_patch(patch)
    except UnreadablePatch as error:
        return Laid(error=str(error))
    if not submitted.text:
        return Laid(dropped=submitted.dropped)
    if reason := _apply(sandbox, submitted.text):
        return Laid(error=reason)
    changes = _changes(sandbox)
    if reason := _forbidden(sandbox, changes):
        return Laid(error=reason)
    dropped = _drop(sandbox, task, language, changes)
    kept = [change for change in changes if change.path not in dropped]
    return Laid(
        touched=tuple(sorted(change.path for change in kept)),
        dropped=tuple(sorted({*dropped, *submitted.dropped})),
        parses=all(_parses(sandbox, language, change) for change in kept),
    )


def lay_tests(sandbox: Sandbox, task: PatchTask) -> None:
    """The task's own tests onto the tree. Raises SandboxFault where they do not fit the image."""
    if not task.oracle.test_patch:
        return
    if error := _apply(sandbox, task.oracle.test_patch):
        raise SandboxFault(f"the tests of {task.id} do not apply to image {task.environment.image}: {error}")


def _apply(sandbox: Sandbox, text: str) -> str:
    """Empty where the patch went in; else git's reason for the plain attempt."""
    # The tree was laid down anew, so what the index remembers of its files' times and inodes is stale.
    _git(sandbox, "update-index", "-q", "--refresh", check=False)
    # Models leave out context at a hunk's end, which git takes for the file's end unless told otherwise.
    attempts = [(), ("--unidiff-zero",)]
    # Plain `diff -u old new` has no a/ and b/ in front.
    if "diff --git" not in text:
        attempts.append(("-p0",))
    reasons = []
    for options in attempts:
        done = _git(
            sandbox, "apply", *options, "--index", "--whitespace=nowarn", "-", stdin=text, check=False
        )
        if done.exit_code == 0:
            return ""
        reasons.append(done.text)
    said = reasons[0]
    lines = [line.removeprefix("error: ") for line in said.splitlines() if line.startswith("error: ")]
    return "; ".join(lines[:3]) or said.strip()[:300] or "git apply failed"


def _changes(sandbox: Sandbox) -> list[Change]:
    raw = _git(sandbox, "diff", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "HEAD").output
    records = raw.decode("utf-8", "surrogateescape").split("\0")
    changes = []
    for head, path in zip(records[::2], records[1::2], strict=False):
        old_mode, new_mode, _, new_blob, _ = head.removeprefix(":").split(" ")
        changes.append(Change(path, old_mode, new_mode, new_blob))
    return changes


def _forbidden(sandbox: Sandbox, changes: list[Change]) -> str:
    """Why the change as a whole is refused, or empty."""
    for change in changes:
        if change.new_mode == _SUBMODULE:
            return f"{change.path}: submodules are not accepted"
        if change.new_mode == _SYMLINK:
            target = _git(sandbox, "cat-file", "blob", change.new_blob).text
            landing = posixpath.normpath(posixpath.join(posixpath.dirname(change.path), target))
            if target.startswith("/") or landing == ".." or landing.startswith("../") or "\0" in target:
                return f"{change.path}: a symbolic link out of the tree (to {target!r}) is not accepted"
            if landing.split("/", 1)[0] == ".git":
                return f"{change.path}: a symbolic link into .git is not accepted"
    return ""


def _drop(sandbox: Sandbox, task: PatchTask, language: Language, changes: list[Change]) -> set[str]:
    """Put protected paths back; returns those that were put back."""
    tests = set(task.tests.files)
    gold = {path for path in patch_paths(task.oracle.gold_patch) if not language.is_test_path(path)}
    listing = _git(sandbox, "ls-tree", "-r", "-z", "--name-only", "HEAD").output.decode(
        "utf-8", "surrogateescape"
    )
    base = {path for path in listing.split("\0") if path}
    guarded = {path for path in base if language.is_protected(path)} | tests
    # A file or link put where a folder of tests stands takes the whole folder away.
    folders = {parent for path in guarded for parent in _parents(path)}

    def protected(path: str) -> bool:
        if path in tests or path in folders:
            return True
        planted = path not in base and language.shadows_runtime(path)
        return (planted or language.is_protected(path)) and path not in gold

    dropped = [change for change in changes if protected(change.path)]
    planted = [change.path for change in dropped if change.old_mode == _GONE]
    stood = [change.path for change in dropped if change.old_mode != _GONE]
    if planted:
        _git_paths(sandbox, planted, "rm", "-q", "-f")
    if stood:
        _git_paths(sandbox, stood, "checkout", "-q", "HEAD")
    return {change.path for change in dropped}


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _parses(sandbox: Sandbox, language: Language, change: Change) -> bool:
    if change.new_mode in {_GONE, _SYMLINK} or not language.is_source(change.path):
        return True
    return language.parses(change.path, _git(sandbox, "cat-file", "blob", change.new_blob).output)


def _git_paths(sandbox: Sandbox, paths: list[str], *arguments: str) -> None:
    listed = "\0".join(paths)
    _git(
        sandbox,
        "--literal-pathspecs",
        *arguments,
        "--pathspec-from-file=-",
        "--pathspec-file-nul",
        stdin=listed,
    )


def _git(sandbox: Sandbox, *arguments: str, stdin: str | None = None, check: bool = True) -> ExecResult:
    done = sandbox.exec(
        ["git", "-c", "core.quotePath=false", *arguments],
        timeout_s=_GIT_TIMEOUT_S,
        stdin=None if stdin is None else stdin.encode("utf-8", "surrogateescape"),
        workdir=WORKDIR,
        user=AGENT,
    )
    if done.exit_code is None or (check and done.exit_code != 0):
        raise SandboxFault(f"git {arguments[0]} failed in {sandbox.spec.image}: {done.text.strip()[-300:]}")
    return done
