"""Raw logs: each case is a kind of fault that public harnesses have had."""

import json
from pathlib import Path

import pytest

from tasks.readers import pytest_log, unittest_log

CASES = json.loads((Path(__file__).parent / "cases" / "test_logs.json").read_text())
PARSERS = {"pytest": pytest_log.parse, "unittest": unittest_log.parse}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_published_fault(case):
    assert PARSERS[case["runner"]](case["log"]) == case["expected"]


def test_dash_inside_a_parameter_is_part_of_the_id():
    log = "=== short test summary info ===\nFAILED t.py::t[a - b] - assert 0\nPASSED t.py::t[c - d]\n"
    assert pytest_log.parse(log) == {"t.py::t[a - b]": "FAIL", "t.py::t[c - d]": "PASS"}


def test_skip_counts_and_bare_words_are_no_tests():
    log = "=== short test summary info ===\nSKIPPED [2] t.py:3: no locale\nPASSED\nERROR t.py\n"
    assert pytest_log.parse(log) == {}


def test_xfail_is_not_pass():
    log = "=== short test summary info ===\nXFAIL t.py::a - known\nXPASS t.py::b\n"
    assert pytest_log.parse(log) == {"t.py::a": "XFAIL", "t.py::b": "XPASS"}


def test_traceback_heads_after_the_rule_are_not_read_again():
    log = "test_a (m.C.test_a) ... ok\n" + "=" * 70 + "\nFAIL: x\ntest_a (m.C.test_a) ... FAIL\n"
    assert unittest_log.parse(log) == {"m.C.test_a": "PASS"}


def test_output_glued_between_head_and_status():
    log = "test_a (m.C.test_a) ... printed by the test\nok\ntest_b (m.C) ... ERROR\n"
    assert unittest_log.parse(log) == {"m.C.test_a": "PASS", "m.C.test_b": "ERROR"}
