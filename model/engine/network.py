"""The Llama network on the kernels: many sequences in one ragged batch, with their caches."""

from collections.abc import Sequence

import torch

from kernels.cache import AttentionShape, KvCache, Span
from kernels.contract import Kernels, PackedMatrix
from kernels.formats import BlockMatrix
from model.architectures.llama import rope_table
from model.checkpoints.checkpoint import Checkpoint


class _Layer:
    def __init__(self, checkpoint: Checkpoint, index: int, kernels: Kernels) -> None:
        tensors = checkpoint.tensors

        def packed(*places: str) -> PackedMatrix:
            return kernels.pack([tensors[f"layers.{index}.{place}.weight"] for place in places])

        self.attention_norm = _floats(tensors[f"layers.{index}.attention_norm.weight"])
        self.qkv = packed("attention.q", "attention.k", "attention.v")
        self.output = packed("attention.output")
        self.feed_forward_norm = _floats(tensors[f"layers.{index}.feed_forward_norm.weight"])
        self.gate_up = packed("feed_forward.gate", "feed_forward.up")
        self.down = packed("feed_forward.down")


class Network:
    """Computes the function of `Llama` from a checkpoint's tensors, quantised or float32."""

    def __init__(self, checkpoint: Checkpoint, kernels: Kernels) -> None:
        config = checkpoint.config
        self.config = config
        self.weight_version = checkpoint.weight_version
        self.kernels = kernels
        self.shape = AttentionShape(config.layers, config.heads, config.kv_heads, config.head_dim)
        self._embedding = checkpoint.tensors["embedding.weight"]
        self._layers = [_Layer(checkpoint, index, kernels) for index in range(config.layers)]
        self._norm = _floats(checkpoint.tensors["norm.weight"])
        head = self._embedding if config.tied_embeddings else checkpoint.tensors["head.weight"]
        self._head = kernels.pack([head])
        self._cosine, self._sine = rope_table(torch.arange(config.context_length), config)

    def cache(self, prefix: KvCache | None = None, room: int = 0) -> KvCache:
        return KvCache(self.shape, prefix, room)

    def extend(self, parts: Sequence[tuple[KvCache, Sequence[int]]]) -> torch.Tensor:
        """Feed each cache its next token ids; the caches then hold them.

        Returns every token's normed hidden state, float32 (total tokens, hidden), in the order of the parts.
        """
        spans: list[Span] = []
        ids: list[int] = []
        positions: list[int] = []
        for cache, tokens in parts:
            cache.make_room(len(tokens))
            spans.append(Span(len(ids), len(tokens), cache))
            positions.extend(range(cache.length, cache.length + len(tokens)))
            ids.extend(tokens)
        at = torch.tensor(positions)
        cosine, sine = self._cosine[at], self._sine[at]
        k, eps = self.kernels, self.config.norm_eps
        x = self._embed(torch.tensor(ids))
        for index, layer in enumerate(self._layers):
            qkv = k.linear(k.rms_norm(x, layer.attention_norm, eps), layer.qkv)
            x.add_(k.linear(k.attend(qkv, cosine, sine, spans, self.shape, index), layer.output))
            gate_up = k.linear(k.rms_norm(x, layer.feed_forward_norm, eps), layer.gate_up)
            x.add_(k.linear(k.swiglu(gate_up), layer.down))
        for span in spans:
            span.cache.own += span.rows
        return k.rms_norm(x, self._norm, eps)

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """(n, hidden) to (n, vocabulary)."""
        return self.kernels.linear(hidden, self._head)

    def _embed(self, ids: torch.Tensor) -> torch.Tensor:
        if isinstance(self._embedding, BlockMatrix):
            return self._embedding.rows(ids).dequantise()
        return self._embedding[ids]


def _floats(tensor: BlockMatrix | torch.Tensor) -> torch.Tensor:
    return tensor.dequantise() if isinstance(tensor, BlockMatrix) else tensor.to(torch.float32).contiguous()
