"""The keys and values that attention remembers, in the layout that the CPU build reads."""

from dataclasses import dataclass

import torch

KEYS_A_GROUP = 16


@dataclass(frozen=True)
class AttentionShape:
    layers: int
    heads: int
    kv_heads: int
    head_dim: int

    @property
    def row(self) -> int:
        """Floats in a row of queries, keys and values together."""
        return (self.heads + 2 * self.kv_heads) * self.head_dim


class KvCache:
    """One sequence's keys and values, after a prefix that it may share with others and never writes to.

    keys is float32 of shape (layers, kv_heads, capacity / 16, head_dim, 16), rotated; values is
    (layers, kv_heads, capacity, head_dim). The prefix itself has none before it.
    """

    def __init__(self, shape: AttentionShape, prefix: "KvCache | None" = None, room: int = 0) -> None:
        if prefix is not None and prefix.prefix is not None:
            raise ValueError("a prefix can't have a prefix of its own")
        self.shape = shape
        self.prefix: KvCache | None = prefix
        self.own = 0
        self.keys, self.values = self._planes(room)

    @property
    def capacity(self) -> int:
        return self.values.shape[2]

    @property
    def length(self) -> int:
        """Tokens remembered, the prefix's included."""
        return self.own + (self.prefix.own if self.prefix is not None else 0)

    def make_room(self, tokens: int) -> None:
        """Capacity for that many tokens more; doubles, so that growth costs little."""
        if self.own + tokens > self.capacity:
            keys, values = self._planes(max(self.own + tokens, 2 * self.capacity))
            keys[:, :, : self.keys.shape[2]] = self.keys
            values[:, :, : self.capacity] = self.values
            self.keys, self.values = keys, values

    def front(self, length: int) -> "KvCache":
        """The first `length` own tokens, to be a prefix of others: shares the memory, so neither may grow."""
        if self.prefix is not None or length > self.own:
            raise ValueError("only the own tokens of a cache without a prefix can be shared")
        view = KvCache(self.shape)
        view.keys, view.values, view.own = self.keys, self.values, length
        return view

    def copy_front(self, length: int) -> "KvCache":
        """A prefix-less copy of the first `length` tokens."""
        copy = KvCache(self.shape, room=length)
        taken = 0
        for part in (self.prefix, self):
            count = min(length - taken, part.own) if part is not None else 0
            if part is None or count <= 0:
                continue
            copy.values[:, :, taken : taken + count] = part.values[:, :, :count]
            flat = part.keys.transpose(3, 4).flatten(2, 3)[:, :, :count]
            put_keys(copy.keys, flat, taken)
            taken += count
        copy.own = taken
        return copy

    @property
    def bytes(self) -> int:
        return self.keys.nbytes + self.values.nbytes

    def _planes(self, room: int) -> tuple[torch.Tensor, torch.Tensor]:
        # Zeroed: attention multiplies what lies past the end by a weight of 0, which must not meet a NaN.
        groups = -(-room // KEYS_A_GROUP)
        s = self.shape
        return (
            torch.zeros(s.layers, s.kv_heads, groups, s.head_dim, KEYS_A_GROUP),
            torch.zeros(s.layers, s.kv_heads, groups * KEYS_A_GROUP, s.head_dim),
        )


def put_keys(keys: torch.Tensor, flat: torch.Tensor, at: int) -> None:
    places = torch.arange(at, at + flat.shape[2])
    keys[:, :, places // KEYS_A_GROUP, :, places % KEYS_A_GROUP] = flat.permute(2, 0, 1, 3)


@dataclass(frozen=True)
class Span:
    """Rows of a batch that extend one sequence: `rows` of them from `row` on."""

    row: int
    rows: int
    cache: KvCache
