"""The ink's palette: what colours a page uses on top of its background, and how well they go together.

"Main colour ≤ 60 %" is measured on the ink and not on the slide, since a plain background would fail every
ordinary deck and a gradient would pass any.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from rewards.slides.visual.picture import Floats, Picture, coarse, coarse_lab, strongest

MAIN_SHARE = 0.60
SMOOTH_STEP = 6
"""Channel steps between neighbours up to which a surface counts as one (a gradient's step is 1 or 2)."""
SURFACE_SHARE = 0.18
"""A smooth surface of this share of the page is background, wherever it lies."""
SAME_COLOUR = 14.0
"""Lab distance within which two inks are one colour to the eye at a glance."""
CHROMATIC = 18.0

TEMPLATES: dict[str, tuple[tuple[float, float], ...]] = {
    "i": ((0.0, 18.0),),
    "V": ((0.0, 93.6),),
    "L": ((0.0, 18.0), (90.0, 79.2)),
    "I": ((0.0, 18.0), (180.0, 18.0)),
    "T": ((0.0, 180.0),),
    "Y": ((0.0, 93.6), (180.0, 18.0)),
    "X": ((0.0, 93.6), (180.0, 93.6)),
}
"""Hue templates as (centre, width) of sectors in degrees (Cohen-Or et al., Color Harmonization, 2006)."""


@dataclass(frozen=True)
class Ink:
    """One colour of the palette: mean Lab, its share of the ink."""

    lab: tuple[float, float, float]
    share: float

    @property
    def chroma(self) -> float:
        return math.hypot(self.lab[1], self.lab[2])

    @property
    def hue(self) -> float:
        return math.degrees(math.atan2(self.lab[2], self.lab[1])) % 360


@dataclass(frozen=True)
class Palette:
    """inks by falling share. coverage: ink's share of the page. loudness: mean chroma of the whole page."""

    inks: tuple[Ink, ...]
    coverage: float
    loudness: float

    @property
    def main_share(self) -> float:
        return self.inks[0].share if self.inks else 0.0


def background(picture: Picture) -> NDArray[np.bool_]:
    """(height, width) True where the page's ground shows: smooth, and at the border, large, or under text."""
    page = picture.ink.astype(np.int16)
    across = strongest(np.abs(np.diff(page, axis=1))) <= SMOOTH_STEP
    down = strongest(np.abs(np.diff(page, axis=0))) <= SMOOTH_STEP
    smooth = np.ones(page.shape[:2], dtype=bool)
    smooth[:, 1:] &= across
    smooth[1:, :] &= down
    labels, count = ndimage.label(smooth)
    sizes = np.bincount(labels.ravel(), minlength=count + 1)
    ground = sizes >= SURFACE_SHARE * smooth.size
    edge = np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]])
    along = np.bincount(edge, minlength=count + 1)
    # A bar at the rim is ink; what runs along a fifth of the rim and fills some room is ground.
    ground |= (along >= 0.2 * edge.size) & (sizes >= 0.06 * smooth.size)
    # What text stands on is a surface: a card, a band, a table's row.
    under = np.bincount(labels[picture.text_difference > 24], minlength=count + 1)
    ground |= (under >= 40) & (sizes >= 0.01 * smooth.size)
    ground[0] = False
    kept: NDArray[np.bool_] = ground[labels]
    # A step marks the pixel after it, so the ground's first pixel behind each shape has to be won back.
    kept[:, :-1] |= kept[:, 1:] & across
    kept[:-1, :] |= kept[1:, :] & down
    return kept & (picture.text_difference <= 8)


def read_palette(picture: Picture) -> Palette:
    """Cluster the ink in Lab. Pixels of an edge's blur are left out: they are mixtures, not colours."""
    ground = background(picture)
    index = coarse(picture.page)
    table = coarse_lab()
    chroma = np.hypot(table[:, 1], table[:, 2]).astype(np.float64)
    loudness = float(np.bincount(index.ravel(), minlength=len(table)) @ chroma / index.size)
    ink = ~ground
    coverage = float(ink.mean())
    core = ink & _unblurred(index, ground)
    counts = np.bincount(index[core if core.any() else ink], minlength=32768)
    total = int(counts.sum())
    if not total or not ground.any():
        return Palette((), coverage, loudness)
    return Palette(_cluster(counts, total), coverage, loudness)


