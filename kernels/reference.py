"""The reference in PyTorch: what the kernels mean, and what runs where no compiler is found."""

from collections.abc import Sequence

import torch
from torch.nn import functional

from kernels.cache import AttentionShape, Span, put_keys
from kernels.contract import PackedMatrix
from kernels.formats import BlockMatrix


class FloatMatrix:
    """Weights dequantised once, float32 (rows, columns)."""

    def __init__(self, weight: torch.Tensor) -> None:
        self.weight = weight

    @property
    def shape(self) -> tuple[int, int]:
        return self.weight.shape[0], self.weight.shape[1]


class ReferenceKernels:
    name = "PyTorch"
    # Its matrix product picks another order of summation for another number of rows.
    batch_invariant = False

    def pack(self, parts: Sequence[BlockMatrix | torch.Tensor]) -> FloatMatrix:
        floats = [part.dequantise() if isinstance(part, BlockMatrix) else part.float() for part in parts]
        return FloatMatrix(torch.cat(floats).contiguous())

    def linear(self, x: torch.Tensor, packed: PackedMatrix) -> torch.Tensor:
        assert isinstance(packed, FloatMatrix)
        return functional.linear(x, packed.weight)

    def rms_norm(self, x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
        return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + eps) * weight

    def swiglu(self, gate_up: torch.Tensor) -> torch.Tensor:
        gate, up = gate_up.chunk(2, dim=-1)
        return functional.silu(gate) * up

    def attend(
        self,
        qkv: torch.Tensor,
        cosine: torch.Tensor,
        sine: torch.Tensor,
        spans: Sequence[Span],
        shape: AttentionShape,
        layer: int,
    ) -> torch.Tensor:
        turned = qkv.view(len(qkv), -1, shape.head_dim)
        queries, keys, values = torch.split(turned, [shape.heads, shape.kv_heads, shape.kv_heads], dim=1)
        queries, keys = _rotate(queries, cosine, sine), _rotate(keys, cosine, sine)
        out = torch.empty(len(qkv), shape.heads, shape.head_dim)
        for span in spans:
            rows = slice(span.row, span.row + span.rows)
            cache = span.cache
            end = cache.own + span.rows
            put_keys(cache.keys[layer : layer + 1], keys[rows].transpose(0, 1).unsqueeze(0), cache.own)
            cache.values[layer, :, cache.own : end] = values[rows].transpose(0, 1)
            all_keys = cache.keys[layer].transpose(2, 3).flatten(1, 2)[:, :end]
            all_values = cache.values[layer, :, :end]
            if cache.prefix is not None:
                before = cache.prefix.own
                shared = cache.prefix.keys[layer].transpose(2, 3).flatten(1, 2)[:, :before]
                all_keys = torch.cat((shared, all_keys), dim=1)
                all_values = torch.cat((cache.prefix.values[layer, :, :before], all_values), dim=1)
            total = all_keys.shape[1]
            mask = torch.ones(span.rows, total, dtype=torch.bool).tril(total - span.rows)
            found = functional.scaled_dot_product_attention(
                queries[rows].transpose(0, 1).unsqueeze(0),
                all_keys.unsqueeze(0),
                all_values.unsqueeze(0),
                attn_mask=mask,
                enable_gqa=True,
            )
            out[rows] = found.squeeze(0).transpose(0, 1)
        return out.flatten(1)


def _rotate(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, dim=-1)
    cosine, sine = cosine.unsqueeze(1), sine.unsqueeze(1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)
