"""Contrast of text measured on pixels: the glyphs' own colour against what lies behind them."""

from dataclasses import dataclass

import numpy as np

from rewards.slides.visual.picture import Picture, luminance
from sandboxes.browser.capture import Node, PageCapture, Rect

NORMAL, LARGE = 4.5, 3.0
"""Least ratios of WCAG 2.2, 1.4.3."""
LARGE_PX, LARGE_BOLD_PX = 24.0, 18.66
"""18 pt, and 14 pt in bold."""
SEEN = 10
"""Least channel difference by which a pixel counts as touched by text."""


@dataclass(frozen=True)
class TextContrast:
    """One line's ratio against what it needs. ratio is None where no glyph could be told from its ground."""

    node: Node
    rect: Rect
    characters: int
    ratio: float | None
    needed: float

    @property
    def passes(self) -> bool | None:
        return None if self.ratio is None else self.ratio >= self.needed - 0.05


def contrast_ratio(first: float, second: float) -> float:
    """WCAG ratio of two relative luminances, from 1 to 21."""
    lighter, darker = max(first, second), min(first, second)
    return (lighter + 0.05) / (darker + 0.05)


def needed_ratio(font_size: float, weight: str) -> float:
    """3.0 for large text, else 4.5. font_size is effective CSS pixels."""
    bold = weight == "bold" or (weight.isdigit() and int(weight) >= 700)
    return LARGE if font_size >= LARGE_PX or (bold and font_size >= LARGE_BOLD_PX) else NORMAL


def measure(capture: PageCapture, picture: Picture) -> list[TextContrast]:
    """One entry for each line of text on the page."""
    difference = picture.text_difference
    found = []
    for node in capture.own():
        if not node.text or node.tag.startswith("::"):
            continue
        needed = needed_ratio(node.font_size, node.style("font-weight"))
        for line in node.lines:
            rect = line.rect.intersection(capture.frame_rect)
            if rect.area < 4 or not line.text.strip():
                continue
            x, y = int(rect.x), int(rect.y)
            right, bottom = int(np.ceil(rect.right)), int(np.ceil(rect.bottom))
            window = difference[y:bottom, x:right]
            ratio = _ratio(picture, window, slice(y, bottom), slice(x, right))
            found.append(TextContrast(node, line.rect, len(line.text.strip()), ratio, needed))
    return found


def _ratio(picture: Picture, window: np.ndarray, rows: slice, columns: slice) -> float | None:  # type: ignore[type-arg]
    """Median over the tenth of touched pixels that the text changed most: the cores of the strokes."""
    touched = window[window >= SEEN]
    if touched.size < 3:
        return None
    core = window >= np.quantile(touched, 0.9)
    glyph = luminance(picture.page[rows, columns][core])
    ground = luminance(picture.ink[rows, columns][core])
    ratios = (np.maximum(glyph, ground) + 0.05) / (np.minimum(glyph, ground) + 0.05)
    return round(float(np.median(ratios)), 3)


def contrast_score(lines: list[TextContrast]) -> float | None:
    """Mean over characters: 1 where a line passes, else the square of how far it came; None without text."""
    told = [(line, line.ratio) for line in lines if line.ratio is not None]
    total = sum(line.characters for line, _ in told)
    if not total:
        return None
    credit = sum(
        line.characters * (1.0 if line.passes else max((ratio - 1) / (line.needed - 1), 0.0) ** 2)
        for line, ratio in told
    )
    return round(credit / total, 6)
