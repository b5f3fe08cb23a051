"""Remembers the keys and values of earlier prompts, so that a shared beginning is computed once."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from kernels.cache import KvCache
from model.engine.sampler import TopLogProbs


@dataclass(frozen=True)
class TokenScore:
    """A given token's natural log-probability after what stands before it, and the likeliest alternatives."""

    log_prob: float
    top: TopLogProbs


@dataclass(frozen=True)
class ScoredText:
    """hidden is every token's normed state; scores[i] is of token i + 1, with `top` alternatives."""

    hidden: torch.Tensor
    scores: tuple[TokenScore, ...]
    top: int


@dataclass(frozen=True)
class PrefixEntry:
    """A frozen cache without prefix, holding exactly ids. scored is there where the text was scored whole."""

    ids: tuple[int, ...]
    cache: KvCache
    scored: ScoredText | None = None

    @property
    def bytes(self) -> int:
        return self.cache.bytes + (self.scored.hidden.nbytes if self.scored is not None else 0)


class PrefixCache:
    """Entries of one weight version, least recently used first out. Cleared with new weights."""

    def __init__(self, budget_bytes: int) -> None:
        self.budget_bytes = budget_bytes
        self._entries: OrderedDict[tuple[int, ...], PrefixEntry] = OrderedDict()

    def longest(self, ids: Sequence[int], *, scored_top: int | None = None) -> tuple[PrefixEntry | None, int]:
        """The entry that shares the longest beginning with ids, and how many tokens that is.

        With scored_top only entries that were scored with at least so many alternatives.
        """
        best: PrefixEntry | None = None
        length = 0
        for entry in self._entries.values():
            if scored_top is not None and (entry.scored is None or entry.scored.top < scored_top):
                continue
            shared = common_prefix(entry.ids, ids)
            if shared > length:
                best, length = entry, shared
        if best is not None:
            self._entries.move_to_end(best.ids)
        return best, length

    def add(self, entry: PrefixEntry) -> None:
        old = self._entries.get(entry.ids)
        if old is not None and old.scored is not None and entry.scored is None:
            return
        if entry.bytes > self.budget_bytes:
            return
        self._entries[entry.ids] = entry
        self._entries.move_to_end(entry.ids)
        while sum(kept.bytes for kept in self._entries.values()) > self.budget_bytes:
            self._entries.popitem(last=False)

    def clear(self) -> None:
        self._entries.clear()


def common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """How many tokens two sequences share at their beginning."""
    length = min(len(first), len(second))
    # Compared in halves as slices, which is far faster than token by token.
    low, high = 0, length
    while low < high:
        middle = (low + high + 1) // 2
        if tuple(first[low:middle]) == tuple(second[low:middle]):
            low = middle
        else:
            high = middle - 1
    return low
