"""A deck as it lies on disk: its HTML entries in page order and the files beside them."""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

LARGEST_ENTRY = 64 * 1024 * 1024
"""Bytes of one HTML file past which it is refused: a page of that size can't be parsed in bounded time."""

LARGEST_DECK = 128 * 1024 * 1024
"""Bytes of all files of a deck that a browser is handed."""

MOST_FILES = 20_000

_HTML_TAG = re.compile(
    rb"<\s*(?:!doctype\s+html|html|head|body|section|article|main|div|svg|h[1-6]|p|slide|style|template)\b",
    re.I,
)
_LOADABLE = frozenset({
    ".html", ".htm", ".xhtml", ".css", ".js", ".mjs", ".json", ".svg", ".png", ".jpg", ".jpeg",
    ".gif", ".webp", ".avif", ".bmp", ".ico", ".woff", ".woff2", ".ttf", ".otf", ".mp4", ".webm",
    ".mp3", ".ogg", ".txt", ".md", ".csv", ".xml",
})  # fmt: skip
_NAMES_OTHERS = frozenset({".html", ".htm", ".xhtml", ".css", ".js", ".mjs", ".json", ".svg", ".md"})
_FILE_NAME = re.compile(r"[^/\\\s\"'()<>?#=,;]+\.\w{2,5}")
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
    """Paths of the files below, hidden folders and installed packages left out; MOST_FILES at most."""
    found: set[str] = set()
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(each for each in folders if not each.startswith(".") and each != "node_modules")
        for name in sorted(names):
            if len(found) >= MOST_FILES:
                return frozenset(found)
            found.add((Path(folder) / name).relative_to(root).as_posix())
    return frozenset(found)


def read_files(source: DeckSource) -> dict[str, bytes]:
    """The entries and the files that they, and text files among those in turn, name; by path.

    A deck may lie in a folder full of other things, which a page has no business with. What passes
    LARGEST_DECK is left out, and so is a symbolic link that leads out of the folder.
    """
    root = source.root.resolve()
    by_name: dict[str, list[str]] = {}
    for path in sorted(source.files):
        if Path(path).suffix.lower() in _LOADABLE:
            by_name.setdefault(Path(path).name, []).append(path)
    found: dict[str, bytes] = {}
    room = LARGEST_DECK
    waiting = [entry.name for entry in source.entries]
    while waiting:
        name = waiting.pop(0)
        path_on_disk = (root / name).resolve()
        inside = path_on_disk.is_relative_to(root) and path_on_disk.is_file()
        if name in found or not inside or path_on_disk.stat().st_size > room:
            continue
        found[name] = path_on_disk.read_bytes()
        room -= len(found[name])
        if Path(name).suffix.lower() in _NAMES_OTHERS:
            text = found[name].decode("utf-8", "replace")
            named = {unquote(each) for each in _FILE_NAME.findall(text)}
            named |= {each for each in by_name if " " in each and each in text}
            waiting.extend(path for each in sorted(named) for path in by_name.get(each, ()))
    return found


def content_digest(source: DeckSource, name: str) -> str:
    """sha256 of one of the deck's files; "" where it can't be read."""
    try:
        return hashlib.sha256((source.root / name).read_bytes()).hexdigest()
    except OSError:
        return ""