def _unblurred(index: NDArray[np.int32], ground: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """True where no neighbour stands off from the ground much further than the pixel does."""
    if not ground.any():
        return np.ones(ground.shape, dtype=bool)
    table = coarse_lab()
    seen = index[ground]
    middle = np.median(table[seen[:: max(1, seen.size // 4096)]], axis=0)
    distance = np.linalg.norm(table - middle, axis=1).astype(np.float32)[index]
    highest = ndimage.maximum_filter(distance, size=3)
    return np.asarray(distance >= highest - 10.0, dtype=bool)


def _cluster(counts: NDArray[np.intp], total: int) -> tuple[Ink, ...]:
    """Greedy, commonest colour first: each joins the nearest cluster if near enough, or seeds one."""
    order = np.lexsort((np.arange(counts.size), -counts))
    order = order[: int((counts > 0).sum())][:2048]
    seeds: list[Floats] = []
    sums: list[NDArray[np.float64]] = []
    weights: list[int] = []
    for colour, each in zip(coarse_lab()[order], counts[order].tolist(), strict=True):
        if seeds:
            gaps = np.linalg.norm(np.array(seeds) - colour, axis=1)
            near = int(gaps.argmin())
            if gaps[near] <= SAME_COLOUR or len(seeds) >= 24:
                sums[near] += colour.astype(np.float64) * each
                weights[near] += each
                continue
        seeds.append(colour)
        sums.append(colour.astype(np.float64) * each)
        weights.append(each)
    inks = [
        Ink(tuple((total_lab / weight).round(3).tolist()), round(weight / total, 6))
        for total_lab, weight in zip(sums, weights, strict=True)
    ]
    return tuple(sorted(inks, key=lambda ink: (-ink.share, ink.lab)))


def main_colour_score(palette: Palette) -> float | None:
    """1 up to the wanted share, falling to 0.35 where there is but one colour; None without ink.

    Black text alone on white is plain, not wrong, hence the floor.
    """
    if not palette.inks:
        return None
    excess = max(palette.main_share - MAIN_SHARE, 0.0) / (1 - MAIN_SHARE)
    return round(1 - 0.65 * excess, 6)


def harmony_score(palette: Palette) -> float | None:
    """How well the chromatic inks fit one hue template, how few hues there are, how quiet the page is."""
    if not palette.inks:
        return None
    hues = [(ink.hue, ink.share * min(ink.chroma, 60.0)) for ink in palette.inks if _counts(ink)]
    fit = 1 - min(_misfit(hues) / 30.0, 1.0) if hues else 1.0
    crowd = 1 - 0.2 * max(_hue_count(hues) - 3, 0)
    quiet = 1 - min(max(palette.loudness - 45.0, 0.0) / 35.0, 1.0)
    return round(max(fit * max(crowd, 0.0) * quiet, 0.0), 6)


def _counts(ink: Ink) -> bool:
    return ink.chroma >= CHROMATIC and ink.share >= 0.02


def _misfit(hues: list[tuple[float, float]]) -> float:
    """Weighted mean distance in degrees to the nearest sector, of the best template and turn but X and T."""
    total = sum(weight for _, weight in hues)
    best = math.inf
    for name in ("i", "V", "L", "I", "Y"):
        for turn in range(0, 360, 6):
            gap = sum(weight * _outside(hue - turn, TEMPLATES[name]) for hue, weight in hues) / total
            best = min(best, gap)
    return best


def _outside(hue: float, sectors: tuple[tuple[float, float], ...]) -> float:
    return min(max(abs((hue - centre + 180) % 360 - 180) - width / 2, 0.0) for centre, width in sectors)


def _hue_count(hues: list[tuple[float, float]]) -> int:
    """Hues that are more than 40° from every hue counted before."""
    kept: list[float] = []
    for hue, _ in sorted(hues, key=lambda each: -each[1]):
        if all(abs((hue - other + 180) % 360 - 180) > 40 for other in kept):
            kept.append(hue)
    return len(kept)
