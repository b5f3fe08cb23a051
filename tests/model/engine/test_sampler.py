import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from model.engine.sampler import SamplingParameters, draw, resolve_seed, uniform

LOGITS = torch.tensor([0.0, 2.0, -1.0, 1.0, -math.inf, 2.0])


def drawn(parameters: SamplingParameters, count: int = 4000) -> list[int]:
    key = resolve_seed(7, 0)
    return [draw(LOGITS, parameters, key, position).token for position in range(count)]


def test_frequencies_are_the_softmax() -> None:
    """Chi-square with 4 degrees of freedom: above 25 once in 20,000 fair tries, and the draws are fixed."""
    tokens = drawn(SamplingParameters(temperature=0.7))
    expected = torch.softmax(LOGITS / 0.7, 0) * len(tokens)
    counts = torch.bincount(torch.tensor(tokens), minlength=6)
    assert counts[4] == 0
    live = expected > 0
    assert float(((counts - expected)[live] ** 2 / expected[live]).sum()) < 25


def test_log_probability_is_of_the_raw_logits() -> None:
    parameters = SamplingParameters(temperature=0.3, top_p=0.5, top_k=2)
    one = draw(LOGITS, parameters, resolve_seed(1, 0), 5, top=3)
    raw = LOGITS.log_softmax(0)
    assert one.log_prob == pytest.approx(float(raw[one.token]), abs=1e-6)
    assert [token for token, _ in one.top] == [1, 5, 3] or [token for token, _ in one.top] == [5, 1, 3]


def test_filters_keep_what_they_should() -> None:
    assert set(drawn(SamplingParameters(top_k=2))) == {1, 5}
    assert set(drawn(SamplingParameters(top_k=3))) == {1, 5, 3}
    # The two likeliest hold 0.77; the one that crosses top_p stays.
    assert set(drawn(SamplingParameters(top_p=0.7))) == {1, 5}
    assert set(drawn(SamplingParameters(top_p=0.8))) == {1, 5, 3}
    assert len(set(drawn(SamplingParameters(top_p=1e-9)))) == 1
    assert set(drawn(SamplingParameters(temperature=0))) == {1}


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), top_p=st.floats(0.01, 1), temperature=st.floats(0.05, 5))
def test_top_p_beyond_the_first_candidates_agrees_with_a_full_sort(
    seed: int, top_p: float, temperature: float
) -> None:
    """A nearly flat distribution over 5000 tokens, so that the nucleus is larger than the first look."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(5000, generator=generator) * 0.1
    token = draw(logits, SamplingParameters(temperature, top_p), resolve_seed(seed, 0), 0).token
    probabilities = (logits.double() / temperature).softmax(0)
    ahead = float(probabilities[probabilities > probabilities[token]].sum())
    assert ahead < top_p + 1e-9


def test_draws_are_a_function_of_seed_choice_and_position() -> None:
    keys = [resolve_seed(seed, choice) for seed in range(20) for choice in range(5)]
    levels = {uniform(key, position) for key in keys for position in range(50)}
    assert len(levels) == 20 * 5 * 50
    assert uniform(resolve_seed(3, 1), 9) == uniform(resolve_seed(3, 1), 9)
    assert all(0 <= level < 1 for level in levels)
    assert abs(sum(levels) / len(levels) - 0.5) < 0.02
    assert resolve_seed(None, 0) != resolve_seed(None, 0)
