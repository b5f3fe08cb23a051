"""Our GGUF reader against the `gguf` package: the bundled file, and small ones that the package writes."""

from pathlib import Path

import gguf
import numpy
import pytest
import torch

from kernels.formats import BlockMatrix
from model.checkpoints.checkpoint import CheckpointError, load_checkpoint
from model.checkpoints.gguf import read_gguf
from model.weights import ensure_weights

TYPES = {
    "F32": gguf.GGMLQuantizationType.F32,
    "F16": gguf.GGMLQuantizationType.F16,
    "BF16": gguf.GGMLQuantizationType.BF16,
    "Q4_1": gguf.GGMLQuantizationType.Q4_1,
    "Q8_0": gguf.GGMLQuantizationType.Q8_0,
}


def floats(tensor: BlockMatrix | torch.Tensor) -> numpy.ndarray:
    return (tensor.dequantise() if isinstance(tensor, BlockMatrix) else tensor).numpy()


def write(path: Path, alignment: int | None = None) -> dict[str, numpy.ndarray]:
    """A file with every tensor type and metadata type; returns what the tensors mean."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_string("a.text", "naïve 日本")
    writer.add_array("an.array", [1, 2, 3])
    writer.add_array("strings", ["a", "", "ü"])
    writer.add_bool("yes", True)
    writer.add_float64("real", -0.25)
    writer.add_uint64("big", 1 << 40)
    writer.add_int8("small", -3)
    if alignment:
        writer.add_custom_alignment(alignment)
    generator = numpy.random.default_rng(1)
    meant = {}
    for name, kind in TYPES.items():
        raw = gguf.quantize(generator.standard_normal((6, 64), dtype=numpy.float32), kind)
        writer.add_tensor(name, raw, raw_dtype=kind)
        meant[name] = gguf.dequantize(raw, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return meant


@pytest.mark.parametrize("alignment", [None, 64, 256])
def test_every_type_and_value(tmp_path: Path, alignment: int | None) -> None:
    meant = write(tmp_path / "all.gguf", alignment)
    file = read_gguf(tmp_path / "all.gguf")
    for name, values in meant.items():
        assert numpy.array_equal(floats(file.tensors[name]), values), name
    expected = {
        "a.text": "naïve 日本",
        "an.array": [1, 2, 3],
        "strings": ["a", "", "ü"],
        "yes": True,
        "real": -0.25,
        "big": 1 << 40,
        "small": -3,
        "general.architecture": "llama",
    }
    assert expected.items() <= file.metadata.items()


def test_the_bundled_file() -> None:
    path = ensure_weights()
    file, theirs = read_gguf(path), gguf.GGUFReader(path)
    assert set(file.tensors) == {tensor.name for tensor in theirs.tensors}
    for tensor in theirs.tensors:
        if tensor.name.startswith(("blk.0.", "blk.29.", "output_norm")):
            values = gguf.dequantize(tensor.data, tensor.tensor_type)
            assert numpy.array_equal(floats(file.tensors[tensor.name]), values), tensor.name
    for name, field in theirs.fields.items():
        if not name.startswith("GGUF."):
            assert file.metadata[name] == field.contents(), name


def test_a_file_cut_anywhere_is_one_clear_error(tmp_path: Path) -> None:
    write(tmp_path / "all.gguf")
    content = (tmp_path / "all.gguf").read_bytes()
    # The last bytes only fill the last tensor up to the alignment.
    cut = tmp_path / "cut.gguf"
    for length in range(0, len(content) - 32, 37):
        cut.write_bytes(content[:length])
        with pytest.raises(CheckpointError, match="not a whole GGUF file"):
            read_gguf(cut)


def test_hostile_counts_are_refused(tmp_path: Path) -> None:
    """A length of 2^60 in the header must not be allocated."""
    bad = tmp_path / "bad.gguf"
    huge = (1 << 60).to_bytes(8, "little")
    bad.write_bytes(
        b"GGUF" + (3).to_bytes(4, "little") + bytes(8) + (1).to_bytes(8, "little") + huge + b"x" * 64
    )
    with pytest.raises(CheckpointError):
        read_gguf(bad)
    array = (1).to_bytes(8, "little") + b"k" + (9).to_bytes(4, "little") + (0).to_bytes(4, "little") + huge
    bad.write_bytes(
        b"GGUF" + (3).to_bytes(4, "little") + bytes(8) + (1).to_bytes(8, "little") + array + b"x" * 64
    )
    with pytest.raises(CheckpointError):
        read_gguf(bad)


def test_another_type_or_architecture_is_named(tmp_path: Path) -> None:
    path = tmp_path / "other.gguf"
    writer = gguf.GGUFWriter(path, "mamba")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(CheckpointError, match="'mamba'"):
        load_checkpoint(path)
    writer = gguf.GGUFWriter(path, "llama")
    kind = gguf.GGMLQuantizationType.Q5_0
    writer.add_tensor("x", gguf.quantize(numpy.ones((2, 32), numpy.float32), kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(CheckpointError, match="ggml type 6"):
        load_checkpoint(path)
