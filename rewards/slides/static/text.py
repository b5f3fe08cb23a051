"""Checks of what is written: how much, and whether lists and tables are what they look like."""

import re
from collections.abc import Iterator

from rewards.slides.static.document import Element
from rewards.slides.static.rule import StaticDeck, Verdict

MOST_WORDS = 120
"""Words on one page past which people read instead of listening. Two ideographs count as one word."""

_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_BULLET = re.compile(r"\s*([•‣◦▪●■–—*·-]|\d{1,2}[.)])\s+\S")
_PICTURES = frozenset({"img", "svg", "canvas", "video", "picture", "object", "iframe"})
_LISTS = frozenset({"ul", "ol", "menu"})
_INVISIBLE = frozenset({"script", "template"})


def count_words(text: str) -> float:
    """Words in a text; ideographs count half each."""
    return len(_IDEOGRAPH.sub(" ", text).split()) + len(_IDEOGRAPH.findall(text)) / 2


def text_amount(deck: StaticDeck) -> Iterator[Verdict]:
    for page in deck.pages:
        words = count_words(page.element.words())
        if words > MOST_WORDS:
            yield Verdict(
                "fail", page.index, page.element.path, f"{words:.0f} words, {MOST_WORDS} are the most"
            )
        elif words == 0:
            pictured = any(each.tag in _PICTURES for each in page.element.iter())
            message = "the page holds pictures alone, no text" if pictured else "the page is empty"
            yield Verdict("fail", page.index, page.element.path, message)
        else:
            yield Verdict("pass", page.index, page.element.path)


def list_semantics(deck: StaticDeck) -> Iterator[Verdict]:
    for page in deck.pages:
        for element in page.element.iter():
            if element.tag in _LISTS:
                strays = [each for each in element.children if each.tag not in {"li"} | _INVISIBLE]
                said = f"<{strays[0].tag}> directly in a <{element.tag}>" if strays else ""
                yield Verdict("fail" if strays else "pass", page.index, element.path, said)
            elif element.tag == "li" and element.parent is not None and element.parent.tag not in _LISTS:
                yield Verdict("fail", page.index, element.path, "the list item is in no list")
            else:
                yield from _written_bullets(page.index, element)


def _written_bullets(page: int, element: Element) -> Iterator[Verdict]:
    """Three siblings in a row that begin with a written bullet or number are a list in all but name."""
    run = 0
    for child in element.children:
        looks = child.tag in {"p", "div", "span"} and _BULLET.match(_opening(child))
        run = run + 1 if looks else 0
        if run == 3:
            yield Verdict("fail", page, child.path, "bullets are written as text")
            return


def _opening(element: Element) -> str:
    """The words that an element begins with, looked for a few levels down and no further."""
    for _ in range(8):
        if element.text or not element.children:
            break
        element = element.children[0]
    return element.text


def table_semantics(deck: StaticDeck) -> Iterator[Verdict]:
    for page in deck.pages:
        for element in page.element.iter():
            if element.tag != "table" or element.attributes.get("role") in {"presentation", "none"}:
                continue
            tags = {below.tag for below in element.iter()}
            fine = "th" in tags and "td" in tags
            yield Verdict(
                "pass" if fine else "fail", page.index, element.path, "the table has no header cells"
            )
