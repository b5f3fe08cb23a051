"""From repeated runs before and after a fix to the tests that a task expects; pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from tasks.languages.language import Language
from tasks.task import TestOrigin, Tests
from tasks.testrun import TestRun, TestStatus


class NotATask(RuntimeError):
    """The commit gives no task, with the reason in words."""


@dataclass(frozen=True)
class Compared:
    """One test's statuses over the runs; None where it was not there."""

    before: tuple[TestStatus | None, ...]
    after: tuple[TestStatus | None, ...]

    @property
    def steady(self) -> bool:
        return len(set(self.before)) == 1 and len(set(self.after)) == 1


def expectation(
    before: Sequence[TestRun], after: Sequence[TestRun], language: Language, *, files: tuple[str, ...]
) -> Tests:
    """The tests that the fix turned, and those that it kept.

    Raises NotATask where a run is not whole, the fix breaks a test, nothing turns or nothing is kept.
    """
    _whole(before, "before the fix")
    _whole(after, "with the fix")
    ids = sorted({test for run in (*before, *after) for test in run.results if _is_test(test)})
    compared = {
        test: Compared(
            tuple(run.results.get(test) for run in before), tuple(run.results.get(test) for run in after)
        )
        for test in ids
    }
    quarantined = tuple(test for test in ids if not compared[test].steady)
    steady = {test: (c.before[0], c.after[0]) for test, c in compared.items() if c.steady}
    broken = [test for test, (was, now) in steady.items() if was == "PASS" and now in {"FAIL", "ERROR"}]
    if broken:
        raise NotATask(f"the fix itself breaks {_some(broken)}")
    turned = {
        test: _origin(test, was, before[0], language)
        for test, (was, now) in steady.items()
        if now == "PASS" and was not in {"PASS", "XPASS"}
    }
    kept = tuple(test for test, (was, now) in steady.items() if was == "PASS" and now == "PASS")
    if not turned:
        raise NotATask(_why_none(steady, quarantined))
    if not kept:
        raise NotATask("no test passes both before and with the fix, so nothing guards against breakage")
    return Tests(fail_to_pass=turned, pass_to_pass=kept, quarantined=quarantined, files=files)


def _whole(runs: Sequence[TestRun], when: str) -> None:
    for run in runs:
        if run.apply_error:
            raise NotATask(f"the change does not apply {when}: {run.apply_error}")
        if run.timed_out:
            raise NotATask(f"the test suite ran past its time {when}")
        if not run.report_complete:
            last = run.log.strip().splitlines()[-1:] or ["no output"]
            raise NotATask(f"the test suite gave no whole report {when}: {last[0][:200]}")
        if not any(_is_test(test) for test in run.results):
            raise NotATask(f"no test ran {when}")


def _is_test(identity: str) -> bool:
    """False for the line that stands for a file which was not collected."""
    return "::" in identity


def _origin(test: str, was: TestStatus | None, run: TestRun, language: Language) -> TestOrigin:
    if was is None:
        return "s2p" if language.collected_in(test, run.results) == "SKIP" else "n2p"
    return "s2p" if was == "SKIP" else "f2p"


def _why_none(
    steady: dict[str, tuple[TestStatus | None, TestStatus | None]], quarantined: tuple[str, ...]
) -> str:
    failing = [
        test for test, (was, now) in steady.items() if was in {"FAIL", "ERROR"} and now in {"FAIL", "ERROR"}
    ]
    if failing:
        return f"no test turns from failing to passing; {_some(failing)} fail in either state"
    flaky = f" (not counted, since flaky: {_some(list(quarantined))})" if quarantined else ""
    return f"no test turns from failing to passing: every test passes before the fix already{flaky}"


def _some(tests: list[str]) -> str:
    shown = ", ".join(tests[:3])
    return shown if len(tests) <= 3 else f"{shown} and {len(tests) - 3} more"
