"""Reads GGUF files (version 2 and 3, little endian) of the Llama architecture. Source: its specification."""

import hashlib
import mmap
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from kernels.formats import BLOCK, BLOCK_BYTES, BlockFormat, BlockMatrix
from model.architectures.llama import LlamaConfig
from model.checkpoints.checkpoint import Checkpoint, CheckpointError, Vocabulary, check_tensors

MetaValue = int | float | bool | str | list["MetaValue"]

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_FLOATS = {0: torch.float32, 1: torch.float16, 30: torch.bfloat16}
_BLOCKS: dict[int, BlockFormat] = {3: "q4_1", 8: "q8_0"}
_NORMAL_TOKEN = 1


@dataclass(frozen=True)
class GgufFile:
    """The metadata and tensors of one file; tensors are copies, so the file may go afterwards."""

    metadata: dict[str, MetaValue]
    tensors: dict[str, BlockMatrix | torch.Tensor]
    digest: str


class _Cursor:
    """Reads values one after the other out of the file's bytes."""

    def __init__(self, content: mmap.mmap) -> None:
        self.content = content
        self.at = 0

    def scalar(self, code: str) -> int | float | bool:
        layout = struct.Struct("<" + code)
        value: int | float | bool = layout.unpack_from(self.content, self.at)[0]
        self.at += layout.size
        return value

    def count(self) -> int:
        return int(self.scalar("Q"))

    def string(self) -> str:
        length = self.count()
        if length > len(self.content) - self.at:
            raise struct.error("a string runs past the end of the file")
        self.at += length
        return self.content[self.at - length : self.at].decode("utf-8")

    def value(self, kind: int) -> MetaValue:
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY:
            return self.scalar(_SCALARS[kind])
        element, length = int(self.scalar("I")), self.count()
        if element in (_STRING, _ARRAY):
            return [self.value(element) for _ in range(length)]
        layout = struct.Struct(f"<{length}{_SCALARS[element]}")
        values: list[MetaValue] = list(layout.unpack_from(self.content, self.at))
        self.at += layout.size
        return values


def read_gguf(path: Path) -> GgufFile:
    """The whole file. Raises CheckpointError where it is cut short or holds something not known here."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _parse(content, path)
    except (struct.error, UnicodeDecodeError, KeyError, ValueError, OSError) as error:
        raise CheckpointError(f"{path} is not a whole GGUF file ({error}): fetch it again") from error


def _parse(content: mmap.mmap, path: Path) -> GgufFile:
    cursor = _Cursor(content)
    if content[:4] != b"GGUF":
        raise ValueError("it does not begin with GGUF")
    cursor.at = 4
    version = int(cursor.scalar("I"))
    if version not in (2, 3):
        raise ValueError(f"version {version}")
    tensor_count, metadata_count = cursor.count(), cursor.count()
    metadata = {}
    for _ in range(metadata_count):
        name = cursor.string()
        metadata[name] = cursor.value(int(cursor.scalar("I")))
    entries = []
    for _ in range(tensor_count):
        name = cursor.string()
        dimensions = [cursor.count() for _ in range(int(cursor.scalar("I")))]
        entries.append((name, dimensions[::-1], int(cursor.scalar("I")), cursor.count()))
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment < 1:
        raise ValueError("its alignment is not a positive number")
    start = -(-cursor.at // alignment) * alignment
    tensors = {
        name: _tensor(content, start + offset, shape, kind, name, path)
        for name, shape, kind, offset in entries
    }
    return GgufFile(metadata, tensors, hashlib.sha256(content).hexdigest())


def _tensor(
    content: mmap.mmap, start: int, shape: list[int], kind: int, name: str, path: Path
) -> BlockMatrix | torch.Tensor:
    count = 1
    for size in shape:
        count *= size
    if kind in _FLOATS:
        length = count * _FLOATS[kind].itemsize
    elif kind in _BLOCKS and len(shape) == 2 and shape[1] % BLOCK == 0:
        length = count // BLOCK * BLOCK_BYTES[_BLOCKS[kind]]
    else:
        raise CheckpointError(
            f"{path}: tensor {name} has ggml type {kind} and shape {shape}, which this engine does not read: "
            "use a file in Q4_1, Q8_0, F16, BF16 or F32"
        )
    raw = torch.frombuffer(bytearray(content[start : start + length]), dtype=torch.uint8)
    if len(raw) != length:
        raise ValueError(f"tensor {name} runs past the end of the file")
    if kind in _FLOATS:
        return raw.view(_FLOATS[kind]).reshape(shape).to(torch.float32)
    return BlockMatrix(_BLOCKS[kind], raw.reshape(shape[0], shape[1] // BLOCK, -1))


def load_gguf(path: Path) -> Checkpoint:
    """The Llama checkpoint in a GGUF file; its weight version is made of the file's digest."""
    file = read_gguf(path)
    architecture = file.metadata.get("general.architecture")
    if architecture != "llama":
        raise CheckpointError(f"{path} holds the architecture {architecture!r}: only llama is read from GGUF")
    try:
        config = _config(file)
        vocabulary = _vocabulary(file.metadata)
        tensors = _named(file.tensors, config)
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path} lacks what a llama model needs ({error}): use another file") from error
    check_tensors(config, tensors, str(path))
    return Checkpoint(config, vocabulary, tensors, f"gguf-{file.digest[:12]}")


