"""Scoring many texts at once gives each the bits that it gets alone, whatever they share."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernels.contract import Kernels
from model.checkpoints.checkpoint import Checkpoint
from model.engine import scoring
from model.engine.network import Network
from model.engine.prefix_cache import PrefixCache, TokenScore, common_prefix
from model.engine.scoring import score_texts

TOKENS = st.lists(st.integers(3, 8), min_size=1, max_size=30)


def score(
    network: Network, prefixes: PrefixCache, texts: list[list[int]], top: int
) -> list[tuple[TokenScore, ...]]:
    for step in score_texts(network, prefixes, texts, top):
        if step is not None:
            return step
    raise AssertionError("no result")


def alone(network: Network, text: list[int], top: int) -> tuple[TokenScore, ...]:
    log_probs = network.logits(network.extend([(network.cache(), text)]))
    log_probs = log_probs - torch.logsumexp(log_probs, 1, keepdim=True)
    scores = []
    for position, token in enumerate(text[1:]):
        values, ids = log_probs[position].topk(top) if top else (torch.empty(0), torch.empty(0))
        best = tuple(zip(ids.tolist(), values.tolist(), strict=True))
        scores.append(TokenScore(float(log_probs[position, token]), best))
    return tuple(scores)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    start=st.lists(st.integers(3, 8), max_size=20),
    ends=st.lists(TOKENS, min_size=1, max_size=8),
    top=st.integers(0, 3),
)
def test_any_set_of_texts(
    tiny: Checkpoint, kernels: Kernels, start: list[int], ends: list[list[int]], top: int
) -> None:
    network, prefixes = Network(tiny, kernels), PrefixCache(1 << 30)
    texts = [start + end for end in ends]
    wanted = [alone(network, text, top) for text in texts]
    # Twice: the second time the base comes out of the prefix cache.
    for _ in range(2):
        assert score(network, prefixes, texts, top) == wanted


@pytest.mark.parametrize("rows", [4, 7, 256])
def test_texts_longer_than_a_step(
    tiny: Checkpoint, kernels: Kernels, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(scoring, "ROWS_A_STEP", rows)
    network, prefixes = Network(tiny, kernels), PrefixCache(1 << 30)
    generator = torch.Generator().manual_seed(1)
    start = torch.randint(3, 259, (33,), generator=generator).tolist()
    texts = [start + torch.randint(3, 259, (n,), generator=generator).tolist() for n in (1, 2, 9, 40, 7, 8)]
    texts += [start, start[:5], [3], texts[0]]
    assert score(network, prefixes, texts, 2) == [alone(network, text, 2) for text in texts]


def test_a_prefix_scored_with_fewer_alternatives_is_not_used(tiny: Checkpoint, kernels: Kernels) -> None:
    network, prefixes = Network(tiny, kernels), PrefixCache(1 << 30)
    text = list(range(3, 40))
    score(network, prefixes, [text], 0)
    assert score(network, prefixes, [text], 3) == [alone(network, text, 3)]
    assert score(network, prefixes, [text], 1) == [alone(network, text, 1)]


def test_shared_beginning_is_computed_once(tiny: Checkpoint, kernels: Kernels) -> None:
    network, prefixes = Network(tiny, kernels), PrefixCache(1 << 30)
    fed = 0
    extend = network.extend

    def counting(parts: list[tuple[object, list[int]]]) -> torch.Tensor:
        nonlocal fed
        fed += sum(len(tokens) for _, tokens in parts)
        return extend(parts)  # type: ignore[arg-type]

    network.extend = counting  # type: ignore[method-assign,assignment]
    start = list(range(3, 203))
    texts = [[*start, token, 7, 8] for token in range(10, 20)]
    score(network, prefixes, texts, 1)
    assert fed <= len(start) + 3 * len(texts)


@given(st.lists(st.integers(0, 2)), st.lists(st.integers(0, 2)))
def test_common_prefix(first: list[int], second: list[int]) -> None:
    plain = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        plain += 1
    assert common_prefix(first, second) == plain
