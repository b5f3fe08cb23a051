"""Hostile text made safe to read: escapes become visible, long things are cut in the middle."""

import unicodedata

_KEPT = frozenset("\n\t")


def visible(text: str) -> str:
    """The text with control, bidirectional and other format characters written out.

    A terminal escape shows as \\x1b and a right-to-left override as \\u202e (Boucher and Anderson, "Trojan
    Source", 2021), so that a reader sees what is there; tabs and newlines stay.
    """
    return "".join(_written_out(c) if c not in _KEPT and _is_hidden(c) else c for c in text)


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def _written_out(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shortened(text: str, limit: int) -> str:
    """At most about limit characters: the beginning and the end, and how much was left out between."""
    if len(text) <= limit:
        return text
    head, tail = limit // 3, limit - limit // 3
    return f"{text[:head]}\n… {len(text) - head - tail:,} characters left out …\n{text[-tail:]}"
