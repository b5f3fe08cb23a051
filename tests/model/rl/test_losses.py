"""The loss against sums done by hand, and finite loss and gradient wherever public trainers had NaN."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from model.rl.losses import LossMetrics, grpo_loss, pop, token_weights

INF = float("inf")


def loss_and_gradient(
    new: list[float],
    old: list[float],
    rollout: list[float],
    advantages: list[float],
    weights: list[float],
) -> tuple[float, list[float], LossMetrics]:
    log_probs = torch.tensor(new, requires_grad=True)
    rest = [torch.tensor(v) for v in (old, rollout, advantages, weights)]
    loss, metrics = grpo_loss(log_probs, *rest)
    loss.backward()
    assert log_probs.grad is not None
    return float(loss.detach()), log_probs.grad.tolist(), metrics


def test_on_policy_it_is_the_policy_gradient() -> None:
    loss, gradient, _ = loss_and_gradient([-1.0, -2.0], [-1.0, -2.0], [-1.0, -2.0], [1.5, -0.5], [0.5, 0.5])
    assert loss == pytest.approx(-0.5)
    assert gradient == pytest.approx([-0.75, 0.25])


def test_the_clip_is_asymmetric_and_used() -> None:
    up, down = math.log(1.5), math.log(0.7)
    loss, gradient, metrics = loss_and_gradient(
        [up, down, up, down], [0.0] * 4, [0.0] * 4, [1, 1, -1, -1], [1.0] * 4
    )
    # A > 0: min(1.5, 1.28) and min(0.7, 0.8); A < 0: min(−1.5, −1.28) and min(−0.7, −0.8).
    assert loss == pytest.approx(-(1.28 + 0.7 - 1.5 - 0.8))
    assert gradient == pytest.approx([0.0, -0.7, 1.5, 0.0])
    assert metrics.clipped == 2


def test_pop_weighs_inside_its_band_and_silences_outside() -> None:
    ratios = torch.tensor([0.49, 0.5, 1.3, 2.0, 2.01])
    assert pop(ratios, 0.5, 2.0).tolist() == pytest.approx([0.0, 0.5, 1.3, 2.0, 0.0])
    loss, gradient, metrics = loss_and_gradient(
        [0.0] * 3, [0.0] * 3, [-math.log(1.3), -math.log(2.5), math.log(2.5)], [1.0] * 3, [1.0] * 3
    )
    assert loss == pytest.approx(-1.3)
    assert gradient == pytest.approx([-1.3, 0.0, 0.0])
    assert metrics.popped == 2


@pytest.mark.parametrize("junk", [INF, -INF, float("nan"), 200.0, -1e30])
def test_what_stands_under_the_mask_reaches_neither_loss_nor_gradient(junk: float) -> None:
    clean = loss_and_gradient([-1.0], [-1.1], [-1.2], [1.0], [1.0])
    for column in range(4):
        values = [[-1.0, -1.0], [-1.1, -1.1], [-1.2, -1.2], [1.0, 1.0]]
        values[column][1] = junk
        loss, gradient, _ = loss_and_gradient(*values, [1.0, 0.0])
        assert loss == pytest.approx(clean[0])
        assert gradient == pytest.approx([clean[1][0], 0.0])


@pytest.mark.parametrize("column", [0, 1, 2])
def test_minus_infinity_in_a_counted_token_is_left_out_and_told(column: int) -> None:
    values = [[-1.0, -1.0], [-1.0, -1.0], [-1.0, -1.0]]
    values[column][1] = -INF
    loss, gradient, metrics = loss_and_gradient(*values, [1.0, 1.0], [0.5, 0.5])
    assert (loss, gradient) == (pytest.approx(-0.5), pytest.approx([-0.5, 0.0]))
    assert metrics.not_finite == 1 and metrics.tokens == 2


def test_a_huge_ratio_stays_finite() -> None:
    loss, gradient, _ = loss_and_gradient(
        [0.0, 0.0], [-200.0, -200.0], [-200.0, -200.0], [1.0, -1.0], [1.0, 1.0]
    )
    assert math.isfinite(loss) and all(map(math.isfinite, gradient))


def test_no_token_at_all_is_a_loss_of_zero() -> None:
    loss, gradient, _ = loss_and_gradient([], [], [], [], [])
    assert loss == 0.0 and gradient == []


def test_equal_rewards_give_a_gradient_of_zero() -> None:
    loss, gradient, _ = loss_and_gradient([-1.0, -3.0], [-1.5, -2.0], [-1.4, -2.1], [0.0, 0.0], [0.5, 0.5])
    assert loss == 0.0 and gradient == [0.0, 0.0]


def weights_of(mask: list[bool], sequence: list[int], rollouts: list[float]) -> Tensor:
    return token_weights(torch.tensor(mask, dtype=torch.bool), torch.tensor(sequence), torch.tensor(rollouts))


def test_a_rollout_counts_once_however_long_it_is() -> None:
    weights = weights_of([True] * 4, [0, 1, 1, 1], [1.0, 1.0])
    assert weights.tolist() == pytest.approx([1 / 2, 1 / 6, 1 / 6, 1 / 6])


def test_masked_tokens_are_not_in_the_denominator() -> None:
    weights = weights_of([True, True, False, False], [0, 1, 1, 1], [1.0, 1.0])
    assert weights.tolist() == pytest.approx([1 / 2, 1 / 2, 0.0, 0.0])
    whole_rollout_masked = weights_of([True, False, False], [0, 1, 1], [1.0, 1.0])
    assert whole_rollout_masked.tolist() == pytest.approx([1.0, 0.0, 0.0])


def test_everything_masked_is_zero_and_not_nan() -> None:
    assert weights_of([False, False], [0, 1], [1.0, 1.0]).tolist() == [0.0, 0.0]
    assert weights_of([True, True], [0, 1], [0.0, 0.0]).tolist() == [0.0, 0.0]


@given(
    st.lists(
        st.tuples(*[st.floats(-300, 0, width=32)] * 3, st.floats(-3, 3, width=32), st.floats(0, 1, width=32)),
        min_size=2,
        max_size=20,
    ),
    st.integers(1, 19),
)
def test_micro_batches_add_up_and_are_finite(rows: list[tuple[float, ...]], cut: int) -> None:
    whole, gradient, metrics = loss_and_gradient(*[list(c) for c in zip(*rows, strict=True)])
    parts = [rows[: cut % len(rows)], rows[cut % len(rows) :]]
    pieces = [loss_and_gradient(*([list(c) for c in zip(*p, strict=True)] or [[]] * 5)) for p in parts]
    assert math.isfinite(whole) and all(map(math.isfinite, gradient))
    assert whole == pytest.approx(sum(p[0] for p in pieces), rel=1e-4, abs=1e-4)
    assert gradient == pytest.approx(pieces[0][1] + pieces[1][1], rel=1e-5)
    assert metrics.popped == pieces[0][2].popped + pieces[1][2].popped
