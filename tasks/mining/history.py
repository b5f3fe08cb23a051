"""A history's candidates: commits that change tests and source together, newest first."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tasks.git import Repository
from tasks.languages.language import Language

FIX_WORDED = re.compile(r"\b(fix(e[sd])?|bug(fix)?|regression)\b", re.IGNORECASE)
_DOCUMENTATION = frozenset({"doc", "docs", "documentation"})


@dataclass(frozen=True)
class Commit:
    """One commit and the paths it changed against its first parent (none are listed for a merge)."""

    id: str
    parents: tuple[str, ...]
    committed_at: str
    """ISO 8601 with zone."""
    subject: str
    paths: tuple[str, ...]


@dataclass(frozen=True)
class Candidate:
    """A commit whose change splits into a source part and a test part."""

    commit: Commit
    source_paths: tuple[str, ...]
    test_paths: tuple[str, ...]


def commits(repository: Repository, *, since: str | None = None) -> Iterator[Commit]:
    """Every commit reachable from HEAD, newest first, in one pass of `git log --raw`."""
    arguments = ["log", "--raw", "-z", "--no-renames", "--no-abbrev", "--format=%H%x09%P%x09%cI%x09%s"]
    if since:
        arguments.append(f"--since={since}")
    with repository.lines(*arguments, "HEAD") as records:
        header: list[str] | None = None
        paths: list[str] = []
        path_follows = False
        for record in records:
            text = record.decode("utf-8", "surrogateescape")
            if path_follows:
                paths.append(text)
                path_follows = False
            elif text.lstrip("\n").startswith(":"):
                path_follows = True
            elif text:
                if header is not None:
                    yield _commit(header, paths)
                header, paths = text.split("\t", 3), []
        if header is not None:
            yield _commit(header, paths)


def _commit(header: list[str], paths: list[str]) -> Commit:
    identity, parents, moment, subject = header
    return Commit(identity, tuple(parents.split()), moment, subject, tuple(paths))


def as_candidate(commit: Commit, language: Language, *, fix_worded: bool) -> Candidate | None:
    """The commit as a candidate, or None: a merge, a root, not worded as a fix, only tests, only source."""
    if len(commit.parents) != 1 or (fix_worded and not FIX_WORDED.search(commit.subject)):
        return None
    tests = tuple(p for p in commit.paths if language.is_test_path(p))
    source = tuple(p for p in commit.paths if not language.is_test_path(p))
    if not tests or not any(language.is_source(p) and not in_documentation(p) for p in source):
        return None
    return Candidate(commit, source, tests)


def in_documentation(path: str) -> bool:
    return any(part.lower() in _DOCUMENTATION for part in path.split("/")[:-1])
