"""What a Python repository itself declares that its tests need: extras, groups and requirement files.

Sources: PEP 621 and 735, setup.cfg, setup.py (read, never run), poetry, hatch, flit, pdm and uv tables,
tox.ini, requirement files.
"""

import ast
import configparser
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from tasks.languages.language import ReadFile
from tasks.languages.python_requirements import (
    TextOf,
    cleaned,
    is_test_requirements,
    plain_lines,
    requirement_lines,
)

Toml: TypeAlias = "dict[str, Toml] | list[Toml] | str | int | float | bool"

_TEST_WORDS = frozenset(
    {"test", "tests", "testing", "dev", "develop", "development", "pytest", "unittest", "unittests", "ci"}
)


@dataclass(frozen=True)
class Declared:
    """What the tests need. extras are only those whose contents setup.py does not spell out."""

    installable: bool
    extras: tuple[str, ...]
    requirements: tuple[str, ...]
    build_requirements: tuple[str, ...]
    paths: tuple[str, ...]


def declared(paths: list[str], read: ReadFile) -> Declared:
    """Everything the tree declares for its tests, in a stable order, tooling left out."""
    present = set(paths)
    used: list[str] = []
    extras: list[str] = []
    lines: list[str] = []
    build: list[str] = []

    def text(path: str) -> str:
        content = read(path) if path in present else None
        if content is None:
            return ""
        used.append(path)
        return content.decode("utf-8", "replace")

    project = _toml(text("pyproject.toml"))
    build += _strings(_table(project, "build-system").get("requires"))
    lines += _from_pyproject(project)
    setup_cfg = _ini(text("setup.cfg"))
    extras_cfg = setup_cfg.get("options.extras_require", {})
    lines += [line for name in _test_words(extras_cfg) for line in plain_lines(extras_cfg[name])]
    lines += plain_lines(setup_cfg.get("options", {}).get("tests_require", ""))
    extras_py, lines_py = _from_setup_py(text("setup.py"))
    extras += extras_py
    lines += lines_py
    lines += _from_tox(_ini(text("tox.ini")), text)
    for path in sorted(p for p in paths if is_test_requirements(p)):
        lines += requirement_lines(path, text, set())
    return Declared(
        installable="setup.py" in present or _is_installable(project, setup_cfg),
        extras=tuple(sorted(set(extras))),
        requirements=tuple(dict.fromkeys(cleaned(lines))),
        build_requirements=tuple(dict.fromkeys(build)),
        paths=tuple(dict.fromkeys(used)),
    )


def _is_installable(project: dict[str, Toml], setup_cfg: dict[str, dict[str, str]]) -> bool:
    tools = _table(project, "tool")
    return (
        "project" in project
        or "build-system" in project
        or "poetry" in tools
        or "flit" in tools
        or "name" in setup_cfg.get("metadata", {})
    )


def _from_pyproject(project: dict[str, Toml]) -> list[str]:
    lines = _own_extras(project)
    groups = _table(project, "dependency-groups")
    for name in _test_words(groups):
        lines += _group(groups, name, set())
    tools = _table(project, "tool")
    poetry = _table(tools, "poetry")
    lines += _poetry(_table(poetry, "dev-dependencies"))
    for name in _test_words(_table(poetry, "group")):
        lines += _poetry(_table(poetry, "group", name, "dependencies"))
    for name in ("default", "test", "tests", "dev", "hatch-test"):
        environment = _table(tools, "hatch", "envs", name)
        lines += _strings(environment.get("dependencies")) + _strings(environment.get("extra-dependencies"))
    flit = _table(tools, "flit", "metadata")
    lines += _strings(flit.get("dev-requires"))
    for name in _test_words(_table(flit, "requires-extra")):
        lines += _strings(_table(flit, "requires-extra").get(name))
    for name in _test_words(_table(tools, "pdm", "dev-dependencies")):
        lines += _strings(_table(tools, "pdm", "dev-dependencies").get(name))
    return lines + _strings(_table(tools, "uv").get("dev-dependencies"))


def _own_extras(project: dict[str, Toml]) -> list[str]:
    """Lines of the test extras; an extra that names others of the same project is followed."""
    extras = _table(project, "project", "optional-dependencies")
    own = _canonical(project)
    lines: list[str] = []
    waiting, seen = _test_words(extras), set[str]()
    while waiting:
        name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        for line in _strings(extras.get(name)):
            reference = re.fullmatch(r"([\w.-]+)\s*\[([\w\s,.-]+)\]", line.strip())
            if reference and own == re.sub(r"[-_.]+", "-", reference[1]).lower():
                waiting += [extra.strip() for extra in reference[2].split(",")]
            else:
                lines.append(line)
    return lines


