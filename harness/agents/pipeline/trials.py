"""Test: the best candidates tried in the sandbox, a few to a command, until one passes everything."""

import base64
import json
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pydantic import BaseModel, Field, ValidationError

from harness.agents.pipeline.candidates import Scored, whole_file
from harness.agents.pipeline.locate import Location
from harness.agents.pipeline.probing import FOLDER, Prober

BATCH = 20


class RunTold(BaseModel):
    timed_out: bool = False
    outcomes: dict[str, str] | None = None
    messages: dict[str, str] = Field(default_factory=dict)
    errors: list[str] = Field(default_factory=list)


class TrialLine(BaseModel):
    """One line of the in-sandbox program's answer."""

    id: int
    failing: RunTold | None = None
    suite: RunTold | None = None
    regressed: list[str] = Field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class Tried:
    """One candidate's result. passed: wanted tests that pass now, of `wanted`; regressed: tests it broke."""

    scored: Scored
    rank: int
    """1-based place in the ranking"""
    passed: int
    wanted: int
    regressed: tuple[str, ...]
    repaired: bool
    seconds: float
    told: str
    """what happened, in words"""
    content: bytes = field(repr=False, default=b"")


def trial_runs(prober: Prober, location: Location) -> tuple[dict[str, object] | None, dict[str, object]]:
    """Runs of the failing tests (None where none is known) and of the suite, with times to allow."""
    failing: dict[str, object] | None = None
    report = location.report
    if location.failing:
        took = sum(report.results[t].seconds for t in location.failing if t in report.results)
        stop = len(location.failing) > 12
        limit = (
            3 * max((report.results[t].seconds for t in location.failing if t in report.results), default=0)
            + 2
        )
        config, out = prober.configure(
            only=location.failing, test_s=min(limit, 10), deadline_s=3 * took + 8, stop_on_failure=stop
        )
        files = sorted({t.split("::")[0] for t in location.failing})
        failing = {
            "argv": prober.argv(config, ["--tb=no", *files]),
            "config": config,
            "report": out,
            "timeout_s": 3 * took + 10,
        }
    whole = 3 * report.seconds + 20
    config, out = prober.configure(first=location.failing, deadline_s=whole)
    targets = [] if not report.skipped else sorted({t.split("::")[0] for t in location.baseline})
    suite: dict[str, object] = {
        "argv": prober.argv(config, ["--tb=no", *targets]),
        "config": config,
        "report": out,
        "timeout_s": whole + 5,
    }
    return failing, suite


def try_in_order(
    prober: Prober,
    location: Location,
    ranked: list[Scored],
    *,
    limit: int,
    until: float,
    watch: Callable[[Tried], None],
) -> list[Tried]:
    """Up to limit candidates, best first; stops at the first that repairs. until is a time.monotonic()."""
    failing, suite = trial_runs(prober, location)
    done: list[Tried] = []
    compiled = _compiled(ranked, location)
    while len(done) < limit and time.monotonic() < until:
        batch = [pair for _, pair in zip(range(min(BATCH, limit - len(done))), compiled, strict=False)]
        if not batch:
            break
        told = _run_batch(prober, location, batch, failing, suite, until)
        if not told:
            break
        for line in told:
            scored, content = batch[line.id]
            tried = _judge(line, scored, content, len(done) + 1, location)
            done.append(tried)
            watch(tried)
            if tried.repaired:
                return done
        if len(told) < len(batch):
            break
    return done


def _compiled(ranked: list[Scored], location: Location) -> Iterator[tuple[Scored, bytes]]:
    for scored in ranked:
        content = whole_file(location.modules[scored.candidate.path], scored.candidate)
        if content is not None:
            yield scored, content


def _run_batch(
    prober: Prober,
    location: Location,
    batch: list[tuple[Scored, bytes]],
    failing: dict[str, object] | None,
    suite: dict[str, object],
    until: float,
) -> list[TrialLine]:
    key = uuid.uuid4().hex[:8]
    job, out = f"{FOLDER}/job-{key}.json", f"{FOLDER}/tried-{key}.jsonl"
    left = max(5.0, until - time.monotonic())
    wanted = location.failing
    must_pass = [t for t, outcome in location.baseline.items() if outcome == "passed"]
    document = {
        "root": prober.task.environment.workdir,
        "out": out,
        "failing": failing,
        "suite": suite,
        "until_s": left,
        "wanted": wanted,
        "must_pass": must_pass,
        "outside": location.report.outside,
        "candidates": [
            {"id": i, "path": s.candidate.path, "content": base64.b64encode(c).decode()}
            for i, (s, c) in enumerate(batch)
        ],
    }
    prober.sandbox.write(job, json.dumps(document).encode())
    prober.sandbox.exec(
        [*prober.interpreter(), f"{FOLDER}/try_candidates.py", job],
        timeout_s=left + 120,
        env=prober.task.environment.env,
        workdir=prober.task.environment.workdir,
    )
    for scored, _ in batch:
        # A killed command leaves its candidate in place; the original goes back whatever happened.
        module = location.modules[scored.candidate.path]
        path = f"{prober.task.environment.workdir}/{scored.candidate.path}"
        if prober.sandbox.read(path) != module.raw:
            prober.sandbox.write(path, module.raw)
    try:
        raw = prober.sandbox.read(out).decode("utf-8", "backslashreplace")
    except FileNotFoundError:
        return []
    lines: list[TrialLine] = []
    for text in raw.splitlines():
        try:
            lines.append(TrialLine.model_validate_json(text))
        except ValidationError:
            continue
    return [line for line in lines if 0 <= line.id < len(batch)]


def _judge(line: TrialLine, scored: Scored, content: bytes, rank: int, location: Location) -> Tried:
    wanted = len(location.failing)
    outcomes = (line.failing.outcomes if line.failing else None) or {}
    passed = sum(outcomes.get(t) == "passed" for t in location.failing)
    ran = line.suite is not None and line.suite.outcomes is not None
    repaired = ran and passed == wanted and not line.regressed
    if line.failing and line.failing.timed_out:
        told = "the failing tests ran out of time"
    elif line.failing and line.failing.outcomes is None:
        told = "the tests could not be run"
    elif passed < wanted:
        first = next(iter((line.failing.messages if line.failing else {}).values()), "")
        told = f"{passed} of {wanted} failing tests pass now; {' '.join(first.split())[:120]}"
    elif repaired and not wanted:
        told = "all tests that passed before still do; the tests to mend are hidden"
    elif repaired:
        told = f"all {wanted} failing tests pass, and all that passed before still do"
    else:
        told = f"all {wanted} failing tests pass, but {len(line.regressed)} others fail now"
    return Tried(scored, rank, passed, wanted, tuple(line.regressed), repaired, line.seconds, told, content)


def best_partial(tried: list[Tried]) -> Tried | None:
    """Where nothing repaired: the one that mended most failing tests and was not seen to break others."""
    useful = [t for t in tried if t.passed and not t.regressed and t.wanted > t.passed]
    return max(useful, key=lambda t: (t.passed, -t.rank), default=None)
