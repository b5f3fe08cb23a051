"""The C++ build as Kernels: packs weights and passes tensors by address."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from kernels.cache import AttentionShape, Span
from kernels.contract import PackedMatrix
from kernels.formats import BLOCK, BlockMatrix

GROUP = 16
_FORMATS = {"q4_1": 0, "q8_0": 1, "float32": 2}
_LANES = {16: "AVX-512", 8: "AVX2", 4: "portable"}


class _Span(ctypes.Structure):
    _fields_ = [
        ("row", ctypes.c_long),
        ("rows", ctypes.c_long),
        ("before", ctypes.c_long),
        ("prefix", ctypes.c_long),
        ("prefix_keys", ctypes.c_void_p),
        ("prefix_values", ctypes.c_void_p),
        ("prefix_capacity", ctypes.c_long),
        ("keys", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
        ("capacity", ctypes.c_long),
    ]


class _Shape(ctypes.Structure):
    _fields_ = [("heads", ctypes.c_int), ("kv_heads", ctypes.c_int), ("head_dim", ctypes.c_int)]


@dataclass(frozen=True)
class CpuMatrix:
    """Packed weights; padded is the number of rows rounded up to whole groups of 16."""

    format: int
    shape: tuple[int, int]
    padded: int
    bytes: torch.Tensor


class CpuKernels:
    """Threads are shared by the whole process; one call runs at a time."""

    batch_invariant = True

    def __init__(self, library: Path, threads: int) -> None:
        self._c = ctypes.CDLL(str(library))
        pointer, number = ctypes.c_void_p, ctypes.c_int
        self._c.linear.argtypes = [pointer, number, number, pointer, number, number, pointer]
        self._c.rms_norm.argtypes = [pointer, pointer, number, number, ctypes.c_float, pointer]
        self._c.swiglu.argtypes = [pointer, number, number, pointer]
        self._c.attend.argtypes = [pointer, pointer, pointer, pointer, number, pointer, number, pointer]
        for function in ("linear", "rms_norm", "swiglu", "attend", "set_threads"):
            getattr(self._c, function).restype = None
        self._c.set_threads(threads)
        self.name = f"C++ ({_LANES[self._c.lanes()]})"

    def pack(self, parts: Sequence[BlockMatrix | torch.Tensor]) -> CpuMatrix:
        first = parts[0]
        if isinstance(first, BlockMatrix):
            blocks = torch.cat([part.blocks for part in parts if isinstance(part, BlockMatrix)])
            joined = BlockMatrix(first.format, blocks)
            if len(blocks) != sum(part.shape[0] for part in parts):
                raise ValueError("matrices of different formats can't be packed as one")
            packed, padded = _pack_blocks(joined)
            return CpuMatrix(_FORMATS[first.format], joined.shape, padded, packed)
        floats = torch.cat([part.float() for part in parts if isinstance(part, torch.Tensor)])
        rows, columns = floats.shape
        if columns % BLOCK:
            raise ValueError(f"a matrix must have a multiple of {BLOCK} columns, not {columns}")
        groups = _grouped(floats).transpose(1, 2).contiguous()
        return CpuMatrix(_FORMATS["float32"], (rows, columns), len(groups) * GROUP, groups)

    def linear(self, x: torch.Tensor, packed: PackedMatrix) -> torch.Tensor:
        assert isinstance(packed, CpuMatrix)
        rows, columns = packed.shape
        if x.shape[1] != columns:
            raise ValueError(f"{x.shape[1]} inputs for a matrix of {columns} columns")
        x = _floats(x)
        out = torch.empty(len(x), packed.padded)
        if len(x):
            self._c.linear(
                x.data_ptr(),
                len(x),
                columns,
                packed.bytes.data_ptr(),
                packed.format,
                packed.padded // GROUP,
                out.data_ptr(),
            )
        return out if packed.padded == rows else out[:, :rows].contiguous()

    def rms_norm(self, x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
        x, weight = _floats(x), _floats(weight)
        _whole_groups(x.shape[1])
        out = torch.empty_like(x)
        self._c.rms_norm(x.data_ptr(), weight.data_ptr(), len(x), x.shape[1], eps, out.data_ptr())
        return out

    def swiglu(self, gate_up: torch.Tensor) -> torch.Tensor:
        gate_up = _floats(gate_up)
        size = gate_up.shape[1] // 2
        _whole_groups(size)
        out = torch.empty(len(gate_up), size)
        self._c.swiglu(gate_up.data_ptr(), len(gate_up), size, out.data_ptr())
        return out

    def attend(
        self,
        qkv: torch.Tensor,
        cosine: torch.Tensor,
        sine: torch.Tensor,
        spans: Sequence[Span],
        shape: AttentionShape,
        layer: int,
    ) -> torch.Tensor:
        _whole_groups(shape.head_dim)
        qkv, cosine, sine = _floats(qkv), _floats(cosine), _floats(sine)
        listed = (_Span * len(spans))(*(_described(span) for span in spans))
        # Held by a name: an address does not keep what it points to alive.
        dimensions = _Shape(shape.heads, shape.kv_heads, shape.head_dim)
        out = torch.empty(len(qkv), shape.heads * shape.head_dim)
        self._c.attend(
            qkv.data_ptr(),
            cosine.data_ptr(),
            sine.data_ptr(),
            ctypes.addressof(listed),
            len(spans),
            ctypes.addressof(dimensions),
            layer,
            out.data_ptr(),
        )
        return out


def _described(span: Span) -> _Span:
    cache, prefix = span.cache, span.cache.prefix
    if cache.own + span.rows > cache.capacity:
        raise ValueError("a cache has no room for its span: call make_room first")
    return _Span(
        span.row,
        span.rows,
        cache.own,
        prefix.own if prefix is not None else 0,
        prefix.keys.data_ptr() if prefix is not None else 0,
        prefix.values.data_ptr() if prefix is not None else 0,
        prefix.capacity if prefix is not None else 0,
        cache.keys.data_ptr(),
        cache.values.data_ptr(),
        cache.capacity,
    )


def _floats(x: torch.Tensor) -> torch.Tensor:
    if x.dtype != torch.float32 or x.device.type != "cpu":
        raise ValueError(f"float32 on the CPU wanted, not {x.dtype} on {x.device}")
    return x.contiguous()


def _whole_groups(size: int) -> None:
    if size % GROUP:
        raise ValueError(f"a multiple of {GROUP} wanted, not {size}")


def _grouped(rows: torch.Tensor) -> torch.Tensor:
    """(rows, ...) as (groups, 16, ...), with rows of zeros at the end."""
    missing = -len(rows) % GROUP
    if missing:
        rows = torch.cat((rows, rows.new_zeros(missing, *rows.shape[1:])))
    return rows.view(-1, GROUP, *rows.shape[1:])


def _pack_blocks(matrix: BlockMatrix) -> tuple[torch.Tensor, int]:
    """uint8 (groups, blocks, bytes a group's block), laid out as linear.cpp says; and the padded rows."""
    _, _, quants = matrix.parts()
    # (groups, blocks, inputs, 16)
    lanes = _grouped(quants).permute(0, 2, 3, 1)
    groups, blocks = lanes.shape[:2]
    head = 2 if matrix.format == "q8_0" else 4
    scales = _grouped(matrix.blocks[..., :head].contiguous().view(torch.int16)).permute(0, 2, 3, 1)
    if matrix.format == "q4_1":
        lanes = lanes[:, :, 0::2] | (lanes[:, :, 1::2] << 4)
    packed = torch.cat(
        (
            scales.contiguous().view(torch.uint8).reshape(groups, blocks, -1),
            lanes.reshape(groups, blocks, -1),
        ),
        dim=-1,
    )
    return packed.contiguous(), groups * GROUP
