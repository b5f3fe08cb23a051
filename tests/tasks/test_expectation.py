"""From repeated runs to expected tests: the origins, flakiness, and every reason to fall."""

import pytest

from tasks.languages.python import Python
from tasks.mining.expectation import NotATask, expectation
from tasks.testrun import TestRun


def run(complete=True, **results):
    results = {
        ("t.py::" + k if not k.startswith("file_") else k.removeprefix("file_") + ".test_x"): v
        for k, v in results.items()
    }
    return TestRun(
        patch_exists=True, patch_applied=True, results=results, report_complete=complete, log="boom"
    )


def expect(before, after):
    return expectation(before, after, Python(), files=("t.py",))


def test_origins_are_kept_apart():
    before = [
        run(
            failed="FAIL",
            errored="ERROR",
            skipped="SKIP",
            kept="PASS",
            still="FAIL",
            xf="XFAIL",
            file_tests="SKIP",
        )
    ] * 3
    after = [
        run(failed="PASS", errored="PASS", skipped="PASS", new="PASS", kept="PASS", still="FAIL", xf="XFAIL")
    ] * 3
    tests = expect(before, after)
    assert tests.fail_to_pass == {
        "t.py::failed": "f2p",
        "t.py::errored": "f2p",
        "t.py::skipped": "s2p",
        "t.py::new": "n2p",
    }
    assert tests.pass_to_pass == ("t.py::kept",)


def test_a_file_skipped_whole_gives_s2p_and_one_that_did_not_collect_n2p():
    after = [
        TestRun(
            patch_exists=True,
            patch_applied=True,
            report_complete=True,
            results={"tests/test_x.py::a": "PASS", "t.py::kept": "PASS"},
        )
    ] * 3
    assert expect([run(kept="PASS", file_tests="SKIP")] * 3, after).fail_to_pass == {
        "tests/test_x.py::a": "s2p"
    }
    assert expect([run(kept="PASS", file_tests="ERROR")] * 3, after).fail_to_pass == {
        "tests/test_x.py::a": "n2p"
    }


def test_a_test_that_wavers_on_either_side_is_quarantined():
    before = [run(a="FAIL", k="PASS", x="FAIL", y="PASS"), run(a="FAIL", k="PASS", x="PASS", y="PASS")]
    after = [run(a="PASS", k="PASS", x="PASS", y="PASS"), run(a="PASS", k="PASS", x="PASS", y="FAIL")]
    tests = expect(before, after)
    assert tests.quarantined == ("t.py::x", "t.py::y")
    assert set(tests.fail_to_pass) == {"t.py::a"} and tests.pass_to_pass == ("t.py::k",)


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ([run(a="FAIL", k="PASS")], [run(a="PASS", k="FAIL")], "breaks t.py::k"),
        ([run(a="PASS", k="PASS")], [run(a="PASS", k="PASS")], "passes before the fix already"),
        ([run(a="FAIL", k="PASS")], [run(a="FAIL", k="PASS")], "t.py::a fail in either state"),
        ([run(a="FAIL")], [run(a="PASS")], "nothing guards"),
        ([run()], [run()], "no test ran before the fix"),
        ([run(complete=False, a="FAIL")], [], "no whole report before the fix: boom"),
        ([run(a="FAIL"), run(a="PASS")], [run(a="PASS"), run(a="PASS")], "flaky"),
    ],
    ids=["breaks", "passes already", "fails after", "nothing kept", "no test", "not whole", "only flaky"],
)
def test_reasons(before, after, reason):
    with pytest.raises(NotATask, match=reason):
        expect(before, after)
