"""Checks of pictures and of the files and hosts that a deck leans on."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator
from urllib.parse import urlsplit

from rewards.slides.static.document import Element
from rewards.slides.static.rule import StaticDeck, Verdict
from rewards.slides.static.source import content_digest
from rewards.slides.static.stylesheet import resolve

_PLACEHOLDER = re.compile(
    r"(^|\.)(example\.(com|org|net)|placeholder\.com|placehold\.(co|it)|placekitten\.com|picsum\.photos"
    r"|dummyimage\.com|lorempixel\.com|loremflickr\.com|fakeimg\.pl|source\.unsplash\.com)$"
)
_FILE_NAME = re.compile(r"[\w .-]+\.(png|jpe?g|gif|svg|webp|avif)", re.I)
_EMPTY_WORDS = frozenset(
    {"image", "img", "picture", "photo", "graphic", "icon", "placeholder", "alt", "alt text"}
)
_REFERENCES = {
    "img": "src", "script": "src", "source": "src", "video": "src", "audio": "src", "iframe": "src",
    "embed": "src", "track": "src", "object": "data", "image": "href", "use": "href",
}  # fmt: skip
_PROBING = re.compile(
    r"\bnavigator\s*\.\s*webdriver|\bHeadlessChrome|\bdocument\s*\.\s*write|\beval\s*\(|\bnew\s+Function\b"
    r"|\bXMLHttpRequest\b|\bWebSocket\b|\bfetch\s*\(|getBoundingClientRect\s*=|getComputedStyle\s*="
)


def _images(deck: StaticDeck) -> Iterator[tuple[int | None, Element]]:
    for document in deck.documents:
        for element in document.root.iter():
            if element.tag == "img" or (element.tag == "svg" and element.attributes.get("role") == "img"):
                yield deck.page_of(element), element


def image_alt(deck: StaticDeck) -> Iterator[Verdict]:
    for page, element in _images(deck):
        given = element.attributes
        decorative = given.get("role") in {"presentation", "none"} or given.get("aria-hidden") == "true"
        named = given.get("aria-label", "").strip() or given.get("aria-labelledby", "").strip()
        if element.tag == "svg":
            titled = any(child.tag == "title" and child.text for child in element.children)
            fine = bool(named or titled or decorative)
            yield Verdict(
                "pass" if fine else "fail", page, element.path, "the drawing has no title or aria-label"
            )
            continue
        alt = given.get("alt")
        if decorative or named or alt == "":
            yield Verdict("pass", page, element.path)
        elif alt is None:
            yield Verdict("fail", page, element.path, "the image has no alt")
        elif _FILE_NAME.fullmatch(alt.strip()) or alt.strip().lower() in _EMPTY_WORDS:
            yield Verdict(
                "fail", page, element.path, f"alt={alt.strip()[:60]!r} tells nothing of the picture"
            )
        else:
            yield Verdict("pass", page, element.path)


def duplicate_images(deck: StaticDeck) -> Iterator[Verdict]:
    """One picture twice on a page, or on a few pages. On most pages it is the deck's own mark, and fine."""
    places: dict[str, list[tuple[int | None, Element]]] = defaultdict(list)
    for document in deck.documents:
        for element in document.root.iter():
            src = element.attributes.get("src", "").strip() if element.tag == "img" else ""
            if not src:
                continue
            local = resolve(document.name, src)
            key = (content_digest(deck.source, local) if local in deck.source.files else "") or src
            if src.startswith("data:"):
                key = hashlib.sha256(src.encode()).hexdigest()
            places[key].append((deck.page_of(element), element))
    for shown in places.values():
        pages = {page for page, _ in shown}
        a_mark = len(pages) == len(shown) and len(pages) > max(2, len(deck.pages) // 2)
        for place, (page, element) in enumerate(shown):
            again = place > 0 and not a_mark
            yield Verdict("fail" if again else "pass", page, element.path, "the same picture stood before")


def invented_images(deck: StaticDeck) -> Iterator[Verdict]:
    for page, element in _images(deck):
        src = element.attributes.get("src", "").strip()
        if element.tag != "img":
            continue
        if not src:
            yield Verdict("fail", page, element.path, "the image has no source")
            continue
        host = _host(src)
        if host and _PLACEHOLDER.search(host):
            yield Verdict("fail", page, element.path, f"{host} serves placeholders, not this deck's pictures")
        elif host:
            yield Verdict("incomplete", page, element.path, f"the picture lies on {host}, which is not asked")
        else:
            yield Verdict("pass", page, element.path)


def missing_assets(deck: StaticDeck) -> Iterator[Verdict]:
    for document in deck.documents:
        for element, reference in _asked(deck, document.name):
            local = resolve(document.name, reference)
            if not local:
                continue
            there = local in deck.source.files
            page = deck.page_of(element) if element is not None else None
            path = element.path if element is not None else "style"
            yield Verdict(
                "pass" if there else "fail", page, path, f"{reference[:120]} is not among the deck's files"
            )


def external_requests(deck: StaticDeck) -> Iterator[Verdict]:
    for document in deck.documents:
        hosts: dict[str, tuple[Element | None, int]] = {}
        for element, reference in _asked(deck, document.name):
            host = _host(reference)
            if host:
                hosts[host] = (element, hosts.get(host, (None, 0))[1] + 1)
        if not hosts:
            yield Verdict("pass", None, "html")
        for host, (element, count) in hosts.items():
            path = element.path if element is not None else "style"
            yield Verdict("fail", None, path, f"{count} request(s) to {host}")


def scripts(deck: StaticDeck) -> Iterator[Verdict]:
    for document in deck.documents:
        for element in document.root.iter():
            if element.tag != "script":
                continue
            found = _PROBING.search(element.text)
            said = f"the script uses {found.group(0).strip()}" if found else ""
            yield Verdict("fail" if found else "pass", None, element.path, said)


def _host(reference: str) -> str:
    try:
        parts = urlsplit(reference.strip())
    except ValueError:
        return ""
    return (parts.hostname or "") if parts.scheme in {"http", "https", "ws", "wss", ""} else ""


def _asked(deck: StaticDeck, name: str) -> Iterator[tuple[Element | None, str]]:
    """Everything a browser would load for the document, with the element that asks where one does."""
    document = next(each for each in deck.documents if each.name == name)
    for element in document.root.iter():
        if element.tag == "link":
            rel = element.attributes.get("rel", "").lower().split()
            if {"stylesheet", "icon", "preload", "modulepreload"} & set(rel):
                yield element, element.attributes.get("href", "")
        elif element.tag in _REFERENCES:
            value = element.attributes.get(_REFERENCES[element.tag]) or element.attributes.get(
                "xlink:href", ""
            )
            if value and not value.startswith("#"):
                yield element, value
        for candidate in element.attributes.get("srcset", "").split(", "):
            if candidate.strip():
                yield element, candidate.split()[0]
    for url, _ in deck.styles[name].urls:
        yield None, url
