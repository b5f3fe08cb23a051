"""Page pictures as arrays, and the two colour sums that every measure here needs."""

import io
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Picture:
    """page and ink: (height, width, 3) sRGB bytes, ink with all text transparent."""

    page: Bytes
    ink: Bytes

    @cached_property
    def text_difference(self) -> NDArray[np.int16]:
        """(height, width) largest channel difference that the text makes."""
        return strongest(np.abs(self.page.astype(np.int16) - self.ink.astype(np.int16)))


def strongest(channels: NDArray[np.int16]) -> NDArray[np.int16]:
    """(..., 3) to the largest of the three; numpy's own max over so short an axis is ten times slower."""
    return np.maximum(np.maximum(channels[..., 0], channels[..., 1]), channels[..., 2])


def read_picture(png: bytes, ink_png: bytes) -> Picture:
    """Decode both pictures of one page. Raises ValueError where they differ in size."""
    page, ink = _decode(png), _decode(ink_png)
    if page.shape != ink.shape:
        raise ValueError(f"the page's picture is {page.shape}, its ink picture {ink.shape}")
    return Picture(page, ink)


def _decode(png: bytes) -> Bytes:
    with Image.open(io.BytesIO(png)) as image:
        return np.asarray(image.convert("RGB"), dtype=np.uint8)


def linear(channel: NDArray[np.floating] | Bytes) -> Floats:
    """sRGB bytes to linear light in [0, 1] (IEC 61966-2-1)."""
    unit = np.asarray(channel, dtype=np.float32) / 255.0
    return np.where(unit <= 0.04045, unit / 12.92, ((unit + 0.055) / 1.055) ** 2.4).astype(np.float32)


def luminance(colour: NDArray[np.floating] | Bytes) -> Floats:
    """Relative luminance of (..., 3) sRGB bytes (WCAG 2.2)."""
    light = linear(colour)
    return np.asarray(light @ np.array([0.2126, 0.7152, 0.0722], dtype=np.float32), dtype=np.float32)


def lab(colour: NDArray[np.floating] | Bytes) -> Floats:
    """CIE Lab (D65, 2°) of (..., 3) sRGB bytes."""
    matrix = np.array(
        [
            [0.4123908, 0.3575843, 0.1804808],
            [0.2126390, 0.7151687, 0.0721923],
            [0.0193308, 0.1191948, 0.9505322],
        ],
        dtype=np.float32,
    )
    white = np.array([0.9504559, 1.0, 1.0890578], dtype=np.float32)
    ratio = linear(colour) @ matrix.T / white
    bent = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    lightness = 116 * bent[..., 1] - 16
    green_red = 500 * (bent[..., 0] - bent[..., 1])
    blue_yellow = 200 * (bent[..., 1] - bent[..., 2])
    return np.stack([lightness, green_red, blue_yellow], axis=-1).astype(np.float32)


@cache
def coarse_lab() -> Floats:
    """Lab of the middles of 32 levels a channel, (32768, 3): close enough to cluster by, and fast."""
    levels = np.arange(32, dtype=np.float32) * 8 + 4
    red, green, blue = np.meshgrid(levels, levels, levels, indexing="ij")
    return lab(np.stack([red, green, blue], axis=-1).reshape(-1, 3))


def coarse(colour: Bytes) -> NDArray[np.int32]:
    """Index of each pixel's colour among 32 levels a channel."""
    levels = (colour >> 3).astype(np.int32)
    return np.asarray((levels[..., 0] << 10) | (levels[..., 1] << 5) | levels[..., 2], dtype=np.int32)
