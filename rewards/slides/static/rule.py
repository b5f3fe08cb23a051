"""What a static rule is: data that says what, why and how to mend, and one small check."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from rewards.reward import Outcome
from rewards.slides.static.document import Document, Element
from rewards.slides.static.paging import KNOWN_PAGE_TAGS, StaticPage, find_pages
from rewards.slides.static.source import DeckSource
from rewards.slides.static.stylesheet import Styles, read_styles

Group = Literal["structure", "media", "text", "styling", "document"]
"""The component that a rule's verdicts count towards; document is the deck's, the others a page's."""


@dataclass(frozen=True)
class Verdict:
    """One rule's word on one thing. page is None where it concerns the whole deck."""

    outcome: Outcome
    page: int | None
    element: str
    message: str = ""


class StaticDeck:
    """Everything the checks may look at, read once."""

    def __init__(self, source: DeckSource, roots: Sequence[tuple[str, str]] = ()) -> None:
        """roots: entry and CSS path of each page as a browser found it, used where the source has all."""
        self.source = source
        self.documents = [Document(entry.name, entry.text) for entry in source.entries]
        self.pages: list[StaticPage] = find_pages(self.documents)
        if roots and len(roots) != len(self.pages):
            self.pages = self._at(roots) or self.pages
        self.styles: dict[str, Styles] = {each.name: read_styles(each, source) for each in self.documents}
        self._page_of = {id(element): page.index for page in self.pages for element in page.element.iter()}

    def _at(self, roots: Sequence[tuple[str, str]]) -> list[StaticPage]:
        by_name = {document.name: document for document in self.documents}
        named = {id(page.element) for page in self.pages if page.named}
        found: list[StaticPage] = []
        for index, (entry, path) in enumerate(roots, 1):
            document = by_name.get(entry)
            elements = document.select(path) if document is not None and path else []
            if document is None or len(elements) != 1:
                return []
            known = id(elements[0]) in named or elements[0].tag in KNOWN_PAGE_TAGS
            found.append(StaticPage(index, document, elements[0], known))
        return found

    def page_of(self, element: Element) -> int | None:
        """Index of the page that an element is in; None outside of all."""
        return self._page_of.get(id(element))


@dataclass(frozen=True)
class Rule:
    """id: stable name. selects: what it looks at. why: what a reader loses. mend: what to write instead."""

    id: str
    group: Group
    selects: str
    why: str
    mend: str
    check: Callable[[StaticDeck], Iterable[Verdict]]
