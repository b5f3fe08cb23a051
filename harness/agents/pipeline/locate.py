"""Locate: which functions, and which of their lines, are worth editing.

Suspicion of a function = 1.0 x the highest Ochiai of its lines + 0.5 x how near it stands to the end of a
failing test's traceback + 0.3 x how much the issue speaks of it + 0.2 where it raises
what they expect. Where no failing test is known, the words of the issue stand, and coverage by tests that it
speaks of takes the place of the Ochiai.
"""

import ast
import posixpath
from dataclasses import dataclass, field

from harness.agents.pipeline.probing import Prober, ProbeReport
from harness.agents.pipeline.source import Function, Module, SourceError
from harness.agents.pipeline.spectrum import line_suspicion
from harness.agents.pipeline.words import overlap, words
from sandboxes.sandbox import Sandbox

MAX_FUNCTIONS = 8
MAX_FILE_BYTES = 400_000
PROBE_SECONDS = 20.0
TEST_SECONDS = 5.0


@dataclass
class Suspect:
    """One function, how suspicious it is, which lines are, and why."""

    function: Function
    score: float
    lines: dict[int, float]
    reasons: list[str]
    chance: float = 0.0
    """share of belief that the defect is here, over the suspects kept; set when they are ranked"""
    failing_kinds: dict[str, set[str]] = field(default_factory=dict)
    """parameter to the kinds of values that failing tests passed"""
    passing_kinds: dict[str, set[str]] = field(default_factory=dict)


@dataclass
class Location:
    """What locating found."""

    suspects: list[Suspect]
    modules: dict[str, Module]
    failing: list[str]
    """ids of failing tests that were seen to fail"""
    baseline: dict[str, str]
    """test id to outcome before any change"""
    report: ProbeReport
    issue: set[str]
    failures: str
    """the failing tests' messages, for people"""
    test_source: str = ""
    """source of the failing tests, as far as it could be read"""
    expected: set[str] = field(default_factory=set)
    """literals and exception names that the failing tests speak of"""


def read_module(sandbox: Sandbox, workdir: str, path: str) -> Module | None:
    """The parsed file; None where it is gone, too large, or can't be edited by span."""
    try:
        raw = sandbox.read(posixpath.join(workdir, path))
        return Module(path, raw) if len(raw) <= MAX_FILE_BYTES else None
    except (FileNotFoundError, SourceError):
        return None


def locate(prober: Prober, failing_tests: tuple[str, ...] | None) -> Location:
    """Run tests under coverage and rank functions. Raises SandboxFault only."""
    task, sandbox = prober.task, prober.sandbox
    first = list(failing_tests or ())
    done = prober.run(
        [],
        timeout_s=3 * PROBE_SECONDS + 60,
        first=first,
        coverage=True,
        test_s=TEST_SECONDS,
        deadline_s=PROBE_SECONDS,
    )
    if done.report is None and first:
        files = sorted({t.split("::")[0] for t in first})
        done = prober.run(
            files,
            timeout_s=3 * PROBE_SECONDS,
            first=first,
            coverage=True,
            test_s=TEST_SECONDS,
            deadline_s=PROBE_SECONDS,
        )
    report = done.report or ProbeReport()
    issue = words(task.instruction)
    failing = [t for t in first if report.results.get(t) is None or report.results[t].outcome != "passed"]
    seen = [t for t in failing if t in report.lines]
    passing = [
        t for t, r in report.results.items() if r.outcome == "passed" and t in report.lines and t not in first
    ]
    if not seen:
        seen = _spoken_of(passing, issue)
        passing = [t for t in passing if t not in seen]
    suspicion = line_suspicion([report.lines[t] for t in seen], [report.lines[t] for t in passing])
    paths = _source_paths(sandbox, task.environment.workdir, report)
    paths = [
        p
        for p in paths
        if prober.language.is_source(p) and posixpath.basename(p) not in ("setup.py", "conftest.py")
    ]
    modules = {p: m for p in paths if (m := read_module(sandbox, task.environment.workdir, p)) is not None}
    near = _traceback_nearness(report, failing)
    suspects = _suspects(modules, suspicion, near, issue)
    location = Location(
        suspects,
        modules,
        failing,
        {t: r.outcome for t, r in report.results.items()},
        report,
        issue,
        "\n".join(f"{t}: {report.results[t].message}" for t in failing if t in report.results)[:2000]
        or "\n".join(report.errors.values())[:2000],
    )
    _read_failing_tests(location, sandbox, task.environment.workdir)
    for suspect in location.suspects:
        _hear_exceptions(suspect, location.expected)
        suspect.failing_kinds = _kinds_seen(suspect, report, seen if failing else [])
        suspect.passing_kinds = _kinds_seen(suspect, report, passing)
    return location


def _spoken_of(tests: list[str], issue: set[str]) -> list[str]:
    """Tests whose names share most words with the issue: what stands in for failing tests that are hidden."""
    scored = [(len(words(t.split("::", 1)[-1]) & issue), t) for t in tests]
    best = max((s for s, _ in scored), default=0)
    return [t for s, t in scored if s == best][:20] if best else []


