"""Whether a run resolves a task: all or nothing, a pure function."""

from tasks.task import Tests
from tasks.testrun import TestRun, TestStatus


def passed(status: TestStatus | None) -> bool:
    """Only PASS passes: a test expected to fail, skipped or not run does not."""
    return status == "PASS"


def resolves(tests: Tests, run: TestRun) -> bool:
    """True where the patch applied, the report is whole and every expected test is PASS."""
    return (
        run.patch_applied
        and run.report_complete
        and not run.timed_out
        and bool(tests.fail_to_pass)
        and all(passed(run.results.get(test)) for test in tests.fail_to_pass)
        and all(passed(run.results.get(test)) for test in tests.pass_to_pass)
    )
