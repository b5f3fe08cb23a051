"""Suspicion, evidence and order: the pure parts between locating and testing."""

import math

import pytest

from harness.agents.pipeline.candidates import Scored, guard_evidence
from harness.agents.pipeline.locate import Suspect, spoken_literals
from harness.agents.pipeline.rank import order
from harness.agents.pipeline.source import Candidate, Edit, Module
from harness.agents.pipeline.spectrum import line_suspicion, ochiai
from harness.agents.pipeline.words import overlap, words


def test_ochiai_of_known_counts() -> None:
    assert ochiai(2, 0, 2) == 1.0
    assert ochiai(1, 3, 1) == 0.5
    assert ochiai(0, 5, 2) == 0.0


def test_the_line_that_only_failing_tests_run_comes_first() -> None:
    failing = [{"a.py": [1, 2, 3]}, {"a.py": [1, 3]}]
    passing = [{"a.py": [1, 2]}]
    found = line_suspicion(failing, passing)
    assert max(found, key=lambda place: found[place]) == ("a.py", 3)
    assert found["a.py", 2] == pytest.approx(1 / math.sqrt(2 * 2))


def test_issue_words_meet_identifiers() -> None:
    issue = words("splitLines() drops the last_line of an empty text")
    assert {"split", "lines", "last", "line", "empty"} - {"line"} <= issue
    assert overlap(issue, "Text.splitlines", "") == 1.0
    assert overlap(issue, "parse", "") == 0.0


def pool(gains: list[float | None]) -> list[Scored]:
    return [
        Scored(Candidate("a.py", (Edit(i, i, "x"),), "guard", str(i), i + 1, "f"), 0.0, -1.0, gain)
        for i, gain in enumerate(gains)
    ]


def test_the_model_decides_where_all_else_is_equal() -> None:
    ranked = order(pool([-3.0, 2.0, None]), seed=0, noise=0.0, shuffled=False, weighed=True)
    assert [s.candidate.note for s in ranked] == ["1", "0", "2"]


def test_noise_differs_by_seed_and_repeats_for_one_seed() -> None:
    candidates = pool([0.0] * 20)
    orders = [
        [s.candidate.note for s in order(candidates, seed=n, noise=1.0, shuffled=False, weighed=True)]
        for n in (1, 1, 2)
    ]
    assert orders[0] == orders[1] != orders[2]


def test_the_control_keeps_the_pool_and_forgets_the_order() -> None:
    candidates = pool([float(n) for n in range(30)])
    shuffled = order(candidates, seed=7, noise=0.0, shuffled=True, weighed=True)
    assert {s.candidate.note for s in shuffled} == {s.candidate.note for s in candidates}
    assert shuffled != order(candidates, seed=7, noise=0.0, shuffled=False, weighed=True)


def suspect(failing: dict[str, set[str]], passing: dict[str, set[str]]) -> Suspect:
    module = Module("a.py", b"def f(a):\n    return a\n")
    return Suspect(module.functions[1], 1.0, {2: 1.0}, [], 1.0, failing, passing)


def test_a_guard_that_no_failing_call_meets_is_left_out() -> None:
    text = "    if a is None:\n        return None\n"
    assert guard_evidence(suspect({"a": {"type:list"}}, {}), text) is None
    assert guard_evidence(suspect({"a": {"none"}}, {"a": {"none"}}), text) == -1.0
    assert guard_evidence(suspect({"a": {"none"}}, {"a": {"type:list"}}), text) == 1.0


def test_literals_of_assertions_are_heard() -> None:
    import ast

    test = ast.parse(
        "def test():\n    assert f([]) == ['x']\n    with pytest.raises(KeyError):\n        f(1)\n"
    )
    assert spoken_literals(test) == {"['x']", "KeyError"}