def _canonical(project: dict[str, Toml]) -> str:
    return re.sub(r"[-_.]+", "-", str(_table(project, "project").get("name", ""))).lower()


def _group(groups: dict[str, Toml], name: str, seen: set[str]) -> list[str]:
    """A PEP 735 group with the groups it includes."""
    if name in seen:
        return []
    seen.add(name)
    lines: list[str] = []
    entries = groups.get(name)
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, str):
            lines.append(entry)
        elif isinstance(entry, dict) and isinstance(included := entry.get("include-group"), str):
            lines += _group(groups, included, seen)
    return lines


def _poetry(table: dict[str, Toml]) -> list[str]:
    """Poetry's table of constraints as PEP 508 lines."""
    lines = []
    for name, wanted in table.items():
        if name.lower() == "python":
            continue
        constraint = wanted.get("version", "*") if isinstance(wanted, dict) else wanted
        if isinstance(wanted, dict) and ({"path", "git", "url"} & wanted.keys() or wanted.get("optional")):
            continue
        extras = ",".join(_strings(wanted.get("extras"))) if isinstance(wanted, dict) else ""
        if isinstance(constraint, str):
            lines.append(f"{name}{f'[{extras}]' if extras else ''}{_pep440(constraint)}")
    return lines


def _pep440(constraint: str) -> str:
    """Poetry's caret, tilde and wildcard constraints in PEP 440's words."""
    clauses = []
    for part in (p.strip() for p in constraint.split(",")):
        if part in {"*", ""}:
            continue
        if part[0] in "^~" and not part.startswith("~="):
            numbers = [int(n) for n in re.findall(r"\d+", part)]
            if not numbers:
                continue
            keep = (
                next((i for i, n in enumerate(numbers) if n), len(numbers) - 1)
                if part[0] == "^"
                else min(1, len(numbers) - 1)
            )
            upper = [*numbers[:keep], numbers[keep] + 1]
            clauses += [f">={part[1:].strip()}", "<" + ".".join(map(str, upper))]
        elif part[0].isdigit():
            clauses.append(f"=={part}")
        else:
            clauses.append(part)
    return ",".join(clauses)


def _from_setup_py(source: str) -> tuple[list[str], list[str]]:
    """(test extras that setup.py makes up as it runs, requirement lines that it spells out)."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return [], []
    known: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            known[node.targets[0].id] = node.value

    def value(node: ast.expr) -> object:
        try:
            return ast.literal_eval(known.get(node.id, node) if isinstance(node, ast.Name) else node)
        except (ValueError, TypeError, SyntaxError):
            return None

    extras: list[str] = []
    required: list[str] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.keyword):
            continue
        if node.arg == "tests_require":
            required += _spelled(value(node.value)) or []
        elif node.arg == "extras_require":
            shown = known.get(node.value.id) if isinstance(node.value, ast.Name) else node.value
            if not isinstance(shown, ast.Dict):
                continue
            for key, entry in zip(shown.keys, shown.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and _test_words([key.value]):
                    lines = _spelled(value(entry))
                    if lines is None:
                        extras.append(key.value)
                    else:
                        required += lines
    return extras, required


def _spelled(found: object) -> list[str] | None:
    if isinstance(found, list | tuple):
        return [str(entry) for entry in found]
    return plain_lines(found) if isinstance(found, str) else None


def _from_tox(tox: dict[str, dict[str, str]], text: TextOf) -> list[str]:
    lines = []
    for line in plain_lines(tox.get("testenv", {}).get("deps", "")):
        if reference := re.fullmatch(r"\{\[(.+?)\](\w+)\}", line):
            lines += plain_lines(tox.get(reference[1], {}).get(reference[2], ""))
        elif included := re.match(r"-r\s*(?:\{toxinidir\}/)?(\S+)", line):
            lines += requirement_lines(included[1], text, set())
        elif not re.match(r"[\w!,{}-]+\s*:", line) and "{" not in line:
            lines.append(line)
    return lines


def _test_words(names: Iterable[str]) -> list[str]:
    return [name for name in names if name.lower() in _TEST_WORDS]


def _strings(value: "Toml | None") -> list[str]:
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


def _table(value: dict[str, Toml], *keys: str) -> dict[str, Toml]:
    for key in keys:
        inner = value.get(key)
        if not isinstance(inner, dict):
            return {}
        value = inner
    return value


def _toml(text: str) -> dict[str, Toml]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def _ini(text: str) -> dict[str, dict[str, str]]:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return {}
    return {name: dict(parser.items(name)) for name in parser.sections()}
