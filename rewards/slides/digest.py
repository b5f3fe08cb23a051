"""The scorer digest: what a deck's score depends on beside the deck."""

import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.resources.abc import Traversable

_LIBRARIES = ("numpy", "pillow", "scipy", "selectolax", "tinycss2")
_NO_PART_OF_THE_SCORE = frozenset({"cli.py", "table.py", "health.py"})


def scorer_digest(*, browser: str, clip: str) -> str:
    """sha256 over rules, weights, libraries, the browser's digest and the CLIP's ("" for none)."""
    parts = [_rules(), browser, clip, *(f"{name} {_version(name)}" for name in _LIBRARIES)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@cache
def _rules() -> str:
    sha = hashlib.sha256()
    for path, content in sorted(_sources(files("rewards.slides"), "")):
        sha.update(path.encode() + b"\0" + content + b"\0")
    return sha.hexdigest()


def _sources(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        name = f"{prefix}{entry.name}"
        if entry.is_dir():
            found.extend(_sources(entry, f"{name}/"))
        elif entry.name.endswith((".py", ".toml")) and entry.name not in _NO_PART_OF_THE_SCORE:
            found.append((name, entry.read_bytes()))
    return found


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
