"""CLIP through open_clip: a real checkpoint, trained and saved here, is used; nothing random scores."""

import json
from pathlib import Path

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image

from rewards.slides.visual.clip import ANTONYMS, BATCH, ClipUnavailable, load_clip

CONFIG = {
    "embed_dim": 32,
    "vision_cfg": {"image_size": 32, "layers": 2, "width": 64, "patch_size": 8, "head_width": 32},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
}
GOOD = np.full((90, 160, 3), (250, 250, 240), np.uint8)
BAD = np.full((90, 160, 3), (255, 0, 200), np.uint8)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny CLIP that has learnt which of two pages goes with the good prompts."""
    folder = tmp_path_factory.mktemp("clip")
    config = folder / "tiny-slides.json"
    config.write_text(json.dumps(CONFIG))
    open_clip.add_model_config(config)
    torch.manual_seed(0)
    model = open_clip.create_model("tiny-slides", pretrained=None)
    text = open_clip.get_tokenizer("tiny-slides")([prompt for pair in ANTONYMS for prompt in pair])
    images = torch.stack([_normal(GOOD), _normal(BAD)])
    wanted = torch.tensor([[0] * len(ANTONYMS), [1] * len(ANTONYMS)])
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(25):
        optimiser.zero_grad()
        logits = 20 * model.encode_image(images, normalize=True) @ model.encode_text(text, normalize=True).T
        pairs = logits.reshape(2, len(ANTONYMS), 2)
        torch.nn.functional.cross_entropy(pairs.reshape(-1, 2), wanted.reshape(-1)).backward()
        optimiser.step()
    path = folder / "tiny-slides.pt"
    torch.save(model.state_dict(), path)
    return path


def _normal(page: np.ndarray) -> torch.Tensor:
    image = Image.fromarray(page).resize((32, 32))
    values = torch.from_numpy(np.array(image, dtype=np.float32) / 255).permute(2, 0, 1)
    mean = torch.tensor((0.48145466, 0.4578275, 0.40821073)).view(3, 1, 1)
    std = torch.tensor((0.26862954, 0.26130258, 0.27577711)).view(3, 1, 1)
    return (values - mean) / std


def test_checkpoint_by_path_scores_what_it_learnt(checkpoint: Path) -> None:
    good, bad = load_clip(str(checkpoint)).score([GOOD, BAD])
    assert good > 0.8 and bad < 0.2


def test_place_in_the_batch_changes_nothing(checkpoint: Path) -> None:
    clip = load_clip(str(checkpoint))
    alone = clip.score([GOOD])[0]
    crowd = clip.score([BAD] * BATCH + [GOOD, BAD])
    assert crowd[BATCH] == alone and len(crowd) == BATCH + 2


def test_digest_follows_the_weights(checkpoint: Path, tmp_path: Path) -> None:
    state = torch.load(checkpoint)
    state["visual.proj"] = state["visual.proj"] + 1
    other = tmp_path / "other-slides.pt"
    torch.save(state, other)
    other.with_suffix(".json").write_text(json.dumps(CONFIG))
    assert (
        load_clip(str(checkpoint)).digest == load_clip(str(checkpoint)).digest != load_clip(str(other)).digest
    )


def test_whole_page_is_seen(checkpoint: Path) -> None:
    """What a centre crop would cut off must reach the network."""
    clip = load_clip(str(checkpoint))
    marked = np.concatenate([BAD, GOOD[:, :90], BAD], axis=1)
    assert clip.score([marked]) < clip.score([GOOD])


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("ViT-B-32", "random ones score nothing"),
        ("ViT-B-32:nonesuch", "no weights 'nonesuch'"),
        ("no-such-model", "neither a file nor a model"),
    ],
)
def test_without_trained_weights_there_is_no_number(spec: str, words: str) -> None:
    with pytest.raises(ClipUnavailable, match=words):
        load_clip(spec)


def test_broken_checkpoints_are_said(tmp_path: Path) -> None:
    (tmp_path / "lone.pt").write_bytes(b"x")
    with pytest.raises(ClipUnavailable, match=r"lone\.json"):
        load_clip(str(tmp_path / "lone.pt"))
    (tmp_path / "lone.json").write_text(json.dumps(CONFIG))
    with pytest.raises(ClipUnavailable, match="could not be loaded"):
        load_clip(str(tmp_path / "lone.pt"))
    with pytest.raises(ClipUnavailable, match="open_clip_config"):
        load_clip(str(tmp_path))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": CONFIG}))
    with pytest.raises(ClipUnavailable, match="could not be loaded"):
        load_clip(str(folder))
