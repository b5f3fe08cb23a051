"""Completions laid over each other give what each gives alone."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from model.architectures.llama import Llama, LlamaConfig
from model.training.log_probs import Completion, plant, trie_log_probs

CONFIG = LlamaConfig(
    vocabulary_size=11,
    hidden_size=24,
    feed_forward_size=40,
    layers=2,
    heads=4,
    kv_heads=2,
    head_dim=6,
    context_length=64,
    rope_theta=10000.0,
    norm_eps=1e-5,
)
torch.manual_seed(0)
MODEL = Llama(CONFIG)
ids = st.lists(st.integers(0, 3), min_size=1, max_size=7).map(tuple)


def alone(completion: Completion) -> torch.Tensor:
    whole = completion.prompt_ids + completion.output_ids
    table = MODEL(torch.tensor([whole]))[0].log_softmax(-1)
    start = len(completion.prompt_ids)
    return torch.stack([table[at - 1, whole[at]] for at in range(start, len(whole))])


def together(completions: list[Completion], max_tokens: int) -> list[torch.Tensor]:
    found = {}
    for trie in plant(completions, max_tokens):
        found.update(zip(trie.members, trie_log_probs(MODEL, trie, completions), strict=True))
    return [found[i] for i in range(len(completions))]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.builds(Completion, ids, ids), min_size=1, max_size=8), st.integers(1, 40))
def test_a_trie_gives_what_each_completion_gives_alone(completions: list[Completion], room: int) -> None:
    for completion, found in zip(completions, together(completions, room), strict=True):
        torch.testing.assert_close(found, alone(completion), atol=1e-5, rtol=1e-5)


def test_the_gradient_is_that_of_each_alone() -> None:
    completions = [
        Completion((1, 2, 3), (4, 5)),
        Completion((1, 2, 3), (4, 6, 7)),
        Completion((1, 2, 3, 4, 5, 9), (1,)),
    ]
    MODEL.zero_grad()
    torch.cat(together(completions, 100)).sum().backward()
    shared = [p.grad.clone() for p in MODEL.parameters() if p.grad is not None]
    MODEL.zero_grad()
    torch.cat([alone(c) for c in completions]).sum().backward()
    for one, other in zip(shared, (p.grad for p in MODEL.parameters()), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_shared_prefixes_are_computed_once_and_none_is_cut() -> None:
    completions = [Completion((1,) * 30, (n, 3)) for n in range(4)] + [Completion((2,) * 50, (1,))]
    tries = list(plant(completions, 40))
    assert [len(t.token) for t in tries] == [34, 50]
    assert sorted(m for t in tries for m in t.members) == [0, 1, 2, 3, 4]


def test_a_completion_needs_ids() -> None:
    with pytest.raises(ValueError, match="at least one id"):
        Completion((), (1,))
