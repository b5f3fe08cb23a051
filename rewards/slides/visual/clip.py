"""CLIP over page pictures, by antonym prompts about slides.

Antonym prompts follow CLIP-IQA (Wang et al., 2023), with words about slides in place of words about
photographs. The network is never one with random weights: without a pretrained name or a checkpoint the
component is not available.
"""

import hashlib
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewards.slides.visual.picture import Bytes

ANTONYMS: tuple[tuple[str, str], ...] = (
    ("a clear and well designed presentation slide", "a confusing and badly designed presentation slide"),
    ("a presentation slide with large readable text", "a presentation slide with tiny unreadable text"),
    ("a presentation slide with harmonious colours", "a presentation slide with clashing colours"),
    ("a tidy presentation slide with aligned content", "a messy presentation slide with overlapping content"),
)
BATCH = 8
"""Pictures a forward pass, always: the sums of another batch size differ in the last bits."""


class ClipUnavailable(ValueError):
    """The CLIP model that was asked for can't be had."""


class ClipScorer:
    """A loaded CLIP. digest: sha256 over its weights, the prompts and the picture size."""

    def __init__(self, model: Any, tokenizer: Any, label: str) -> None:
        import torch

        self.label = label
        self._model = model.eval()
        size = model.visual.image_size
        self._size: int = int(size[0] if isinstance(size, (tuple, list)) else size)
        self._mean = tuple(getattr(model.visual, "image_mean", None) or (0.48145466, 0.4578275, 0.40821073))
        self._std = tuple(getattr(model.visual, "image_std", None) or (0.26862954, 0.26130258, 0.27577711))
        with torch.inference_mode():
            prompts = tokenizer([prompt for pair in ANTONYMS for prompt in pair])
            self._text = model.encode_text(prompts, normalize=True)
            self._scale = model.logit_scale.exp()
        self.digest = self._digest()

    def _digest(self) -> str:
        sha = hashlib.sha256(repr((ANTONYMS, self._size, self._mean, self._std)).encode())
        for name, tensor in sorted(self._model.state_dict().items()):
            sha.update(name.encode())
            sha.update(tensor.detach().cpu().contiguous().float().numpy().tobytes())
        return sha.hexdigest()

    def score(self, pages: "list[Bytes]") -> list[float]:
        """Chance in [0, 1] of the good half of each antonym pair, mean over pairs, 3 digits."""
        import torch

        found: list[float] = []
        with torch.inference_mode():
            for start in range(0, len(pages), BATCH):
                chunk = pages[start : start + BATCH]
                batch = torch.zeros(BATCH, 3, self._size, self._size)
                for place, page in enumerate(chunk):
                    batch[place] = self._letterbox(page)
                images = self._model.encode_image(batch, normalize=True)
                logits = (self._scale * images @ self._text.T).reshape(BATCH, len(ANTONYMS), 2)
                good = logits.softmax(dim=-1)[:, :, 0].mean(dim=1)
                found.extend(round(float(value), 3) for value in good[: len(chunk)])
        return found

    def _letterbox(self, page: "Bytes") -> Any:
        """The whole page in a square, rims in its border's colour: a centre crop would cut a 16:9 page."""
        import numpy as np
        import torch
        from PIL import Image

        image = Image.fromarray(page)
        factor = self._size / max(image.size)
        small = image.resize(
            (max(round(image.width * factor), 1), max(round(image.height * factor), 1)),
            Image.Resampling.BICUBIC,
        )
        rim = np.concatenate([page[0], page[-1], page[:, 0], page[:, -1]]).mean(axis=0)
        square = Image.new("RGB", (self._size, self._size), tuple(int(channel) for channel in rim))
        square.paste(small, ((self._size - small.width) // 2, (self._size - small.height) // 2))
        values = torch.from_numpy(np.array(square, dtype=np.float32) / 255.0).permute(2, 0, 1)
        mean, std = torch.tensor(self._mean).view(3, 1, 1), torch.tensor(self._std).view(3, 1, 1)
        return (values - mean) / std


def load_clip(spec: str) -> ClipScorer:
    """From NAME:PRETRAINED, a folder with open_clip_config.json, or a checkpoint with STEM.json beside it.

    Raises ClipUnavailable with one sentence.
    """
    try:
        import open_clip
    except ModuleNotFoundError as error:
        raise ClipUnavailable(f"{error.name} is not installed: pip install 'patchdeck[visual]'") from error
    path = Path(spec)
    try:
        if path.is_dir():
            if not (path / "open_clip_config.json").is_file():
                raise ClipUnavailable(
                    f"{path} has no open_clip_config.json: give an open_clip folder or checkpoint"
                )
            name, pretrained = f"local-dir:{path}", None
        elif path.is_file():
            config = path.with_suffix(".json")
            if not config.is_file():
                raise ClipUnavailable(f"{path} needs its open_clip model config beside it, as {config.name}")
            open_clip.add_model_config(config)
            name, pretrained = path.stem, str(path)
        else:
            name, pretrained = _named(open_clip, spec)
        model = open_clip.create_model(name, pretrained=pretrained, require_pretrained=True)
        return ClipScorer(model, open_clip.get_tokenizer(name), spec)
    except ClipUnavailable:
        raise
    except (OSError, RuntimeError, ValueError, KeyError, EOFError, pickle.UnpicklingError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ClipUnavailable(f"CLIP {spec} could not be loaded: {reason[:200]}") from error


def _named(open_clip: Any, spec: str) -> tuple[str, str]:
    name, _, pretrained = spec.partition(":")
    if name not in open_clip.list_models():
        raise ClipUnavailable(
            f"{spec} is neither a file nor a model that open_clip knows: see open_clip.list_models()"
        )
    tags = open_clip.list_pretrained_tags_by_model(name)
    if not pretrained:
        hint = f"{name}:{tags[0]}" if tags else "a checkpoint's path"
        raise ClipUnavailable(
            f"--clip {name} names no trained weights, and random ones score nothing: give {hint}"
        )
    if pretrained not in tags:
        raise ClipUnavailable(
            f"open_clip has no weights {pretrained!r} for {name}: it has {', '.join(tags) or 'none'}"
        )
    return name, pretrained
