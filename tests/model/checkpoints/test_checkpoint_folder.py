import json
from pathlib import Path

import pytest
import torch

from model.architectures.llama import Llama, LlamaConfig
from model.checkpoints.checkpoint import CheckpointError, Vocabulary, load_checkpoint, save_checkpoint

CONFIG = LlamaConfig(
    vocabulary_size=40,
    hidden_size=32,
    feed_forward_size=32,
    layers=1,
    heads=2,
    kv_heads=1,
    head_dim=16,
    context_length=64,
    rope_theta=10000.0,
    norm_eps=1e-5,
)
VOCABULARY = Vocabulary(
    pre_tokenizer="gpt-2",
    tokens=tuple("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN"),
    merges=(),
    special_ids=(0,),
    bos_id=None,
    eos_id=0,
    padding_id=None,
    add_bos=False,
    chat_template=None,
)


def save(folder: Path, module: Llama, version: str = "step-1") -> Path:
    return save_checkpoint(
        folder, config=CONFIG, vocabulary=VOCABULARY, tensors=module.state_dict(), weight_version=version
    )


def test_round_trip(tmp_path: Path) -> None:
    module = Llama(CONFIG)
    read = load_checkpoint(save(tmp_path / "a" / "checkpoint", module))
    assert (read.config, read.vocabulary, read.weight_version) == (CONFIG, VOCABULARY, "step-1")
    ids = torch.tensor([[1, 2, 3]])
    assert torch.equal(read.module()(ids), module(ids))
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["checkpoint"]


def test_a_newer_checkpoint_takes_the_place_of_an_older(tmp_path: Path) -> None:
    save(tmp_path / "checkpoint", Llama(CONFIG))
    assert load_checkpoint(save(tmp_path / "checkpoint", Llama(CONFIG), "step-2")).weight_version == "step-2"


@pytest.mark.parametrize("name", ["config.json", "vocabulary.json", "model.safetensors"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    folder = save(tmp_path / "checkpoint", Llama(CONFIG))
    (folder / name).unlink()
    with pytest.raises(CheckpointError, match=name):
        load_checkpoint(folder)


@pytest.mark.parametrize("name", ["config.json", "vocabulary.json", "model.safetensors"])
def test_a_damaged_file_is_one_sentence(tmp_path: Path, name: str) -> None:
    folder = save(tmp_path / "checkpoint", Llama(CONFIG))
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(CheckpointError, match="damaged"):
        load_checkpoint(folder)


def test_tensors_of_another_shape_are_named(tmp_path: Path) -> None:
    folder = save(tmp_path / "checkpoint", Llama(CONFIG))
    described = json.loads((folder / "config.json").read_text())
    described["network"]["feed_forward_size"] = 48
    (folder / "config.json").write_text(json.dumps(described))
    with pytest.raises(CheckpointError, match=r"feed_forward\.\w+\.weight has shape"):
        load_checkpoint(folder)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no checkpoint at"):
        load_checkpoint(tmp_path / "nowhere")
