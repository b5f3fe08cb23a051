"""What the browser saw of a deck: plain values, so that every rule over them is a pure function.

All rectangles are CSS pixels with the origin at the top left of the *page frame* (the picture in
`PageCapture.png`, one pixel a CSS pixel). Geometry and styles come from `DOMSnapshot.captureSnapshot` over
the DevTools protocol, which scripts of the page can't forge.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Frame = Literal["viewport", "element"]
Shown = Literal["native", "forced"]
PageFault = Literal["hang", "crash", "navigated", "empty", "not_html", "too_large"]


class Rect(NamedTuple):
    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def area(self) -> float:
        return max(self.width, 0.0) * max(self.height, 0.0)

    def intersection(self, other: "Rect") -> "Rect":
        """The common rectangle; width and height are 0 where there is none."""
        x, y = max(self.x, other.x), max(self.y, other.y)
        width = max(min(self.right, other.right) - x, 0.0)
        height = max(min(self.bottom, other.bottom) - y, 0.0)
        return Rect(x, y, width, height)


class Line(NamedTuple):
    """One line box of text as laid out."""

    text: str
    rect: Rect


@dataclass(frozen=True, slots=True)
class Node:
    """One element. Pseudo elements are nodes too (tag `::before`, …); their text never counts.

    box is None where the element takes no part in layout (display: none and the like). text is the element's
    own text (its direct text nodes, white space collapsed), lines its line boxes. styles holds the computed
    values of `STYLES`. font_size is effective: computed size times the scale that transforms, zoom and SVG
    view boxes add. scale is that factor. client and scroll are (width, height) in the element's own pixels
    before transforms, (0, 0) where it has none: scroll > client tells of content that does not fit.
    """

    index: int
    parent: int
    tag: str
    id: str
    classes: tuple[str, ...]
    attributes: Mapping[str, str]
    css_path: str
    box: Rect | None
    text: str
    lines: tuple[Line, ...]
    styles: Mapping[str, str]
    font_size: float
    scale: float
    paint_order: int
    client: tuple[float, float]
    scroll: tuple[float, float]
    in_page: bool

    def style(self, name: str) -> str:
        """Computed value of one property of `STYLES`; "" where the element has no layout."""
        return self.styles.get(name, "")


STYLES = (
    "font-size",
    "font-family",
    "font-weight",
    "font-style",
    "line-height",
    "letter-spacing",
    "color",
    "-webkit-text-fill-color",
    "background-color",
    "background-image",
    "background-clip",
    "display",
    "visibility",
    "opacity",
    "overflow-x",
    "overflow-y",
    "text-overflow",
    "-webkit-line-clamp",
    "text-align",
    "text-indent",
    "position",
    "transform",
    "rotate",
    "scale",
    "zoom",
    "z-index",
    "clip-path",
    "filter",
    "animation-name",
    "object-fit",
    "border-top-width",
    "border-left-width",
    "border-top-color",
    "box-shadow",
)


@dataclass(frozen=True, slots=True)
class PageCapture:
    """One page. index is 1-based; width and height are the frame's, png and ink_png have that size.

    natural_height: what the content needs with clipping lifted, at least the frame's. ink_png is the
    same moment with all text made transparent. later_png is the page five seconds of its own clock later,
    None where no byte changed. nodes: elements of the page (`in_page`), their ancestors, and whatever else
    of the document is laid out inside the frame. root is the page's own element in nodes.
    """

    index: int
    entry: str
    width: int
    height: int
    natural_width: float
    natural_height: float
    nodes: tuple[Node, ...]
    root: int
    png: bytes
    ink_png: bytes
    later_png: bytes | None
    shown: Shown
    frame: Frame

    @property
    def settled(self) -> bool:
        return self.later_png is None

    @property
    def frame_rect(self) -> Rect:
        return Rect(0.0, 0.0, float(self.width), float(self.height))

    def own(self) -> Iterator[Node]:
        """Nodes of the page itself."""
        return (node for node in self.nodes if node.in_page)


@dataclass(frozen=True, slots=True)
class Button:
    """Something that looks like a way to the next or previous page, pressed with a real mouse at its
    middle."""

    css_path: str
    label: str
    box: Rect
    direction: Literal["next", "previous"]
    changed: bool


@dataclass(frozen=True, slots=True)
class Navigation:
    """What real keys and clicks did. tried is False where the deck has one page, or one page a file.

    changed: a key led to another page (active page and pixels both); restored: the opposite key led back.
    scrolls: the pages lie below one another, so that scrolling is the way through.
    """

    tried: bool = False
    key: str = ""
    changed: bool = False
    restored: bool = False
    scrolls: bool = False
    buttons: tuple[Button, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """A request that could not be served. kind is Playwright's resource type: image, script, stylesheet,
    font, …"""

    url: str
    kind: str


@dataclass(frozen=True, slots=True)
class DeckCapture:
    """A deck as the browser saw it.

    convention is the name of the one that found the pages, "generic" where none of the known did. fault is
    the page's own (it looped for ever, crashed the renderer, navigated away, …); pages then holds those
    captured before. missing: files of the deck itself that are not there; external: requests to elsewhere,
    none of which was answered. digest names the browser image, the worker's source and the settings that the
    capture depends on.
    """

    convention: str
    pages: tuple[PageCapture, ...]
    page_count: int
    fault: PageFault | None = None
    fault_detail: str = ""
    missing: tuple[Request, ...] = ()
    external: tuple[Request, ...] = ()
    console_errors: tuple[str, ...] = ()
    dialogs: tuple[str, ...] = ()
    popups: tuple[str, ...] = ()
    navigations: tuple[str, ...] = field(default=())
    navigation: Navigation = Navigation()
    title: str = ""
    digest: str = ""
