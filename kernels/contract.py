"""What every build of the kernels offers. All tensors are float32 and contiguous."""

from collections.abc import Sequence
from typing import Protocol

import torch

from kernels.cache import AttentionShape, Span
from kernels.formats import BlockMatrix


class PackedMatrix(Protocol):
    @property
    def shape(self) -> tuple[int, int]: ...


class Kernels(Protocol):
    """Each row of a result depends on that row's inputs alone, bit for bit where `batch_invariant`."""

    @property
    def name(self) -> str: ...

    @property
    def batch_invariant(self) -> bool: ...

    def pack(self, parts: Sequence[BlockMatrix | torch.Tensor]) -> PackedMatrix:
        """Matrices of one format and width, stacked by rows, in the order that this build reads fastest."""
        ...

    def linear(self, x: torch.Tensor, packed: PackedMatrix) -> torch.Tensor:
        """x (n, columns) times the matrix transposed: (n, rows)."""
        ...

    def rms_norm(self, x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor: ...

    def swiglu(self, gate_up: torch.Tensor) -> torch.Tensor:
        """(n, 2 * size), the gate first: silu(gate) * up, (n, size)."""
        ...

    def attend(
        self,
        qkv: torch.Tensor,
        cosine: torch.Tensor,
        sine: torch.Tensor,
        spans: Sequence[Span],
        shape: AttentionShape,
        layer: int,
    ) -> torch.Tensor:
        """Rotate, remember and attend for the rows of all spans.

        qkv (n, shape.row) holds queries, keys, values; cosine and sine are (n, head_dim / 2). The caches
        must have room; new keys and values are written after a cache's own, and its count stays, since
        all layers of a step write at the same place. Returns (n, heads * head_dim).
        """
        ...
