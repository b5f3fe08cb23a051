"""Grading is a pure function: what counts, what does not, and that equal input gives equal bytes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.code import grade, invalid, swebench_report
from tasks.task import Environment, ImageRecipe, Oracle, PatchTask, Source, Tests
from tasks.testrun import TestRun

TASK = PatchTask(
    id="shelf__shelf-1234567",
    instruction="Mend it.",
    source=Source(repo="shelf/shelf", base_commit="0" * 40),
    environment=Environment(recipe=ImageRecipe(base="python-debian12")),
    tests=Tests(fail_to_pass={"t.py::a": "f2p", "t.py::b": "n2p"}, pass_to_pass=("t.py::c", "t.py::d")),
    oracle=Oracle(gold_patch="", test_patch=""),
)
ALL = {f"t.py::{name}": "PASS" for name in "abcd"}
STATUSES = ("PASS", "FAIL", "SKIP", "XFAIL", "XPASS", "ERROR")


def run(results=None, **changes):
    fields = {
        "patch_exists": True,
        "patch_applied": True,
        "results": ALL if results is None else results,
        "report_complete": True,
        "exit_code": 0,
    }
    return TestRun(**{**fields, **changes})


def scores(reward):
    return {component.name: component.score for component in reward.components}


def test_all_expected_tests_pass():
    reward = grade(TASK, run())
    assert reward.resolved and reward.value == 1.0 and reward.valid


@pytest.mark.parametrize("status", STATUSES[1:])
@pytest.mark.parametrize("test", sorted(ALL))
def test_anything_but_pass_is_not_resolved(test, status):
    reward = grade(TASK, run({**ALL, test: status}))
    assert reward.resolved is False and reward.value < 1.0


@pytest.mark.parametrize("test", sorted(ALL))
def test_an_expected_test_that_is_missing_is_not_resolved(test):
    assert not grade(TASK, run({k: v for k, v in ALL.items() if k != test})).resolved


def test_a_report_that_is_not_whole_counts_for_nothing():
    reward = grade(TASK, run(report_complete=False))
    assert not reward.resolved
    assert scores(reward) == {"syntax": 1.0, "logic": 0.0, "run": 0.0}


def test_a_timeout_is_a_valid_failure():
    reward = grade(TASK, run(timed_out=True, report_complete=False, exit_code=None))
    assert reward.valid and reward.resolved is False and reward.value is not None


@pytest.mark.parametrize("exists", [True, False])
def test_without_an_applied_patch_nothing_counts(exists):
    reward = grade(TASK, run(patch_exists=exists, patch_applied=False))
    assert reward.value == 0.0 and reward.resolved is False


def test_a_file_that_does_not_parse_costs_syntax():
    assert scores(grade(TASK, run(parses=False)))["syntax"] == 0.0


def test_half_way_lies_between():
    reward = grade(TASK, run({**ALL, "t.py::b": "FAIL"}))
    assert 0.0 < reward.value < 1.0
    assert reward.raw["f2p_passed"] == 1 and reward.raw["f2p_total"] == 2 and reward.raw["p2p_kept"] == 2


def test_an_infrastructure_fault_has_no_value():
    reward = invalid(TASK.id, "infrastructure", "the engine went away")
    assert reward.value is None and not reward.valid
    report = swebench_report(TASK, None, reward)[TASK.id]
    assert report["infra_failure"] is True and report["resolved"] is False


@given(st.dictionaries(st.sampled_from(sorted(ALL)), st.sampled_from(STATUSES)), st.booleans())
def test_one_more_passing_test_never_lowers_the_value(results, whole):
    before = grade(TASK, run(results, report_complete=whole))
    for test in ALL:
        after = grade(TASK, run({**results, test: "PASS"}, report_complete=whole))
        assert after.value >= before.value


@given(st.permutations(sorted(ALL)), st.floats(0, 1e6), st.text(max_size=20))
def test_order_time_and_log_do_not_reach_the_bytes(order, seconds, log):
    odd = run({test: ALL[test] for test in order}, seconds=seconds, log=log)
    plain = run()
    assert grade(TASK, odd).model_dump_json() == grade(TASK, plain).model_dump_json()
    assert json.dumps(swebench_report(TASK, odd, grade(TASK, odd))) == json.dumps(
        swebench_report(TASK, plain, grade(TASK, plain))
    )


def test_the_report_has_the_published_shape():
    report = swebench_report(TASK, run({**ALL, "t.py::b": "XFAIL"}), grade(TASK, run()))[TASK.id]
    assert list(report) == [
        "patch_is_None",
        "patch_exists",
        "patch_successfully_applied",
        "resolved",
        "infra_failure",
        "tests_status",
    ]
    assert report["tests_status"]["FAIL_TO_PASS"] == {"success": ["t.py::a"], "failure": ["t.py::b"]}
    assert report["tests_status"]["PASS_TO_PASS"] == {"success": ["t.py::c", "t.py::d"], "failure": []}
