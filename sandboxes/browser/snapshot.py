"""From a raw DOMSnapshot to nodes: pure, no browser."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sandboxes.browser.capture import STYLES, Line, Node, Rect

_ELEMENT, _TEXT = 1, 3
_SPACE = re.compile(r"\s+")
_NO_TEXT_OF = frozenset({"script", "style", "noscript", "template", "title"})


class Snapshot:
    """One document of a `DOMSnapshot.captureSnapshot` answer, moved so that (x, y) of frame is the origin."""

    def __init__(self, raw: Mapping[str, Any], frame: Rect) -> None:
        self._strings: list[str] = raw["strings"]
        self._document: Mapping[str, Any] = raw["documents"][0]
        nodes = self._document["nodes"]
        self._parents: list[int] = nodes["parentIndex"]
        self._kinds: list[int] = nodes["nodeType"]
        self._names: list[int] = nodes["nodeName"]
        self._values: list[int] = nodes["nodeValue"]
        self._backends: list[int] = nodes["backendNodeId"]
        self._attributes: list[list[int]] = nodes["attributes"]
        self._pseudo = set(nodes.get("pseudoType", {}).get("index", ()))
        self._layout = {node: at for at, node in enumerate(self._document["layout"]["nodeIndex"])}
        # Boxes come in document coordinates, so the scroll offset is part of the frame's place.
        self._dx = frame.x + self._document.get("scrollOffsetX", 0.0)
        self._dy = frame.y + self._document.get("scrollOffsetY", 0.0)
        self._turned: set[int] = set()
        self._frame = Rect(0.0, 0.0, frame.width, frame.height)

    def nodes(self, root_backend: int) -> tuple[tuple[Node, ...], int]:
        """(nodes, index of the page's root in them): the page's subtree, its ancestors, and the rest in the
        frame."""
        root = self._backends.index(root_backend)
        inside = self._subtree(root)
        above = set(self._above(root))
        lines = self._lines()
        paths = self._paths()
        scales: dict[int, float] = {}
        kept: dict[int, Node] = {}
        for at in range(len(self._kinds)):
            if self._kinds[at] != _ELEMENT:
                continue
            box = self._box(at)
            scale = self._scale(at, box, scales)
            wanted = at in inside or at in above or (box is not None and self._seen(box))
            if not wanted:
                continue
            kept[at] = self._node(at, len(kept), box, scale, kept, lines, paths[at], at in inside)
        return tuple(kept.values()), kept[root].index

    def _node(
        self,
        at: int,
        index: int,
        box: Rect | None,
        scale: float,
        kept: Mapping[int, Node],
        lines: Mapping[int, list[tuple[str, list[Line]]]],
        path: str,
        in_page: bool,
    ) -> Node:
        attributes = self._pairs(at)
        styles = self._styles(at)
        tag = self._tag(at)
        said = [] if at in self._pseudo or tag in _NO_TEXT_OF else lines.get(at, [])
        parent = next((kept[each].index for each in self._above(at) if each in kept), -1)
        return Node(
            index=index,
            parent=parent,
            tag=tag,
            id=attributes.get("id", ""),
            classes=tuple(attributes.get("class", "").split()),
            attributes=attributes,
            css_path=path,
            box=box,
            text=_SPACE.sub(" ", " ".join(text for text, _ in said)).strip(),
            lines=tuple(line for _, some in said for line in some),
            styles=styles,
            font_size=round(_pixels(styles.get("font-size", "")) * scale, 3),
            scale=round(scale, 5),
            paint_order=self._of_layout("paintOrders", at, 0),
            client=self._size("clientRects", at),
            scroll=self._size("scrollRects", at),
            in_page=in_page,
        )

    def _seen(self, box: Rect) -> bool:
        return box.area > 0 and box.intersection(self._frame).area > 0

    def _subtree(self, root: int) -> set[int]:
        # Parents come before their children in a snapshot.
        inside = {root}
        for at in range(root + 1, len(self._parents)):
            if self._parents[at] in inside:
                inside.add(at)
        return inside

    def _above(self, at: int) -> Iterator[int]:
        while (at := self._parents[at]) >= 0:
            yield at

    def _tag(self, at: int) -> str:
        return self._strings[self._names[at]].lower()

    def _pairs(self, at: int) -> dict[str, str]:
        flat = [self._strings[each] if each >= 0 else "" for each in self._attributes[at]]
        return dict(zip(flat[::2], flat[1::2], strict=True))

    def _of_layout(self, name: str, at: int, otherwise: Any) -> Any:
        place = self._layout.get(at)
        table = self._document["layout"].get(name)
        return otherwise if place is None or not table else table[place]

    def _styles(self, at: int) -> dict[str, str]:
        values = self._of_layout("styles", at, ())
        return {
            name: self._strings[value] if value >= 0 else ""
            for name, value in zip(STYLES, values, strict=False)
        }

    def _box(self, at: int) -> Rect | None:
        bounds = self._of_layout("bounds", at, None)
        return None if bounds is None else self._moved(bounds)

    def _moved(self, bounds: list[float]) -> Rect:
        x, y, width, height = bounds
        return Rect(round(x - self._dx, 3), round(y - self._dy, 3), round(width, 3), round(height, 3))

    def _size(self, name: str, at: int) -> tuple[float, float]:
        rect = self._of_layout(name, at, None)
        return (float(rect[2]), float(rect[3])) if rect else (0.0, 0.0)

    def _lines(self) -> dict[int, list[tuple[str, list[Line]]]]:
        """By element: its text nodes in order, each as (its text, its line boxes)."""
        boxes: dict[int, list[Line]] = {}
        table = self._document["textBoxes"]
        layout = self._document["layout"]
        for place, bounds, start, length in zip(
            table["layoutIndex"], table["bounds"], table["start"], table["length"], strict=True
        ):
            shown = self._strings[layout["text"][place]] if layout["text"][place] >= 0 else ""
            # Offsets count UTF-16 units.
            part = shown.encode("utf-16-le")[2 * start : 2 * (start + length)].decode("utf-16-le", "replace")
            if part.strip():
                boxes.setdefault(layout["nodeIndex"][place], []).append(Line(part, self._moved(bounds)))
        found: dict[int, list[tuple[str, list[Line]]]] = {}
        for at, kind in enumerate(self._kinds):
            if kind == _TEXT and (text := self._strings[self._values[at]]).strip():
                found.setdefault(self._parents[at], []).append((text, boxes.get(at, [])))
        return found

    def _scale(self, at: int, box: Rect | None, scales: dict[int, float]) -> float:
        """Factor between the element's own pixels and the page's.

        From its box over its offset size; under a rotation, whose bounding box is larger, from the matrix.
        """
        inherited = next((scales[each] for each in self._above(at) if each in scales), 1.0)
        width, height = self._size("offsetRects", at)
        styles = self._styles(at)
        matrix = _matrix(styles.get("transform", ""))
        turned = matrix is not None and (abs(matrix[1]) > 1e-6 or abs(matrix[2]) > 1e-6)
        turned = turned or styles.get("rotate", "none") not in ("none", "")
        if turned or self._parents[at] in self._turned:
            own = math.sqrt(abs(matrix[0] * matrix[3] - matrix[1] * matrix[2])) if matrix else 1.0
            scales[at] = inherited * own
            self._turned.add(at)
        elif box is not None and width >= 1 and height >= 1 and not _fits(box, width, height, inherited):
            scales[at] = math.sqrt(box.area / (width * height))
        else:
            scales[at] = inherited
        return scales[at]

    def _paths(self) -> list[str]:
        """CSS path of every element: from its nearest ancestor with an id of its own, else from the top."""
        twins: dict[tuple[int, str], int] = {}
        order: list[int] = []
        ids: dict[str, int] = {}
        for at, kind in enumerate(self._kinds):
            key = (self._parents[at], self._tag(at))
            twins[key] = twins.get(key, 0) + (kind == _ELEMENT)
            order.append(twins[key])
            if kind == _ELEMENT and (name := self._pairs(at).get("id", "")):
                ids[name] = ids.get(name, 0) + 1
        paths: list[str] = []
        for at, kind in enumerate(self._kinds):
            if kind != _ELEMENT:
                paths.append("")
                continue
            tag, parent = self._tag(at), self._parents[at]
            name = self._pairs(at).get("id", "")
            if at in self._pseudo:
                paths.append(f"{paths[parent]}{tag}" if tag.startswith("::") else f"{paths[parent]}::{tag}")
            elif name and ids[name] == 1 and re.fullmatch(r"[A-Za-z_][\w-]*", name):
                paths.append(f"{tag}#{name}")
            else:
                step = f"{tag}:nth-of-type({order[at]})" if twins[(parent, tag)] > 1 else tag
                above = paths[parent] if parent >= 0 else ""
                paths.append(f"{above} > {step}" if above else step)
        return paths


def _fits(box: Rect, width: float, height: float, scale: float) -> bool:
    """Whether whole-numbered offset sizes agree with a box at this scale: then they tell of no other."""
    off = 0.51 * scale + 0.01
    return abs(box.width - width * scale) <= off and abs(box.height - height * scale) <= off


def _pixels(value: str) -> float:
    match = re.match(r"-?[\d.]+", value)
    return float(match.group()) if match else 0.0


def _matrix(value: str) -> tuple[float, float, float, float] | None:
    """(a, b, c, d) of a computed 2D or 3D matrix."""
    numbers = [float(each) for each in re.findall(r"-?[\d.]+(?:e-?\d+)?", value.partition("(")[2])]
    if len(numbers) == 6:
        return numbers[0], numbers[1], numbers[2], numbers[3]
    if len(numbers) == 16:
        return numbers[0], numbers[1], numbers[4], numbers[5]
    return None
