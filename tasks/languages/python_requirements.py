"""Requirement lines of a Python repository: which files hold them, what they include, which are left out."""

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

TextOf: TypeAlias = Callable[[str], str]
"""Text of a path of the tree, empty where it is not there."""

_REQUIREMENT_FILE = re.compile(
    r"^(?:(?:requirements?|reqs|deps)(?:[/._-].*)?|tests?/requirements?.*|.*[-_.]requirements)\.(?:txt|in|pip)$"
)
_FOR_TESTS = re.compile(r"(?:^|[/._-])(?:tests?|testing|dev|develop|development|ci)(?:[/._-]|$)")
_NOT_FOR_TESTS = re.compile(
    r"(?:^|[/._-])(?:docs?|rtd|lint\w*|style|build|release|publish|optional|bench\w*)(?:[/._-]|$)"
)
# Tools that check style, build documents or publish: a test suite runs without them, and they are most of
# what a development list installs.
_TOOLING = re.compile(
    r"^(?:sphinx(?:$|[-_].*)|sphinxcontrib[-_.].*|furo|shibuya|alabaster|mkdocs.*|pydocstyle|doc8|numpydoc|"
    r"black|flake8.*|ruff|mypy|pyright|pylint|isort|autopep8|yapf|bandit|pre[-_]commit|pep8|pyflakes|pycodestyle|"
    r"tox.*|nox|hatch|build|twine|bump.*version|codecov|coveralls|python-coveralls|zest\.releaser|check-manifest|"
    r"wheel|pip|setuptools|uv|poetry|pdm|flit|invoke|ipython|ipdb|pudb|cogapp|towncrier|commitizen|safety)$",
    re.IGNORECASE,
)
_OLDEST_PYTEST = Version("7.0")


def is_test_requirements(path: str) -> bool:
    lowered = path.lower()
    if lowered.count("/") > 1 or not _REQUIREMENT_FILE.match(lowered):
        return False
    stem = lowered.rsplit(".", 1)[0]
    if _NOT_FOR_TESTS.search(stem):
        return False
    return stem in {"requirements", "requirements/base", "requirements/main"} or bool(_FOR_TESTS.search(stem))


def requirement_lines(path: str, text: TextOf, seen: set[str]) -> list[str]:
    """A requirement file's lines with the files it includes; options are left out, constraints too."""
    if path in seen:
        return []
    seen.add(path)
    folder = path.rpartition("/")[0]
    lines: list[str] = []
    for line in plain_lines(text(path).replace("\\\n", " ")):
        if included := re.match(r"(?:-r|--requirement)[\s=]*(\S+)", line):
            inner = f"{folder}/{included[1]}" if folder else included[1]
            lines += requirement_lines(_normal(inner), text, seen)
        elif not line.startswith("-"):
            lines.append(re.split(r"\s--hash", line)[0].strip())
    return lines


def _normal(path: str) -> str:
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in {".", ".."}:
            parts.append(part)
    return "/".join(parts)


def cleaned(lines: Iterable[str]) -> Iterable[str]:
    """Lines that pip can take from an index: tooling dropped, a pytest too old for Python 3.11 unpinned."""
    for line in lines:
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        if _TOOLING.match(requirement.name) or requirement.url:
            continue
        if requirement.name.lower() == "pytest" and _caps_below(requirement, _OLDEST_PYTEST):
            requirement.specifier = type(requirement.specifier)()
        yield str(requirement)


def _caps_below(requirement: Requirement, oldest: Version) -> bool:
    """True where no release from `oldest` on can satisfy the requirement."""
    return any(
        spec.operator in {"==", "<", "<=", "~=", "==="} and _version(spec.version) < oldest
        for spec in requirement.specifier
    )


def _version(text: str) -> Version:
    try:
        return Version(text.removesuffix(".*"))
    except InvalidVersion:
        return Version("0")


def plain_lines(block: str) -> list[str]:
    stripped = (re.sub(r"(^|\s)#.*$", "", line).strip() for line in block.splitlines())
    return [line for line in stripped if line]
