"""Grade a patch: a pure function of the task and of what its trial showed."""

import hashlib
import json

from rewards.reward import Component, FailureClass, Reward, weighted
from tasks.task import PatchTask
from tasks.testrun import TestRun, TestStatus
from tasks.verdict import passed, resolves

WEIGHTS = {"syntax": 0.1, "logic": 0.7, "run": 0.2}
_RULES = 1
"""Raised whenever the meaning of a component changes, so that old values are not compared with new ones."""


def scorer_digest() -> str:
    """What the values depend on besides the run: the rules and their weights."""
    body = json.dumps({"scorer": "code", "rules": _RULES, "weights": WEIGHTS}, sort_keys=True)
    return hashlib.sha256(body.encode()).hexdigest()


def grade(task: PatchTask, run: TestRun) -> Reward:
    """The reward of one trial.

    syntax: the patch applies and what it touched parses. logic: share of the fail_to_pass tests that pass.
    run: share of the pass_to_pass tests that still pass. logic and run count only from a whole report, and no
    component counts where there is no patch. A suite that ran past its time is a valid failure.
    """
    f2p, p2p = tuple(task.tests.fail_to_pass), task.tests.pass_to_pass
    whole = run.patch_applied and run.report_complete and not run.timed_out
    f2p_passed = sum(passed(run.results.get(test)) for test in f2p) if whole else 0
    p2p_kept = sum(passed(run.results.get(test)) for test in p2p) if whole else 0
    syntax = run.patch_applied and run.parses
    components = (
        Component(
            name="syntax",
            score=float(syntax),
            weight=WEIGHTS["syntax"],
            evidence=_syntax_evidence(run),
        ),
        Component(
            name="logic",
            score=f2p_passed / len(f2p) if f2p else 0.0,
            weight=WEIGHTS["logic"],
            evidence=f"{f2p_passed} of {len(f2p)} tests that failed before now pass",
        ),
        Component(
            name="run",
            score=(p2p_kept / len(p2p) if p2p else 1.0) if whole else 0.0,
            weight=WEIGHTS["run"],
            evidence=_run_evidence(run, p2p_kept, len(p2p)),
        ),
    )
    resolved = resolves(task.tests, run)
    return Reward(
        task_id=task.id,
        value=weighted(components),
        resolved=resolved,
        components=components,
        raw={
            "f2p_passed": float(f2p_passed),
            "f2p_total": float(len(f2p)),
            "p2p_kept": float(p2p_kept),
            "p2p_total": float(len(p2p)),
            "patch_applied": float(run.patch_applied),
            "report_complete": float(run.report_complete),
            "timed_out": float(run.timed_out),
        },
        scorer_digest=scorer_digest(),
    )


def invalid(task_id: str, failure: FailureClass, reason: str) -> Reward:
    """A reward that must not be used: the fault lies outside the patch."""
    return Reward(
        task_id=task_id,
        value=None,
        valid=False,
        failure=failure,
        failure_reason=reason,
        scorer_digest=scorer_digest(),
    )


def swebench_report(task: PatchTask, run: TestRun | None, reward: Reward) -> dict[str, dict[str, object]]:
    """The instance's report in SWE-bench's shape, by its id; run is None where there was no trial.

    It holds no times, paths or random ids, so that equal runs give equal bytes.
    """
    body: dict[str, object] = {
        "patch_is_None": run is None or not run.patch_exists,
        "patch_exists": run is not None and run.patch_exists,
        "patch_successfully_applied": run is not None and run.patch_applied,
        "resolved": bool(reward.resolved),
        "infra_failure": not reward.valid,
    }
    if not reward.valid:
        body["infra_failure_reason"] = reward.failure or "infrastructure"
    results = run.results if run is not None and run.report_complete else {}
    body["tests_status"] = {
        "FAIL_TO_PASS": _split(sorted(task.tests.fail_to_pass), results),
        "PASS_TO_PASS": _split(sorted(task.tests.pass_to_pass), results),
        "FAIL_TO_FAIL": {"success": [], "failure": []},
        "PASS_TO_FAIL": {"success": [], "failure": []},
    }
    return {task.id: body}


def _split(expected: list[str], results: dict[str, TestStatus]) -> dict[str, list[str]]:
    return {
        "success": [test for test in expected if passed(results.get(test))],
        "failure": [test for test in expected if not passed(results.get(test))],
    }


def _syntax_evidence(run: TestRun) -> str:
    if not run.patch_exists:
        return "no patch"
    if not run.patch_applied:
        return f"the patch does not apply: {run.apply_error}"
    dropped = f"; protected paths left out: {', '.join(run.dropped_paths)}" if run.dropped_paths else ""
    return ("applies and parses" if run.parses else "applies, but a touched file does not parse") + dropped


def _run_evidence(run: TestRun, kept: int, total: int) -> str:
    if run.timed_out:
        return "the suite ran past its time"
    if run.patch_applied and not run.report_complete:
        return f"the suite gave no whole report (exit code {run.exit_code})"
    return f"{kept} of {total} tests that passed before still pass"
