"""Which elements of the source are pages, by the conventions that decks follow."""

from dataclasses import dataclass

from rewards.slides.static.document import Document, Element

CONVENTIONS: tuple[tuple[str, str], ...] = (
    ("reveal", ".reveal .slides > section"),
    ("marp", "svg[data-marpit-svg] > foreignObject > section"),
    ("impress", "#impress .step"),
    ("shower", ".shower .slide"),
    ("slidev", "[data-slidev-no], .slidev-page"),
    ("section", "body > section, body > main > section, body > article > section, body > div > section"),
    ("slide", ".slide"),
    ("google-io", "slide"),
)
"""Name and selector, the first that finds anything wins."""

_PAGE_WORDS = frozenset({"page", "sheet", "screen", "card", "panel", "slide-page"})
KNOWN_PAGE_TAGS = frozenset({"section", "article", "slide", "body"})


@dataclass(frozen=True)
class StaticPage:
    """index is 1-based over the whole deck. named: whether a known page element says that this is a page."""

    index: int
    document: Document
    element: Element
    named: bool


def find_pages(documents: list[Document]) -> list[StaticPage]:
    """Pages in order. With several documents each body is a page; else the first convention that fits."""
    if len(documents) > 1:
        return [StaticPage(i, each, each.body, True) for i, each in enumerate(documents, 1)]
    pages = _in_document(documents[0])
    return [StaticPage(i, documents[0], element, named) for i, (element, named) in enumerate(pages, 1)]


def _in_document(document: Document) -> list[tuple[Element, bool]]:
    for name, selector in CONVENTIONS:
        found = document.select(selector)
        if name == "reveal":
            found = [page for top in found for page in (_stacked(top) or [top])]
        outer = _outermost(document, found)
        if outer:
            return [(element, True) for element in outer]
    siblings = _equal_siblings(document.body)
    return [(element, False) for element in siblings] or [(document.body, False)]


def _outermost(document: Document, found: list[Element]) -> list[Element]:
    """Those of found that lie in no other of found, in document order."""
    wanted = {id(element) for element in found}
    outer: list[Element] = []
    stack = [document.root] if wanted else []
    while stack:
        element = stack.pop()
        if id(element) in wanted:
            outer.append(element)
        else:
            stack.extend(reversed(element.children))
    return outer


def _stacked(section: Element) -> list[Element]:
    return [child for child in section.children if child.tag == "section"]


def _equal_siblings(body: Element) -> list[Element]:
    """The first group of like block siblings that their class, or a heading in each, marks as pages."""
    level = [body]
    for _ in range(4):
        for parent in level:
            groups: dict[tuple[str, str], list[Element]] = {}
            for child in parent.children:
                if child.tag in {"div", "article", "li"}:
                    groups.setdefault((child.tag, (child.classes or [""])[0]), []).append(child)
            for (_, name), group in groups.items():
                if len(group) > 1 and (name in _PAGE_WORDS or all(_has_heading(each) for each in group)):
                    return group
        level = [child for parent in level for child in parent.children]
    return []


def _has_heading(element: Element) -> bool:
    return any(below.tag in {"h1", "h2", "h3"} for below in element.iter())
