"""Checks of how the deck says its looks: inline styles and font families."""

from collections.abc import Iterator

from rewards.slides.static.document import Element
from rewards.slides.static.rule import StaticDeck, Verdict

MOST_INLINE = 0.35
"""Share of a page's elements with a style attribute past which looks no longer live in one place."""

GENERIC_FAMILIES = frozenset({
    "serif", "sans-serif", "monospace", "cursive", "fantasy", "system-ui", "ui-serif", "ui-sans-serif",
    "ui-monospace", "ui-rounded", "math", "emoji", "fangsong",
})  # fmt: skip
_WIDE = frozenset({"inherit", "initial", "unset", "revert", "revert-layer"})
_SYSTEM_FONTS = frozenset({"caption", "icon", "menu", "message-box", "small-caption", "status-bar"})


def inline_styles(deck: StaticDeck) -> Iterator[Verdict]:
    for page in deck.pages:
        elements = list(_outside_drawings(page.element))
        styled = sum(1 for each in elements if each.attributes.get("style", "").strip())
        share = styled / len(elements)
        message = f"{share:.0%} of the elements carry a style attribute, {MOST_INLINE:.0%} are the most"
        too_many = share > MOST_INLINE and styled > 3
        yield Verdict("fail" if too_many else "pass", page.index, page.element.path, message)


def _outside_drawings(page: Element) -> Iterator[Element]:
    stack = [page]
    while stack:
        element = stack.pop()
        yield element
        if element.tag != "svg":
            stack.extend(element.children)


def font_fallback(deck: StaticDeck) -> Iterator[Verdict]:
    for document in deck.documents:
        for each in deck.styles[document.name].declarations:
            if each.at_rule == "font-face" or each.name not in {"font-family", "font"}:
                continue
            value = each.value.lower().removesuffix("!important").strip()
            if value in _WIDE or (each.name == "font" and value in _SYSTEM_FONTS):
                continue
            page = deck.page_of(each.element) if each.element is not None else None
            last = value.split(",")[-1].strip().strip("\"'")
            if each.name == "font":
                last = last.split()[-1] if last else ""
            if last.startswith("var("):
                yield Verdict("incomplete", page, each.origin, f"{each.value[:80]} depends on a variable")
            elif last in GENERIC_FAMILIES:
                yield Verdict("pass", page, each.origin)
            else:
                yield Verdict(
                    "fail", page, each.origin, f"font-family {each.value[:80]!r} ends in no generic family"
                )
