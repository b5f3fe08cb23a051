"""The deck's CSS, from style elements, linked files and style attributes, as flat declarations."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urlsplit

import tinycss2

from rewards.slides.static.document import Document, Element
from rewards.slides.static.source import DeckSource

_NESTED = frozenset({"media", "supports", "layer", "container", "document", "scope"})


@dataclass(frozen=True)
class Declaration:
    """origin: a selector, or the path of the element whose style attribute it is."""

    origin: str
    name: str
    value: str
    at_rule: str = ""
    element: Element | None = None


@dataclass(frozen=True)
class Styles:
    """declarations in source order; urls: what @import and url() ask for, with where it was said."""

    declarations: tuple[Declaration, ...]
    urls: tuple[tuple[str, str], ...]


def read_styles(document: Document, source: DeckSource) -> Styles:
    """All CSS that the document brings along; linked files of the deck itself are read too."""
    declarations: list[Declaration] = []
    urls: list[tuple[str, str]] = []
    for element in document.root.iter():
        if element.tag == "style":
            sheet = _sheet(element.text, element.path)
            declarations.extend(sheet.declarations)
            urls.extend(sheet.urls)
        elif element.tag == "link" and "stylesheet" in element.attributes.get("rel", "").lower().split():
            local = resolve(document.name, element.attributes.get("href", ""))
            sheet = _sheet(_linked(source, local), local)
            declarations.extend(sheet.declarations)
            # A sheet's references start from the sheet, not from the document.
            urls.extend((resolve(local, url) or url, said) for url, said in sheet.urls)
        inline = element.attributes.get("style")
        if inline:
            for item in tinycss2.parse_blocks_contents(inline, skip_comments=True, skip_whitespace=True):
                if item.type == "declaration":
                    declarations.append(_declared(item, element.path, "", element))
                    urls.extend((url, element.path) for url in _urls(item.value))
    return Styles(tuple(declarations), tuple(urls))


def _linked(source: DeckSource, local: str) -> str:
    """Text of a sheet among the deck's own files; "" for any other."""
    path = (source.root / local).resolve()
    if local not in source.files or not path.is_relative_to(source.root.resolve()):
        return ""
    return path.read_text("utf-8", "replace")


def resolve(base: str, reference: str) -> str:
    """Path in the deck that a reference in the file base leads to; "" for a scheme, a host, an anchor."""
    try:
        parts = urlsplit(reference.strip())
    except ValueError:
        return ""
    if parts.scheme or parts.netloc or not parts.path:
        return ""
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(parts.path).lstrip("/")))


@lru_cache(maxsize=64)
def _sheet(text: str, origin: str) -> Styles:
    """One sheet. Cached, since the files of a folder share theirs."""
    declarations: list[Declaration] = []
    urls: list[tuple[str, str]] = []
    rules = tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True)
    for prelude, items, at_rule in _flatten(rules, origin, urls):
        for item in items:
            if item.type == "declaration":
                declarations.append(_declared(item, prelude, at_rule, None))
                urls.extend((url, prelude) for url in _urls(item.value))
    return Styles(tuple(declarations), tuple(urls))


def _flatten(
    rules: list[Any], origin: str, urls: list[tuple[str, str]]
) -> Iterator[tuple[str, list[Any], str]]:
    for rule in rules:
        if rule.type == "qualified-rule":
            items = tinycss2.parse_blocks_contents(rule.content, skip_comments=True, skip_whitespace=True)
            yield tinycss2.serialize(rule.prelude).strip(), items, ""
            nested = [item for item in items if item.type == "qualified-rule"]
            yield from _flatten(nested, origin, urls)
        elif rule.type == "at-rule":
            keyword = rule.lower_at_keyword
            if keyword == "import":
                strings = [token.value for token in rule.prelude if token.type == "string"]
                urls.extend((url, f"@import in {origin}") for url in [*strings, *_urls(rule.prelude)][:1])
            elif rule.content is not None and keyword in _NESTED:
                inner = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
                yield from _flatten(inner, origin, urls)
            elif rule.content is not None and keyword in {"font-face", "page"}:
                items = tinycss2.parse_blocks_contents(rule.content, skip_comments=True, skip_whitespace=True)
                yield f"@{keyword}", items, keyword


def _declared(item: Any, origin: str, at_rule: str, element: Element | None) -> Declaration:
    value = tinycss2.serialize(item.value).strip()
    return Declaration(origin, item.lower_name, value, at_rule, element)


def _urls(tokens: Any) -> Iterator[str]:
    for token in tokens:
        if token.type == "url":
            yield token.value
        elif token.type == "function" and token.lower_name == "url":
            yield from (inner.value for inner in token.arguments if inner.type == "string")
        elif token.type == "function":
            yield from _urls(token.arguments)
