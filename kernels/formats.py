"""Block formats of quantised matrices, as GGUF defines them, and their exact meaning in float32.

A row is cut into blocks of 32 weights. Scales are float16. Source: ggml's GGUF specification.

| format | bytes a block | weight |
| --- | --- | --- |
| q4_1 | d (2), m (2), 16 bytes; byte j holds weight j low, weight j + 16 high | d * q + m, q in 0..15 |
| q8_0 | d (2), 32 signed bytes | d * q |
"""

from dataclasses import dataclass
from typing import Literal

import torch

BlockFormat = Literal["q4_1", "q8_0"]

BLOCK = 32
BLOCK_BYTES: dict[BlockFormat, int] = {"q4_1": 20, "q8_0": 34}


@dataclass(frozen=True)
class BlockMatrix:
    """A quantised matrix; blocks is uint8 of shape (rows, columns / 32, bytes a block)."""

    format: BlockFormat
    blocks: torch.Tensor

    def __post_init__(self) -> None:
        if self.blocks.dtype != torch.uint8 or self.blocks.dim() != 3:
            raise ValueError("blocks must be uint8 of shape (rows, blocks, bytes)")
        if self.blocks.shape[2] != BLOCK_BYTES[self.format]:
            raise ValueError(
                f"a {self.format} block has {BLOCK_BYTES[self.format]} bytes, not {self.blocks.shape[2]}"
            )

    @property
    def shape(self) -> tuple[int, int]:
        return self.blocks.shape[0], self.blocks.shape[1] * BLOCK

    def rows(self, order: torch.Tensor) -> "BlockMatrix":
        """The rows picked by an index tensor, in that order. Whole rows move, so nothing is rounded again."""
        return BlockMatrix(self.format, self.blocks[order])

    def parts(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Scales, minima (rows, blocks; float32) and quants (rows, blocks, 32; uint8, q8_0 as int8 bits)."""
        scale = _halves(self.blocks[..., 0:2])
        if self.format == "q8_0":
            return scale, torch.zeros_like(scale), self.blocks[..., 2:].contiguous()
        packed = self.blocks[..., 4:]
        return scale, _halves(self.blocks[..., 2:4]), torch.cat((packed & 15, packed >> 4), dim=-1)

    def dequantise(self) -> torch.Tensor:
        """float32 of shape (rows, columns). The product d * q fits float32 exactly, so only + m rounds."""
        scale, minimum, quants = self.parts()
        values = (quants.view(torch.int8) if self.format == "q8_0" else quants).to(torch.float32)
        return (scale.unsqueeze(-1) * values + minimum.unsqueeze(-1)).reshape(self.shape)


def _halves(pair: torch.Tensor) -> torch.Tensor:
    return pair.contiguous().view(torch.float16).squeeze(-1).to(torch.float32)
