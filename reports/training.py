"""The training log as a table and a line chart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

LEFT_OUT = frozenset({"time", "created_at", "path", "kind", "record"})


@dataclass(frozen=True)
class TrainingView:
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    chart: str
    """an SVG of the rewarded tokens' log-probability over the steps, or nothing"""


def training_view(records: Sequence[dict[str, Any]]) -> TrainingView | None:
    """The log's step records; None where there are none."""
    steps = [record for record in records if "step" in record]
    if not steps:
        return None
    columns = tuple(
        name for name in steps[0] if name not in LEFT_OUT and all(_is_number(s.get(name)) for s in steps)
    )
    rows = tuple(tuple(_written(step[name]) for name in columns) for step in steps)
    followed = next((name for name in columns if "log_prob" in name), "")
    chart = _line_chart([float(s[followed]) for s in steps], followed.replace("_", " ")) if followed else ""
    return TrainingView(columns, rows, chart)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _written(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4g}"


def _line_chart(values: list[float], title: str) -> str:
    if len(values) < 2:
        return ""
    width, height, left, top = 560, 170, 64, 24
    low, high = min(values), max(values)
    spread = (high - low) or 1.0

    def place(index: int, value: float) -> tuple[float, float]:
        x = left + index * (width - left - 12) / (len(values) - 1)
        return round(x, 1), round(top + (high - value) / spread * (height - top - 26), 1)

    points = [place(i, v) for i, v in enumerate(values)]
    dots = "".join(f'<circle class="dot" cx="{x}" cy="{y}" r="3"/>' for x, y in points)
    line = " ".join(f"{x},{y}" for x, y in points)
    base = height - 26
    return (
        f'<svg class="chart" viewBox="0 0 {width} {height}" role="img" aria-label="{title}">'
        f'<text x="{left}" y="14">{title}</text><path class="axis" d="M{left} {top}V{base}H{width - 12}"/>'
        f'<text x="4" y="{top + 5}">{high:.3f}</text><text x="4" y="{base}">{low:.3f}</text>'
        f'<text x="{left}" y="{height - 8}">first step</text>'
        f'<text x="{width - 12}" y="{height - 8}" text-anchor="end">step {len(values)}</text>'
        f'<polyline class="line" points="{line}"/>{dots}</svg>'
    )
