"""One HTML file as a tree of elements, parsed as a browser would."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

_SPACE = re.compile(r"\s+")
SILENT = frozenset({"script", "style", "template", "noscript", "title", "head", "metadata", "desc"})
"""Elements whose text nobody reads on the page."""

LONGEST_PATH = 24
"""Steps of a CSS path past which it tells a reader nothing more."""

_NOTE_CLASSES = frozenset({"notes", "speaker-notes", "presenter-notes", "note-speaker"})


@dataclass(eq=False, slots=True)
class Element:
    """text is the element's own: its direct text nodes, white space collapsed.

    step is its place in a CSS path; one that is an id begins the path.
    """

    tag: str
    attributes: dict[str, str]
    parent: "Element | None"
    text: str = ""
    step: str = ""
    children: list["Element"] = field(default_factory=list)

    @property
    def path(self) -> str:
        """A CSS path from the nearest id that occurs once, else from html; a long one begins with "…"."""
        steps = [self.step]
        above = self.parent
        while above is not None and not steps[-1].startswith("#"):
            if len(steps) == LONGEST_PATH:
                steps.append("…")
                break
            steps.append(above.step)
            above = above.parent
        return " > ".join(reversed(steps))

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

    def shown(self) -> Iterator["Element"]:
        """The element and all below it but notes, scripts and the like."""
        stack = [self]
        while stack:
            element = stack.pop()
            if not element.speaks_aside:
                yield element
                stack.extend(reversed(element.children))

    def words(self) -> str:
        """Text of the element and all below it that a page shows, white space collapsed."""
        return " ".join(element.text for element in self.shown() if element.text)


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
        root = Element("html", {}, None, step="html")
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
            element.step = f"{tag}:nth-of-type({counts[id(parent), tag]})"
            parent.children.append(element)
            self._by_memory[node.mem_id] = element
        for element in root.iter():
            joined = " ".join(texts.get(id(element), ()))
            element.text = _SPACE.sub(" ", joined).strip()
        self._name(root, counts)
        return root

    @staticmethod
    def _name(root: Element, counts: dict[tuple[int, str], int]) -> None:
        """Steps as a person would write them: an id that occurs once, a tag that has no like beside it."""
        seen = Counter(element.attributes.get("id", "") for element in root.iter())
        for element in root.iter():
            name = element.attributes.get("id", "")
            if name and seen[name] == 1 and re.fullmatch(r"[A-Za-z_][\w-]*", name):
                element.step = f"#{name}"
            elif element.parent is not None and counts[id(element.parent), element.tag] == 1:
                element.step = element.tag

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
