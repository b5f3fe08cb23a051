"""Checks of the skeleton: pages, titles, headings, language, ids, nesting."""

import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser

from rewards.slides.static.document import Element
from rewards.slides.static.paging import KNOWN_PAGE_TAGS
from rewards.slides.static.rule import StaticDeck, Verdict

HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_VOID = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr", "path", "circle", "rect", "line", "polyline", "polygon", "ellipse", "use", "stop",
})  # fmt: skip
_MAY_STAY_OPEN = frozenset({
    "html", "head", "body", "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "option",
    "optgroup", "colgroup", "rp", "rt",
})  # fmt: skip
_TITLES = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BLOCKS = frozenset({
    "div", "section", "article", "p", "ul", "ol", "dl", "table", "h1", "h2", "h3", "h4", "h5", "h6",
    "header", "footer", "main", "aside", "nav", "figure", "pre", "blockquote",
})  # fmt: skip
_INTERACTIVE = frozenset({"a", "button"})
_ENDS_ITS_LIKE = frozenset({"li", "tr", "td", "th", "option", "dt", "dd"})


def page_element(deck: StaticDeck) -> Iterator[Verdict]:
    for page in deck.pages:
        known = page.named and (page.element.tag in KNOWN_PAGE_TAGS or bool(page.element.classes))
        lone_body = page.element.tag == "body" and not deck.source.page_files
        yield Verdict(
            "pass" if known and not lone_body else "fail",
            page.index,
            page.element.path,
            f"the page is a bare <{page.element.tag}>, not a section",
        )


def _headings(element: Element) -> list[tuple[int, Element]]:
    return [(HEADINGS[each.tag], each) for each in element.shown() if each.tag in HEADINGS]


def page_title(deck: StaticDeck) -> Iterator[Verdict]:
    for page in deck.pages:
        found = [(level, each) for level, each in _headings(page.element) if each.words()]
        if not found:
            yield Verdict("fail", page.index, page.element.path, "the page has no heading")
            continue
        top = min(level for level, _ in found)
        titles = [each for level, each in found if level == top]
        if len(titles) > 1 and top <= 2:
            yield Verdict(
                "fail", page.index, titles[1].path, f"{len(titles)} headings of the title's level h{top}"
            )
        elif top > 3:
            yield Verdict("fail", page.index, titles[0].path, f"the highest heading is h{top}")
        else:
            yield Verdict("pass", page.index, titles[0].path)


def heading_order(deck: StaticDeck) -> Iterator[Verdict]:
    for page in deck.pages:
        last: int | None = None
        for level, element in _headings(page.element):
            if last is not None:
                skips = level > last + 1
                yield Verdict(
                    "fail" if skips else "pass", page.index, element.path, f"h{level} follows h{last}"
                )
            last = level


def language(deck: StaticDeck) -> Iterator[Verdict]:
    for document in deck.documents:
        named = document.root.attributes.get("lang", "").strip()
        fine = bool(_LANGUAGE.fullmatch(named))
        said = f"lang={named!r} is no language tag" if named else "the html element names no language"
        yield Verdict("pass" if fine else "fail", None, "html", said)


def document_title(deck: StaticDeck) -> Iterator[Verdict]:
    for document in deck.documents:
        titles = [
            each
            for each in document.root.iter()
            if each.tag == "title" and not each.within(frozenset({"svg"}))
        ]
        fine = any(each.text for each in titles)
        yield Verdict("pass" if fine else "fail", None, "head > title", f"{document.name} has no title")


def duplicate_ids(deck: StaticDeck) -> Iterator[Verdict]:
    for document in deck.documents:
        first: dict[str, Element] = {}
        for element in document.root.iter():
            name = element.attributes.get("id", "")
            if not name:
                continue
            twice = name in first
            first.setdefault(name, element)
            yield Verdict(
                "fail" if twice else "pass", deck.page_of(element), element.path, f"id {name!r} stands twice"
            )


class _Balance(HTMLParser):
    """Follows the source's own tags, since a parsed tree has every nesting fault already repaired."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, int]] = []
        self.faults: list[tuple[str, str]] = []
        self._count: Counter[str] = Counter()

    def _close(self) -> tuple[str, int]:
        tag, line = self.open.pop()
        self._count[tag] -= 1
        return tag, line

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            return
        line = self.getpos()[0]
        inner = self.open[-1][0] if self.open else ""
        if tag in _INTERACTIVE and any(self._count[name] > 0 for name in _INTERACTIVE):
            self.faults.append((tag, f"<{tag}> inside another control (line {line})"))
        if tag in _BLOCKS and inner in _TITLES:
            self.faults.append((inner, f"<{tag}> inside <{inner}> (line {line})"))
        if (tag in _BLOCKS and inner == "p") or (tag == inner and tag in _ENDS_ITS_LIKE):
            # The standard ends the open element here; a later end tag then closes nothing: that is the fault.
            self._close()
        self.open.append((tag, line))
        self._count[tag] += 1

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A self-closed element leaves nothing open."""

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        if self._count[tag] <= 0:
            self.faults.append((tag, f"</{tag}> closes nothing (line {self.getpos()[0]})"))
            return
        while True:
            name, line = self._close()
            if name == tag:
                return
            if name not in _MAY_STAY_OPEN:
                self.faults.append((name, f"<{name}> of line {line} is not closed before </{tag}>"))


def valid_nesting(deck: StaticDeck) -> Iterator[Verdict]:
    for document in deck.documents:
        balance = _Balance()
        balance.feed(document.text)
        balance.close()
        left = [(tag, f"<{tag}> of line {line} is never closed") for tag, line in balance.open]
        faults = balance.faults + [fault for fault in left if fault[0] not in _MAY_STAY_OPEN]
        if not faults:
            yield Verdict("pass", None, "html")
        for tag, message in faults[:20]:
            yield Verdict("fail", None, tag, message)
