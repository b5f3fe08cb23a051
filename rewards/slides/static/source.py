"""A deck as it lies on disk: its HTML entries in page order and the files beside them."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

LARGEST_ENTRY = 64 * 1024 * 1024
"""Bytes of one HTML file past which it is refused: a page of that size can't be parsed in bounded time."""

MOST_FILES = 20_000

_HTML_TAG = re.compile(
    rb"<\s*(?:!doctype\s+html|html|head|body|section|article|main|div|svg|h[1-6]|p|slide|style|template)\b",
    re.I,
)
_HTML_SUFFIXES = (".html", ".htm", ".xhtml")


class NotADeck(ValueError):
    """The path holds no HTML deck; the message says what was found instead and what to give."""


@dataclass(frozen=True)
class Entry:
    """One HTML file: its path relative to the deck's folder, and its text."""

    name: str
    text: str


@dataclass(frozen=True)
class DeckSource:
    """root: the folder that local references start from. files: every file's path relative to root."""

    path: Path
    root: Path
    entries: tuple[Entry, ...]
    files: frozenset[str]

    @property
    def page_files(self) -> bool:
        """Whether each entry is a page of its own."""
        return len(self.entries) > 1


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Sort key under which slide-2 comes before slide-10."""
    return [
        (0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", name.lower())
    ]


def open_deck(path: str | Path) -> DeckSource:
    """Read a deck's file, or the HTML files of a folder in natural order.

    In a folder, numbered files are pages, one each; else index.html is the deck; else every file is a page.
    Raises NotADeck.
    """
    path = Path(path)
    if not path.exists():
        raise NotADeck(f"{path} does not exist: give an HTML file, or a folder that holds one")
    if path.is_file():
        root, names = path.parent, [path.name]
    else:
        root = path
        names = sorted(
            (p.name for p in path.iterdir() if p.suffix.lower() in _HTML_SUFFIXES and p.is_file()),
            key=natural_key,
        )
        if not names:
            raise NotADeck(f"{path} holds no HTML file: give an HTML file, or a folder that holds one")
        numbered = [name for name in names if re.search(r"\d", name)]
        index = [name for name in names if Path(name).stem.lower() == "index"]
        # An index beside numbered files is the way into them, not a page of its own.
        names = numbered if len(numbered) > 1 else index[:1] or names
    entries = tuple(Entry(name, _read_html(root / name)) for name in names)
    return DeckSource(path, root, entries, _files_under(root))


def _read_html(path: Path) -> str:
    size = path.stat().st_size
    if size > LARGEST_ENTRY:
        raise NotADeck(
            f"{path} has {size // 2**20} MiB, and {LARGEST_ENTRY // 2**20} is the most a deck's file may have"
        )
    content = path.read_bytes()
    if not content.strip():
        raise NotADeck(f"{path} is empty: give an HTML deck")
    if b"\0" in content[:4096] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise NotADeck(f"{path} is not HTML but a binary file: give an HTML deck")
    encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    if encoding == "utf-8-sig" and not _HTML_TAG.search(content):
        raise NotADeck(f"{path} is not HTML (no HTML element in it): give an HTML deck")
    return content.decode(encoding, "replace")


def _files_under(root: Path) -> frozenset[str]:
    found: set[str] = set()
    for path in root.rglob("*"):
        if path.is_file():
            found.add(path.relative_to(root).as_posix())
            if len(found) >= MOST_FILES:
                break
    return frozenset(found)


def content_digest(source: DeckSource, name: str) -> str:
    """sha256 of one of the deck's files; "" where it can't be read."""
    try:
        return hashlib.sha256((source.root / name).read_bytes()).hexdigest()
    except OSError:
        return ""
