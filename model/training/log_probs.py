"""Log-probabilities of sampled tokens with a gradient, each distinct prefix computed once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from model.architectures.llama import Llama


@dataclass(frozen=True)
class Completion:
    """Ids that went in and ids that came out. Neither may be empty."""

    prompt_ids: tuple[int, ...]
    output_ids: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.prompt_ids or not self.output_ids:
            raise ValueError("a completion needs at least one id in and one id out")


@dataclass(frozen=True)
class Trie:
    """Completions laid over each other where they begin alike.

    Node n holds token[n] and hangs on parent[n] (−1 for a root); its position is its depth. A conversation's
    turns and the attempts at one task share most of their tokens, so a trie is several times shorter than a
    padded batch, and needs no padding. predictors[i][k] is the node whose state predicts output k of the
    trie's completion i; members are the completions' indices in what the trie was planted from.
    """

    members: tuple[int, ...]
    token: tuple[int, ...]
    parent: tuple[int, ...]
    position: tuple[int, ...]
    predictors: tuple[tuple[int, ...], ...]

    def mask(self) -> Tensor | None:
        """True where a node sees another: itself and its ancestors. None where that is plain causal."""
        if all(parent == node - 1 for node, parent in enumerate(self.parent)):
            return None
        seen = torch.eye(len(self.token), dtype=torch.bool)
        for node, parent in enumerate(self.parent):
            if parent >= 0:
                seen[node, :node] = seen[parent, :node]
        return seen


def plant(completions: Sequence[Completion], max_tokens: int) -> Iterator[Trie]:
    """Tries over all completions, in lexical order of their ids, each of at most max_tokens nodes.

    A completion longer than max_tokens gets a trie of its own: nothing is cut.
    """
    order = sorted(range(len(completions)), key=lambda i: _path(completions[i]))
    waiting: list[int] = []
    size = 0
    previous: tuple[int, ...] = ()
    for index in order:
        path = _path(completions[index])
        added = len(path) - _shared(path, previous)
        if waiting and size + added > max_tokens:
            yield _trie(completions, waiting)
            waiting, size, added = [], 0, len(path)
        waiting.append(index)
        size += added
        previous = path
    if waiting:
        yield _trie(completions, waiting)


def trie_log_probs(model: Llama, trie: Trie, completions: Sequence[Completion]) -> list[Tensor]:
    """For each member, natural log-probabilities of its output ids at temperature 1, float32."""
    hidden = model.hidden(torch.tensor([trie.token]), torch.tensor([trie.position]), trie.mask())[0]
    lengths = [len(nodes) for nodes in trie.predictors]
    nodes = torch.tensor([node for nodes in trie.predictors for node in nodes])
    targets = torch.tensor([id for member in trie.members for id in completions[member].output_ids])
    distinct, row = torch.unique(nodes, return_inverse=True)
    logits = model.logits(hidden[distinct]).float()
    chosen = logits[row, targets] - logits.logsumexp(dim=-1)[row]
    return list(torch.split(chosen, lengths))


def _path(completion: Completion) -> tuple[int, ...]:
    """The last output id is only predicted, nothing follows it."""
    return completion.prompt_ids + completion.output_ids[:-1]


def _shared(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    for at, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return at
    return min(len(one), len(other))


def _trie(completions: Sequence[Completion], members: list[int]) -> Trie:
    token: list[int] = []
    parent: list[int] = []
    position: list[int] = []
    predictors = []
    nodes: dict[tuple[int, int], int] = {}
    for member in members:
        path, node = [], -1
        for depth, id in enumerate(_path(completions[member])):
            above = node
            node = nodes.setdefault((above, id), len(token))
            if node == len(token):
                token.append(id)
                parent.append(above)
                position.append(depth)
            path.append(node)
        predictors.append(tuple(path[len(completions[member].prompt_ids) - 1 :]))
    return Trie(tuple(members), tuple(token), tuple(parent), tuple(position), tuple(predictors))
