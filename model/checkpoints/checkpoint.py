"""The Checkpoint: a network's configuration, vocabulary and tensors, with the version that its tokens carry.

Our own training checkpoints are folders:

    config.json          format, weight_version and the network's configuration
    vocabulary.json      the vocabulary, merges, special ids and chat template
    model.safetensors    float32 tensors, named as the parameters of the module
"""

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from kernels.formats import BlockMatrix
from model.architectures.llama import Llama, LlamaConfig

CHECKPOINT_FORMAT = 1
FILES = ("config.json", "vocabulary.json", "model.safetensors")


class CheckpointError(RuntimeError):
    """A checkpoint can't be read or written."""


class Vocabulary(BaseModel):
    """What a byte-level BPE tokenizer is made of. special_ids never come out of ordinary text's merges."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pre_tokenizer: str
    tokens: tuple[str, ...]
    merges: tuple[str, ...]
    special_ids: tuple[int, ...]
    bos_id: int | None
    eos_id: int
    padding_id: int | None
    add_bos: bool
    chat_template: str | None


class _FolderConfig(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int
    weight_version: str
    network: LlamaConfig


@dataclass(frozen=True)
class Checkpoint:
    """tensors: quantised matrices as BlockMatrix, others float32, named as Llama's parameters."""

    config: LlamaConfig
    vocabulary: Vocabulary
    tensors: Mapping[str, BlockMatrix | torch.Tensor]
    weight_version: str

    def floats(self) -> dict[str, torch.Tensor]:
        """Every tensor in float32, quantised ones dequantised."""
        return {
            name: tensor.dequantise() if isinstance(tensor, BlockMatrix) else tensor.to(torch.float32)
            for name, tensor in self.tensors.items()
        }

    def module(self) -> Llama:
        """A float32 module that computes the checkpoint's function; its parameters are copies."""
        with torch.device("meta"):
            module = Llama(self.config)
        module.load_state_dict(
            {name: tensor.clone() for name, tensor in self.floats().items()}, strict=True, assign=True
        )
        return module


def load_checkpoint(path: Path) -> Checkpoint:
    """A GGUF file, or a folder that `save_checkpoint` wrote. Raises CheckpointError."""
    if path.is_dir():
        return _load_folder(path)
    if not path.exists():
        raise CheckpointError(f"no checkpoint at {path}: give a GGUF file or a folder that training wrote")
    from model.checkpoints.gguf import load_gguf

    return load_gguf(path)


def save_checkpoint(
    folder: Path,
    *,
    config: LlamaConfig,
    vocabulary: Vocabulary,
    tensors: Mapping[str, torch.Tensor],
    weight_version: str,
) -> Path:
    """Write a checkpoint folder under a temporary name, then rename it; an older one there is replaced."""
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    described = _FolderConfig(format=CHECKPOINT_FORMAT, weight_version=weight_version, network=config)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as temporary:
        whole = Path(temporary) / "whole"
        whole.mkdir()
        save_file(
            {name: tensor.detach().to("cpu", torch.float32).contiguous() for name, tensor in tensors.items()},
            whole / "model.safetensors",
        )
        (whole / "vocabulary.json").write_text(vocabulary.model_dump_json(), encoding="utf-8")
        (whole / "config.json").write_text(described.model_dump_json(indent=2) + "\n", encoding="utf-8")
        if folder.exists():
            folder.rename(Path(temporary) / "replaced")
        whole.rename(folder)
        shutil.rmtree(Path(temporary) / "replaced", ignore_errors=True)
    return folder


def _load_folder(folder: Path) -> Checkpoint:
    missing = next((name for name in FILES if not (folder / name).is_file()), None)
    if missing is not None:
        raise CheckpointError(
            f"{folder} is not a checkpoint: {missing} is missing; give a folder that training wrote"
        )
    try:
        described = _FolderConfig.model_validate_json((folder / "config.json").read_text(encoding="utf-8"))
        vocabulary = Vocabulary.model_validate_json((folder / "vocabulary.json").read_text(encoding="utf-8"))
        tensors = load_file(folder / "model.safetensors")
    except (ValidationError, SafetensorError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise CheckpointError(
            f"the checkpoint in {folder} is damaged ({_first_line(error)}): train it again"
        ) from error
    if described.format != CHECKPOINT_FORMAT:
        raise CheckpointError(
            f"the checkpoint in {folder} has format {described.format}, not {CHECKPOINT_FORMAT}: "
            "use the version of patchdeck that wrote it"
        )
    check_tensors(described.network, tensors, str(folder))
    return Checkpoint(described.network, vocabulary, tensors, described.weight_version)


def check_tensors(config: LlamaConfig, tensors: Mapping[str, BlockMatrix | torch.Tensor], where: str) -> None:
    """Raise CheckpointError unless names and shapes are those of the configuration's module."""
    with torch.device("meta"):
        wanted = {name: tuple(tensor.shape) for name, tensor in Llama(config).state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if wanted != found:
        name = sorted(set(wanted.items()) ^ set(found.items()))[0][0]
        raise CheckpointError(
            f"{where} does not fit its configuration: tensor {name} has shape {found.get(name, 'none')}, "
            f"expected {wanted.get(name, 'none')}"
        )


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
