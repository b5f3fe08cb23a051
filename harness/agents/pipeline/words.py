"""Words of an issue text against identifiers of the code."""

import re

_COMMON = frozenset(
    re.findall(
        r"\w+",
        """
        the and for not are was were been with without from its this that then than but does did has have had
        can could should would will may none true false fix fixed bug issue error test tests python code
        function method class return returns value values result file line now also instead wrong raises raise
        use used using when
        """,
    )
)


def words(text: str) -> set[str]:
    """Lower-case words of three letters and more; camelCase and snake_case give their parts and the whole."""
    found: set[str] = set()
    for name in re.findall(r"[A-Za-z_][A-Za-z0-9_]{2,}", text):
        parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
        for part in [name, *parts]:
            lower = part.lower().strip("_")
            if len(lower) > 2 and lower not in _COMMON:
                found.add(lower)
    return found


def overlap(issue: set[str], name: str, body: str) -> float:
    """How much a function is spoken of, in [0, 1]: by its own name most, then by words of its body."""
    last = name.rsplit(".", 1)[-1].lower().strip("_")
    if last in issue and len(last) > 3:
        return 1.0
    own = words(name.replace("__init__", ""))
    named = len(own & issue) / len(own) if own else 0.0
    inside = len(words(body) & issue) / max(4, len(issue))
    return min(1.0, 0.6 * named + 0.4 * min(1.0, inside))