def _config(file: GgufFile) -> LlamaConfig:
    def number(key: str) -> int:
        value = file.metadata[f"llama.{key}"]
        if not isinstance(value, int):
            raise TypeError(f"llama.{key} is not a whole number")
        return value

    def real(key: str, default: float | None = None) -> float:
        value = file.metadata.get(f"llama.{key}", default)
        if not isinstance(value, int | float):
            raise TypeError(f"llama.{key} is not a number")
        return float(value)

    for key in file.metadata:
        if key.startswith("llama.rope.scaling"):
            raise ValueError("rotary scaling, which is not implemented")
    heads = number("attention.head_count")
    head_dim = number("embedding_length") // heads
    if file.metadata.get("llama.rope.dimension_count", head_dim) != head_dim:
        raise ValueError("rotation of a part of the head, which is not implemented")
    return LlamaConfig(
        vocabulary_size=file.tensors["token_embd.weight"].shape[0],
        hidden_size=number("embedding_length"),
        feed_forward_size=number("feed_forward_length"),
        layers=number("block_count"),
        heads=heads,
        kv_heads=number("attention.head_count_kv"),
        head_dim=head_dim,
        context_length=number("context_length"),
        rope_theta=real("rope.freq_base", 10000.0),
        norm_eps=real("attention.layer_norm_rms_epsilon"),
        tied_embeddings="output.weight" not in file.tensors,
    )


def _vocabulary(metadata: dict[str, MetaValue]) -> Vocabulary:
    if metadata["tokenizer.ggml.model"] != "gpt2":
        raise ValueError("a byte-level BPE vocabulary")
    types = metadata["tokenizer.ggml.token_type"]
    assert isinstance(types, list)
    return Vocabulary.model_validate(
        {
            "pre_tokenizer": metadata["tokenizer.ggml.pre"],
            "tokens": metadata["tokenizer.ggml.tokens"],
            "merges": metadata["tokenizer.ggml.merges"],
            "special_ids": [i for i, kind in enumerate(types) if kind != _NORMAL_TOKEN],
            "bos_id": metadata.get("tokenizer.ggml.bos_token_id"),
            "eos_id": metadata["tokenizer.ggml.eos_token_id"],
            "padding_id": metadata.get("tokenizer.ggml.padding_token_id"),
            "add_bos": metadata.get("tokenizer.ggml.add_bos_token", False),
            "chat_template": metadata.get("tokenizer.chat_template"),
        }
    )


_LAYER_NAMES = {
    "attn_norm": "attention_norm",
    "attn_q": "attention.q",
    "attn_k": "attention.k",
    "attn_v": "attention.v",
    "attn_output": "attention.output",
    "ffn_norm": "feed_forward_norm",
    "ffn_gate": "feed_forward.gate",
    "ffn_up": "feed_forward.up",
    "ffn_down": "feed_forward.down",
}
_OUTER_NAMES = {"token_embd": "embedding", "output_norm": "norm", "output": "head"}


def _named(
    tensors: dict[str, BlockMatrix | torch.Tensor], config: LlamaConfig
) -> dict[str, BlockMatrix | torch.Tensor]:
    named: dict[str, BlockMatrix | torch.Tensor] = {}
    heads = {"attention.q": config.heads, "attention.k": config.kv_heads}
    for name, tensor in tensors.items():
        stem = name.removesuffix(".weight")
        if not stem.startswith("blk."):
            named[f"{_OUTER_NAMES[stem]}.weight"] = tensor
            continue
        _, layer, inner = stem.split(".")
        place = _LAYER_NAMES[inner]
        if place in heads:
            tensor = _half_split(tensor, heads[place], config.head_dim)
        named[f"layers.{layer}.{place}.weight"] = tensor
    return named


def _half_split(tensor: BlockMatrix | torch.Tensor, heads: int, head_dim: int) -> BlockMatrix | torch.Tensor:
    """GGUF stores q and k with the two parts of a rotated pair side by side; ours stand half a head apart."""
    order = torch.arange(heads * head_dim).reshape(heads, head_dim // 2, 2).transpose(1, 2).reshape(-1)
    pick: Callable[[torch.Tensor], BlockMatrix | torch.Tensor] = (
        tensor.rows if isinstance(tensor, BlockMatrix) else tensor.__getitem__
    )
    return pick(order)
