"""One HTML file as a tree of elements, parsed as a browser would."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

_SPACE = re.compile(r"\s+")
SILENT = frozenset({"script", "style", "template", "noscript", "title", "head", "metadata", "desc"})
"""Elements whose text nobody reads on the page."""

_NOTE_CLASSES = frozenset({"notes", "speaker-notes", "presenter-notes", "note-speaker"})


@dataclass(eq=False, slots=True)
class Element:
    """text is the element's own: its direct text nodes, white space collapsed. path is a CSS path."""

    tag: str
    attributes: dict[str, str]
    parent: "Element | None"
    text: str = ""
    path: str = ""
    children: list["Element"] = field(default_factory=list)

    def iter(self) -> Iterator["Element"]:
        """The element and all below it, in document order."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))

    def ancestors(self) -> Iterator["Element"]:
        """The element's parent and upwards."""
        element = self.parent
        while element is not None:
            yield element
            element = element.parent

    def within(self, tags: frozenset[str]) -> bool:
        """Whether one of its ancestors has one of these tags."""
        return any(above.tag in tags for above in self.ancestors())

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    @property
    def speaks_aside(self) -> bool:
        """Whether it holds speaker's notes or nothing that shows."""
        return self.tag in SILENT or not _NOTE_CLASSES.isdisjoint(self.classes)

    def words(self) -> str:
        """Text of the element and all below it that a page shows, white space collapsed."""
        parts: list[str] = []
        stack = [self]
        while stack:
            element = stack.pop()
            if element.speaks_aside:
                continue
            if element.text:
                parts.append(element.text)
            stack.extend(reversed(element.children))
        return " ".join(parts)


class Document:
    """name: the file's path within the deck. text: its source."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._tree = LexborHTMLParser(text)
        self._by_memory: dict[int, Element] = {}
        self.root = self._build()

    def _build(self) -> Element:
        top = self._tree.root
        root = Element("html", {}, None, path="html")
        if top is None:
            return root
        root.attributes = {key: value or "" for key, value in top.attributes.items()}
        self._by_memory[top.mem_id] = root
        texts: dict[int, list[str]] = {}
        counts: dict[tuple[int, str], int] = {}
        for node in top.traverse(include_text=True):
            above = node.parent
            parent = self._by_memory.get(above.mem_id) if above is not None else None
            if parent is None or node.mem_id == top.mem_id:
                continue
            if node.is_text_node:
                texts.setdefault(id(parent), []).append(node.text_content or "")
                continue
            tag = node.tag or ""
            if not node.is_element_node or not tag:
                continue
            element = Element(tag, {key: value or "" for key, value in node.attributes.items()}, parent)
            counts[id(parent), tag] = counts.get((id(parent), tag), 0) + 1
            element.path = f"{parent.path} > {tag}:nth-of-type({counts[id(parent), tag]})"
            parent.children.append(element)
            self._by_memory[node.mem_id] = element
        for element in root.iter():
            joined = " ".join(texts.get(id(element), ()))
            element.text = _SPACE.sub(" ", joined).strip()
        self._shorten(root)
        return root

    @staticmethod
    def _shorten(root: Element) -> None:
        """Paths start at the nearest id that occurs once, as a person would write them."""
        seen: dict[str, int] = {}
        for element in root.iter():
            name = element.attributes.get("id", "")
            seen[name] = seen.get(name, 0) + 1
        for element in root.iter():
            name = element.attributes.get("id", "")
            own = element.path.rsplit(" > ", 1)[-1]
            if name and seen[name] == 1 and re.fullmatch(r"[A-Za-z_][\w-]*", name):
                element.path = f"#{name}"
            elif element.parent is not None:
                only = sum(1 for child in element.parent.children if child.tag == element.tag) == 1
                own = element.tag if only else own
                element.path = f"{element.parent.path} > {own}"

    def select(self, selector: str) -> list[Element]:
        """Elements that a CSS selector finds, in document order; none for a selector that can't be parsed."""
        try:
            found = self._tree.css(selector)
        except (SelectolaxError, ValueError):
            return []
        return [self._by_memory[node.mem_id] for node in found if node.mem_id in self._by_memory]

    @property
    def body(self) -> Element:
        for child in self.root.children:
            if child.tag == "body":
                return child
        return self.root
