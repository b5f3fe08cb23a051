"""Group-normalised advantages: equal, lone and missing rewards teach nothing, and never NaN."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.rl.advantages import STD_FLOOR, group_advantages


def test_against_a_sum_done_by_hand() -> None:
    judged = group_advantages([1.0, 0.0, 0.0, 0.0])
    # mean 1/4, variance (9/16 + 3 · 1/16) / 4 = 3/16
    assert judged.advantages == pytest.approx((math.sqrt(3), *[-1 / math.sqrt(3)] * 3))
    assert judged.weights == (1.0,) * 4


def test_equal_rewards_give_exactly_zero() -> None:
    assert group_advantages([0.1 + 0.2, 0.3, 0.3]).advantages == (0.0, 0.0, 0.0)
    assert group_advantages([0.3, 0.3]).verdict == "equal"


def test_noise_is_not_blown_up_to_unit_size() -> None:
    judged = group_advantages([0.5, 0.5001])
    assert judged.verdict == "used"
    assert max(judged.advantages) == pytest.approx(0.00005 / STD_FLOOR)


def test_a_group_of_one_has_no_advantage() -> None:
    assert group_advantages([1.0]).advantages == (0.0,)
    assert group_advantages([1.0]).verdict == "single"


def test_one_valid_reward_is_no_group() -> None:
    judged = group_advantages([None, 1.0])
    assert judged.verdict == "too_few_valid"
    assert judged.advantages == judged.weights == (0.0, 0.0)


def test_a_crash_is_not_a_zero() -> None:
    assert group_advantages([1.0, 1.0, None]).advantages == (0.0, 0.0, 0.0)


def test_a_group_with_crashes_is_padded_to_its_size() -> None:
    judged = group_advantages([1.0, None, 0.0, 0.0])
    assert judged.advantages == pytest.approx((math.sqrt(2), 0.0, -1 / math.sqrt(2), -1 / math.sqrt(2)))
    assert judged.weights == pytest.approx((4 / 3, 0.0, 4 / 3, 4 / 3))


def test_not_more_than_half_valid_drops_the_group() -> None:
    assert group_advantages([1.0, 0.0, None, None]).verdict == "too_few_valid"
    assert group_advantages([]).verdict == "too_few_valid"
    assert group_advantages([1.0, 0.0, 1.0, None, None]).verdict == "used"


def test_a_reward_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        group_advantages([1.0, float("nan")])


@given(st.lists(st.floats(0, 1) | st.none(), max_size=12))
def test_they_are_finite_and_add_up_to_nothing(rewards: list[float | None]) -> None:
    judged = group_advantages(rewards)
    assert all(math.isfinite(a) for a in judged.advantages)
    assert sum(judged.advantages) == pytest.approx(0.0, abs=1e-6)
    assert all(
        a == 0.0 == w for r, a, w in zip(rewards, judged.advantages, judged.weights, strict=True) if r is None
    )
    better = sorted((r, a) for r, a in zip(rewards, judged.advantages, strict=True) if r is not None)
    assert [a for _, a in better] == sorted(a for _, a in better)
