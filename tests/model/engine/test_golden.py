"""Tokens and log-probabilities of the bundled model against an independent implementation, named there."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from kernels.contract import Kernels
from kernels.reference import ReferenceKernels
from model.checkpoints.checkpoint import Checkpoint
from model.engine.network import Network
from model.engine.tokenizer import TextTokenizer

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / "smollm2.json").read_text())


@pytest.fixture(scope="module")
def tokenizer(bundled: Checkpoint) -> TextTokenizer:
    return TextTokenizer(bundled.vocabulary)


@pytest.mark.parametrize(("text", "ids"), GOLDEN["tokenized"])
def test_tokens(tokenizer: TextTokenizer, text: str, ids: list[int]) -> None:
    assert tokenizer.encode(text) == ids
    assert tokenizer.decode(ids, keep_special=True) == text


def agrees(log_probs: torch.Tensor, tolerance: float) -> None:
    ids = GOLDEN["ids"]
    ours = log_probs[torch.arange(len(ids) - 1), torch.tensor(ids[1:])]
    assert (ours - torch.tensor(GOLDEN["log_probs"])).abs().max() < tolerance
    for position, best in zip(GOLDEN["positions"], GOLDEN["likeliest"], strict=True):
        values, found = log_probs[position].topk(5)
        assert found.tolist() == [token for token, _ in best]
        assert torch.allclose(values, torch.tensor([value for _, value in best]), atol=tolerance)


def test_float_module(bundled: Checkpoint) -> None:
    with torch.no_grad():
        agrees(bundled.module()(torch.tensor([GOLDEN["ids"]]))[0].log_softmax(-1), 1e-3)


def test_engine_network(bundled: Checkpoint, kernels: Kernels) -> None:
    network = Network(bundled, kernels)
    hidden = network.extend([(network.cache(), GOLDEN["ids"])])
    agrees(network.logits(hidden).log_softmax(-1), 1e-3)


def test_engine_network_on_pytorch(bundled: Checkpoint) -> None:
    network = Network(bundled, ReferenceKernels())
    hidden = network.extend([(network.cache(), GOLDEN["ids"])])
    agrees(network.logits(hidden).log_softmax(-1), 1e-3)


def test_decoding_token_by_token_gives_the_bits_of_reading_at_once(
    bundled: Checkpoint, kernels: Kernels
) -> None:
    network = Network(bundled, kernels)
    ids = GOLDEN["ids"]
    whole = network.extend([(network.cache(), ids)])
    cache = network.cache()
    steps = torch.cat([network.extend([(cache, [token])]) for token in ids])
    if kernels.batch_invariant:
        assert torch.equal(steps, whole)
        assert torch.equal(network.logits(steps[-1:]), network.logits(whole)[-1:])
    else:
        assert (network.logits(steps) - network.logits(whole)).abs().max() < 1e-2