def _source_paths(sandbox: Sandbox, workdir: str, report: ProbeReport) -> list[str]:
    """Python files that the tests loaded or ran; every tracked one where nothing was measured."""
    covered = {p for files in report.lines.values() for p in files} | set(report.loaded)
    if covered:
        return sorted(p for p in covered if p.endswith(".py"))
    listed = sandbox.exec(["git", "ls-files", "-z", "*.py"], timeout_s=30, workdir=workdir)
    return [p for p in listed.text.split("\0") if p.endswith(".py")][:300] if listed.exit_code == 0 else []


def _traceback_nearness(report: ProbeReport, failing: list[str]) -> dict[tuple[str, int], float]:
    """(path, line) to 1 for the frame where a failing test ended, halved for each frame further out."""
    near: dict[tuple[str, int], float] = {}
    for test in failing:
        record = report.results.get(test)
        for depth, (path, line, _, _) in enumerate(reversed(record.frames if record else [])):
            near[path, line] = max(near.get((path, line), 0.0), 0.5**depth)
    return near


def _suspects(
    modules: dict[str, Module],
    suspicion: dict[tuple[str, int], float],
    near: dict[tuple[str, int], float],
    issue: set[str],
) -> list[Suspect]:
    found: dict[tuple[str, str], Suspect] = {}
    for path, module in modules.items():
        for function in module.functions:
            covered = {
                line: score
                for line in range(function.first, function.last + 1)
                if (score := suspicion.get((path, line), 0.0)) > 0 and module.function_at(line) is function
            }
            if function.name == "<module>":
                continue
            body = "".join(module.line_text(n) for n in range(function.first, function.last + 1))
            spoken = overlap(issue, function.name, body)
            close = max(
                (near.get((path, n), 0.0) for n in range(function.first, function.last + 1)), default=0.0
            )
            highest = max(covered.values(), default=0.0)
            if suspicion and not covered and not close:
                continue
            score = highest + 0.5 * close + 0.3 * spoken
            if score > 0:
                for line in list(covered):
                    covered[line] += 0.5 * near.get((path, line), 0.0)
                reasons = [f"Ochiai {highest:.2f}"] if highest else []
                reasons += [f"traceback {close:.2f}"] if close else []
                reasons += [f"issue words {spoken:.2f}"] if spoken else []
                found[path, f"{function.name}:{function.first}"] = Suspect(function, score, covered, reasons)
    ranked = sorted(found.values(), key=lambda s: (-s.score, s.function.path, s.function.first))
    return ranked[: 3 * MAX_FUNCTIONS]


def _hear_exceptions(suspect: Suspect, expected: set[str]) -> None:
    """A function that raises what the failing tests wait for is likelier, and so is its test for that."""
    for node in ast.walk(suspect.function.node):
        if not isinstance(node, ast.If):
            continue
        for statement in node.body:
            raised = statement.exc if isinstance(statement, ast.Raise) else None
            name = raised.func if isinstance(raised, ast.Call) else raised
            if isinstance(name, ast.Name) and name.id in expected and node.lineno in suspect.lines:
                if "raises what is expected" not in suspect.reasons:
                    suspect.score += 0.2
                    suspect.reasons.append("raises what is expected")
                suspect.lines[node.lineno] *= 1.5


def _kinds_seen(suspect: Suspect, report: ProbeReport, tests: list[str]) -> dict[str, set[str]]:
    node = suspect.function.node
    first = min([suspect.function.first, *(d.lineno for d in getattr(node, "decorator_list", []))])
    seen: dict[str, set[str]] = {}
    for test in tests:
        for key in {f"{suspect.function.path}:{suspect.function.first}", f"{suspect.function.path}:{first}"}:
            for parameter, told in report.calls.get(test, {}).get(key, {}).items():
                seen.setdefault(parameter, set()).update(told)
    return seen


def _read_failing_tests(location: Location, sandbox: Sandbox, workdir: str) -> None:
    """The failing tests' own source, and the literals and exceptions in their assertions."""
    texts: list[str] = []
    for path in dict.fromkeys(t.split("::")[0] for t in location.failing):
        module = read_module(sandbox, workdir, path)
        if module is None:
            continue
        wanted = {t.split("::")[-1].split("[")[0] for t in location.failing if t.startswith(path)}
        for function in module.functions:
            if isinstance(function.node, ast.Module) or function.node.name not in wanted:
                continue
            texts.append("".join(module.line_text(n) for n in range(function.first, function.last + 1)))
            location.expected |= spoken_literals(function.node)
    location.test_source = "\n".join(texts)


def spoken_literals(test: ast.AST) -> set[str]:
    """Literals beside == or in assert calls, and exception names, as Python would print them."""
    found: set[str] = set()
    for node in ast.walk(test):
        values: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            values = node.comparators
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name.startswith(("assert", "raises", "assertRaises")):
                values = node.args
                said = {"assertIsNone": "None", "assertTrue": "True", "assertFalse": "False"}.get(name)
                found |= {said} if said else set()
        elif isinstance(node, ast.Assert) and isinstance(node.test, ast.UnaryOp):
            found.add("False")
        for value in values:
            if isinstance(value, ast.Constant | ast.List | ast.Dict | ast.Tuple) or (
                isinstance(value, ast.Name) and value.id.endswith(("Error", "Exception"))
            ):
                found.add(ast.unparse(value))
    return {text for text in found if len(text) < 40}
