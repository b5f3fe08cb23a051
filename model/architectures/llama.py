"""The Llama family: grouped-query attention, rotary positions, RMSNorm, SwiGLU, tied embeddings.

The float module that training differentiates and that the engine is checked against. Rotary embedding is the
half-split kind (component i turns with component i + head_dim / 2). Sources: arXiv 2302.13971 (Llama),
2305.13245 (GQA), 2104.09864 (RoPE), 2002.05202 (SwiGLU).
"""

from typing import Literal

import torch
from pydantic import BaseModel, ConfigDict
from torch import nn
from torch.nn import functional


class LlamaConfig(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    architecture: Literal["llama"] = "llama"
    vocabulary_size: int
    hidden_size: int
    feed_forward_size: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    context_length: int
    rope_theta: float
    norm_eps: float
    tied_embeddings: bool = True


def rope_frequencies(config: LlamaConfig) -> torch.Tensor:
    """Radians a position, float32 of shape (head_dim / 2)."""
    exponent = torch.arange(0, config.head_dim, 2, dtype=torch.float32) / config.head_dim
    return 1.0 / config.rope_theta**exponent


def rope_table(positions: torch.Tensor, config: LlamaConfig) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosine and sine of shape (*positions.shape, head_dim / 2)."""
    angles = positions.to(torch.float32).unsqueeze(-1) * rope_frequencies(config).to(positions.device)
    return angles.cos(), angles.sin()


def rotate(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    """x is (batch, heads, length, head_dim); cosine and sine are (batch, 1, length, head_dim / 2)."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)


class RMSNorm(nn.Module):
    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + self.eps)
        return x * scale * self.weight


class Attention(nn.Module):
    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = config.heads, config.kv_heads, config.head_dim
        self.q = nn.Linear(config.hidden_size, config.heads * config.head_dim, bias=False)
        self.k = nn.Linear(config.hidden_size, config.kv_heads * config.head_dim, bias=False)
        self.v = nn.Linear(config.hidden_size, config.kv_heads * config.head_dim, bias=False)
        self.output = nn.Linear(config.heads * config.head_dim, config.hidden_size, bias=False)

    def forward(
        self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor, mask: torch.Tensor | None
    ) -> torch.Tensor:
        q = rotate(self._split(self.q(x), self.heads), cosine, sine)
        k = rotate(self._split(self.k(x), self.kv_heads), cosine, sine)
        v = self._split(self.v(x), self.kv_heads)
        attended = functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=mask is None, enable_gqa=True
        )
        projected: torch.Tensor = self.output(attended.transpose(1, 2).flatten(2))
        return projected

    def _split(self, x: torch.Tensor, heads: int) -> torch.Tensor:
        return x.view(*x.shape[:-1], heads, self.head_dim).transpose(1, 2)


class FeedForward(nn.Module):
    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.gate = nn.Linear(config.hidden_size, config.feed_forward_size, bias=False)
        self.up = nn.Linear(config.hidden_size, config.feed_forward_size, bias=False)
        self.down = nn.Linear(config.feed_forward_size, config.hidden_size, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        projected: torch.Tensor = self.down(functional.silu(self.gate(x)) * self.up(x))
        return projected


class Layer(nn.Module):
    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.hidden_size, config.norm_eps)
        self.attention = Attention(config)
        self.feed_forward_norm = RMSNorm(config.hidden_size, config.norm_eps)
        self.feed_forward = FeedForward(config)

    def forward(
        self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor, mask: torch.Tensor | None
    ) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x), cosine, sine, mask)
        forwarded: torch.Tensor = x + self.feed_forward(self.feed_forward_norm(x))
        return forwarded


def _embedding_weight(config: LlamaConfig) -> torch.Tensor:
    """Normally distributed; left alone on the meta device, where drawing would import PyTorch's compiler."""
    weight = torch.empty(config.vocabulary_size, config.hidden_size)
    return weight if weight.is_meta else nn.init.normal_(weight)


class Llama(nn.Module):
    """Parameter names are the tensor names of a Checkpoint (layers.0.attention.q.weight)."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(
            config.vocabulary_size, config.hidden_size, _weight=_embedding_weight(config)
        )
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.norm = RMSNorm(config.hidden_size, config.norm_eps)
        self.head = (
            None
            if config.tied_embeddings
            else nn.Linear(config.hidden_size, config.vocabulary_size, bias=False)
        )

    def forward(
        self,
        ids: torch.Tensor,
        positions: torch.Tensor | None = None,
        mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Logits of shape (batch, length, vocabulary) for ids of shape (batch, length).

        Without a mask attention is causal, so padding on the right changes nothing to its left. A mask is
        boolean, True where attention may look, of a shape that broadcasts to (batch, heads, length, length).
        """
        return self.logits(self.hidden(ids, positions, mask))

    def hidden(
        self,
        ids: torch.Tensor,
        positions: torch.Tensor | None = None,
        mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """The normed last hidden state, (batch, length, hidden): what `logits` turns into logits.

        Apart from `forward`, so that a loss can take logits of the positions that it needs and no others.
        """
        if positions is None:
            positions = torch.arange(ids.shape[1], device=ids.device).expand(ids.shape)
        cosine, sine = rope_table(positions.unsqueeze(1), self.config)
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x, cosine, sine, mask)
        normed: torch.Tensor = self.norm(x)
        return normed

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        head = self.embedding.weight if self.head is None else self.head.weight
        return functional.linear(hidden, head)
