"""pass@k against its own definition, and the shape of the summary."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.runs.predictions import BadPredictions, load_predictions
from harness.runs.request import RunRequest, attempt_seed, default_run_id
from harness.runs.summary import pass_at, pass_at_k, summary, wilson
from rewards.code import invalid
from rewards.reward import Reward


def reward(task_id: str, resolved: bool) -> Reward:
    return Reward(task_id=task_id, value=float(resolved), resolved=resolved, scorer_digest="d")


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_the_share_of_draws_that_hold_a_resolved_attempt(case: tuple[int, int, int]) -> None:
    n, c, k = case
    draws = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(any(draw) for draw in draws) / len(draws))


def test_attempts_without_a_valid_reward_do_not_count() -> None:
    rewards = {
        ("a", 0): reward("a", True),
        ("a", 1): invalid("a", "infrastructure", "x"),
        ("b", 0): reward("b", False),
    }
    assert pass_at(rewards, 1) == 0.5
    assert pass_at(rewards, 2) is None


def test_wilson_interval() -> None:
    # The bounds are scipy.stats.binomtest(k, n).proportion_ci(method="wilson").
    assert wilson(3, 10) == pytest.approx((0.1078, 0.6032), abs=1e-4)
    assert wilson(0, 7) == pytest.approx((0.0, 0.3543), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)


def test_summary_puts_each_task_in_one_place() -> None:
    rewards = {
        ("a", 0): reward("a", False),
        ("a", 1): reward("a", True),
        ("b", 0): reward("b", False),
        ("c", 0): invalid("c", "infrastructure", "x"),
        ("d", 0): reward("d", False),
    }
    made = summary(["a", "b", "c", "d", "e"], rewards, {"d"})
    assert made["schema_version"] == 2
    assert made["total_ids"] == ["a", "b", "c", "d", "e"]
    assert made["submitted_ids"] == ["a", "b", "c", "d"]
    assert (made["resolved_ids"], made["unresolved_ids"]) == (["a"], ["b"])
    assert (made["infra_failure_ids"], made["empty_patch_ids"]) == (["c"], ["d"])
    assert all(
        made[f"{n}_instances"] == len(made[f"{n}_ids"]) for n in ("total", "completed", "resolved", "error")
    )


ENTRY = {"instance_id": "a", "model_name_or_path": "m", "model_patch": "diff"}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ENTRY) + "\n" + json.dumps({**ENTRY, "instance_id": "b", "model_patch": None}) + "\n",
        json.dumps([ENTRY, {**ENTRY, "instance_id": "b", "model_patch": None}]),
        json.dumps({"a": {"model_patch": "diff"}, "b": {"instance_id": "b", "model_patch": None}}),
        json.dumps({"a": "diff", "b": None}),
    ],
)
def test_predictions_in_every_shape(tmp_path, text: str) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "predictions"
    path.write_text(text)
    assert load_predictions(path)[1] == {"a": "diff", "b": None}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"instance_id": "a"}\n{"instance_id"\n', "line 2: not JSON"),
        ('[{"model_patch": "x"}]', "entry 1: a prediction is an object with an instance_id"),
        ('{"a": {"model_patch": 7}}', "model_patch is text or null, not int"),
        (json.dumps(ENTRY) + "\n" + json.dumps(ENTRY), "line 2: a was predicted already"),
        ("[]", "holds no prediction"),
    ],
)
def test_bad_predictions_are_named(tmp_path, text: str, says: str) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "predictions"
    path.write_text(text)
    with pytest.raises(BadPredictions, match=says):
        load_predictions(path)


def test_seeds_differ_by_attempt_and_task_and_stay_the_same() -> None:
    seeds = {attempt_seed(s, t, a) for s in (0, 1) for t in ("x", "y") for a in (0, 1, 2)}
    assert len(seeds) == 11  # both first attempts of seed 0 have seed 0
    assert attempt_seed(0, "x", 0) == 0 and attempt_seed(0, "x", 1) == attempt_seed(0, "x", 1)


def test_the_same_command_finds_its_run_again() -> None:
    asked = RunRequest(run_id="unnamed", agent="pipeline", model="org/name", tasks_digest="t")
    again = asked.model_copy(update={"attempts": 4, "command": ("x",)})
    other = asked.model_copy(update={"tests": "hidden"})
    assert default_run_id(asked) == default_run_id(again)
    assert default_run_id(asked).startswith("pipeline-org-name-shown-")
    assert not asked.same_work(other) and default_run_id(other) != default_run_id(asked)
