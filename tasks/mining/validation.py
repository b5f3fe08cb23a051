"""Validate one candidate: repeated runs in fresh containers, then once more from nothing."""

from collections.abc import Callable
from dataclasses import dataclass

from sandboxes.docker_sandbox import open_sandbox
from tasks.instances import AGENT
from tasks.languages.language import Language
from tasks.mining.expectation import NotATask, expectation
from tasks.store import dump
from tasks.task import TASK_ADAPTER, Fingerprint, PatchTask, Tests
from tasks.testrun import TestRun
from tasks.trial import run_trial, sandbox_spec
from tasks.verdict import resolves

REPEATS = 3

KeepLog = Callable[[str, TestRun], None]


@dataclass(frozen=True)
class Validated:
    task: PatchTask
    suite_seconds: float


def validate(draft: PatchTask, language: Language, *, run_id: str, keep_log: KeepLog) -> Validated:
    """The task with its expected tests and fingerprint.

    keep_log is called with every run, so that whoever asks why a candidate fell can read it. Raises NotATask
    for what the commit shows, SandboxFault for the sandbox.
    """
    before = []
    for number in range(1, REPEATS + 1):
        before.append(run_trial(draft, None, run_id=run_id))
        keep_log(f"before-{number}", before[-1])
        if not before[-1].report_complete:
            break
    after: list[TestRun] = []
    if before[-1].report_complete:
        for number in range(1, REPEATS + 1):
            after.append(run_trial(draft, draft.oracle.gold_patch, run_id=run_id))
            keep_log(f"after-{number}", after[-1])
            if not after[-1].report_complete:
                break
    tests = expectation(before, after, language, files=draft.tests.files)
    task = draft.model_copy(
        update={"tests": tests, "fingerprint": fingerprint(draft, language, run_id=run_id)}
    )
    stored = _stored(task)
    gold = run_trial(stored, stored.oracle.gold_patch, run_id=run_id)
    keep_log("gold", gold)
    if not resolves(stored.tests, gold):
        # Three runs agreed and the fourth does not: those tests waver too, only more rarely.
        stored = _stored(task.model_copy(update={"tests": _quarantine(stored.tests, gold)}))
        gold = run_trial(stored, stored.oracle.gold_patch, run_id=run_id)
        keep_log("gold-again", gold)
        if not resolves(stored.tests, gold):
            raise NotATask(
                f"the gold patch does not resolve the task once more: {_missing(stored.tests, gold)}"
            )
    empty = run_trial(stored, None, run_id=run_id)
    keep_log("empty", empty)
    if resolves(stored.tests, empty) or all(
        empty.results.get(t) == "PASS" for t in stored.tests.fail_to_pass
    ):
        raise NotATask("the empty patch resolves the task")
    return Validated(stored, before[0].seconds)


def _stored(task: PatchTask) -> PatchTask:
    """Through its line in the file and back: what is judged is what will be read, not what is in memory."""
    stored = TASK_ADAPTER.validate_json(dump(task))
    if not isinstance(stored, PatchTask):
        raise TypeError(f"{task.id} came back as {type(stored).__name__}")
    return stored


def _quarantine(tests: Tests, run: TestRun) -> Tests:
    """The tests without those that did not pass in the run. Raises NotATask where none would be left."""
    wavering = {t for t in (*tests.fail_to_pass, *tests.pass_to_pass) if run.results.get(t) != "PASS"}
    fail_to_pass = {t: origin for t, origin in tests.fail_to_pass.items() if t not in wavering}
    pass_to_pass = tuple(t for t in tests.pass_to_pass if t not in wavering)
    if not run.report_complete or not fail_to_pass or not pass_to_pass:
        raise NotATask(f"the gold patch does not resolve the task once more: {_missing(tests, run)}")
    quarantined = tuple(sorted({*tests.quarantined, *wavering}))
    return tests.model_copy(
        update={"fail_to_pass": fail_to_pass, "pass_to_pass": pass_to_pass, "quarantined": quarantined}
    )


def _missing(tests: Tests, run: TestRun) -> str:
    missing = [t for t in (*tests.fail_to_pass, *tests.pass_to_pass) if run.results.get(t) != "PASS"]
    return (
        ", ".join(f"{t} is {run.results.get(t, 'not there')}" for t in missing[:3])
        or "the report is not whole"
    )


def fingerprint(task: PatchTask, language: Language, *, run_id: str) -> Fingerprint:
    """What is installed in the task's image."""
    with open_sandbox(sandbox_spec(task, run_id=run_id)) as sandbox:
        listing = sandbox.exec(list(language.versions_command()), user=AGENT).text
    versions = dict(line.split("==", 1) for line in listing.split() if "==" in line)
    frameworks = tuple(name for name in ("pytest", "unittest") if name in versions)
    return Fingerprint(languages=(language.name,), frameworks=frameworks, versions=versions)
