"""Every template family offers the edit that a person would make, as exact text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.agents.pipeline.candidates import combined, fingerprint
from harness.agents.pipeline.source import Edit, Module, apply_edits, revert_edits
from harness.agents.pipeline.templates import FAMILIES
from harness.agents.pipeline.templates.scope import Scope

BY_NAME = {family.name: family for family in FAMILIES}


def edited(family: str, code: str) -> set[str]:
    """The code after each proposal of the family, over every function of it."""
    module = Module("m.py", code.encode())
    found = set()
    for function in module.functions:
        scope = Scope(module, function)
        for template in BY_NAME[family].templates:
            proposals = list(template(scope))
            for proposal in [*proposals, *combined(proposals)]:
                found.add(apply_edits(module.raw, proposal.edits).decode())
    return found


CASES = [
    ("comparison", "def f(a, b):\n    return a < b\n", "def f(a, b):\n    return a <= b\n"),
    ("comparison", "def f(a):\n    return (a) is None\n", "def f(a):\n    return (a) is not None\n"),
    ("comparison", "def f(a, b):\n    return a in b\n", "def f(a, b):\n    return a not in b\n"),
    ("truth", "def f(a):\n    if a:\n        pass\n", "def f(a):\n    if a is not None:\n        pass\n"),
    ("truth", "def f(a, b):\n    return a or b\n", "def f(a, b):\n    return a if a is not None else b\n"),
    ("arithmetic", "def f(a, b):\n    return a - b\n", "def f(a, b):\n    return b - a\n"),
    ("arithmetic", "def f(a, b):\n    a += b\n", "def f(a, b):\n    a -= b\n"),
    ("off_by_one", "def f(a, n):\n    return a[:n]\n", "def f(a, n):\n    return a[:n + 1]\n"),
    ("bounds", "def f(n):\n    return range(n)\n", "def f(n):\n    return range(1, n + 1)\n"),
    ("bounds", "def f(a):\n    return a[1:3]\n", "def f(a):\n    return a[1:4]\n"),
    ("boolean", "def f(a, b):\n    return a and b\n", "def f(a, b):\n    return a or b\n"),
    (
        "condition",
        "def f(a):\n    if a > 1:\n        pass\n",
        "def f(a):\n    if not (a > 1):\n        pass\n",
    ),
    (
        "guard",
        "def f(a):\n    return a[0]\n",
        "def f(a):\n    if not a:\n        return None\n    return a[0]\n",
    ),
    (
        "guard",
        "def f(a):\n    for x in a:\n        print(x.y)\n",
        "def f(a):\n    for x in a:\n        if x is None:\n            continue\n        print(x.y)\n",
    ),
    ("around", "def f(a):\n    a.go()\n", "def f(a):\n    if a is not None:\n        a.go()\n"),
    ("normalise", "def f(a):\n    return a\n", "def f(a):\n    a = a.strip()\n    return a\n"),
    ("argument", "def f(a, b):\n    return g(a, b)\n", "def f(a, b):\n    return g(b, a)\n"),
    ("argument", "def f(a):\n    return sorted(a)\n", "def f(a):\n    return sorted(a, reverse=True)\n"),
    (
        "argument",
        "def g(a, deep=False):\n    return a\ndef f(a, deep):\n    return g(a)\n",
        "def g(a, deep=False):\n    return a\ndef f(a, deep):\n    return g(a, deep=deep)\n",
    ),
    ("name", "def f(a, b):\n    return a\n", "def f(a, b):\n    return b\n"),
    ("attribute", "def f(a):\n    return a.lstrip()\n", "def f(a):\n    return a.strip()\n"),
    ("function", "def f(a):\n    return min(a)\n", "def f(a):\n    return max(a)\n"),
    ("constant", "def f():\n    return 0\n", "def f():\n    return 1\n"),
    ("constant", "import re\nP = re.compile('a+')\n", "import re\nP = re.compile('a*')\n"),
    ("constant", "def f(a):\n    return a == 'X'\n", "def f(a):\n    return a == 'x'\n"),
    ("return", "def f(a):\n    a.go()\n", "def f(a):\n    return a.go()\n"),
    ("return", "def f(a):\n    b = a\n", "def f(a):\n    b = a\n    return b\n"),
    ("wrapper", "def f(a):\n    return a\n", "def f(a):\n    return list(a)\n"),
    ("unwrapper", "def f(a):\n    return int(a)\n", "def f(a):\n    return a\n"),
    ("unwrapper", "async def f(a):\n    return g(a)\n", "async def f(a):\n    return await g(a)\n"),
    (
        "exception",
        "def f(a):\n    try:\n        return int(a)\n    except ValueError:\n        return 0\n",
        "def f(a):\n    try:\n        return int(a)\n    except (ValueError, TypeError):\n        return 0\n",
    ),
    (
        "catch",
        "def f(a):\n    return int(a)\n",
        "def f(a):\n    try:\n        return int(a)\n    except ValueError:\n        return None\n",
    ),
    ("drop", "def f(a):\n    a += 1\n    return a\n", "def f(a):\n    return a\n"),
    ("move", "def f(a):\n    a.x()\n    a.y()\n", "def f(a):\n    a.y()\n    a.x()\n"),
    (
        "move",
        "def f(a):\n    for x in a:\n        x.y()\n        return 1\n",
        "def f(a):\n    for x in a:\n        x.y()\n    return 1\n",
    ),
    (
        "branch",
        "def f(a):\n    if a:\n        b = 1\n    return b\n",
        "def f(a):\n    if a:\n        b = 1\n    else:\n        b = None\n    return b\n",
    ),
    (
        "addition",
        "def f(a):\n    for x in a:\n        b = x\n    return b\n",
        "def f(a):\n    for x in a:\n        b = x\n        break\n    return b\n",
    ),
    ("default", "def f(a, k):\n    return a[k]\n", "def f(a, k):\n    return a.get(k)\n"),
    (
        "default",
        "def f(a):\n    for x in a:\n        pass\n",
        "def f(a):\n    for x in a or []:\n        pass\n",
    ),
    (
        "parameter",
        "def f(a=[]):\n    return a\n",
        "def f(a=None):\n    if a is None:\n        a = []\n    return a\n",
    ),
    (
        "type",
        "def f(a):\n    return isinstance(a, list)\n",
        "def f(a):\n    return isinstance(a, (list, tuple))\n",
    ),
]


@pytest.mark.parametrize(("family", "before", "after"), CASES)
def test_family_offers_the_edit(family: str, before: str, after: str) -> None:
    assert after in edited(family, before)


def test_every_family_has_a_case() -> None:
    assert {case[0] for case in CASES} == set(BY_NAME)


def test_like_edits_are_joined() -> None:
    code = "def f(a, b, c):\n    return a < b and b < c\n"
    assert code.replace("<", "<=") in edited("comparison", code)


SAMPLE = '''"""Module."""
import re


class Box:
    """A box of things, ünïcode before the code."""

    def __init__(self, items=None, *, limit=3):
        self.items = items or []
        self.limit = limit

    def first(self, default=None):
        """Docstring stays."""
        for index, item in enumerate(self.items):
            if item is None and index < self.limit:
                continue
            if not isinstance(item, str):
                raise TypeError(f"bad {item!r} at {index + 1}")
            return item.strip()
        return default

    async def load(self, path, key="ä"):
        try:
            text = await read(path, 1)
        except (OSError, ValueError):
            text = ""
        else:
            self.items.append(text[1:-1])
        return {key: len(text) // 2}[key]


def total(values, start=0):
    out = start
    while values and out >= 0:
        out += values.pop() * 2  # twice
    return out
'''


def test_candidates_keep_the_rest_and_can_be_taken_back() -> None:
    """Nearly all proposals parse; each can be undone to the very bytes; no docstring changes."""
    module = Module("m.py", SAMPLE.encode())
    made = parsed = 0
    for function in module.functions:
        scope = Scope(module, function)
        for family in FAMILIES:
            for template in family.templates:
                for proposal in template(scope):
                    made += 1
                    changed = apply_edits(module.raw, proposal.edits)
                    assert apply_edits(changed, revert_edits(proposal.edits, module.raw)) == module.raw
                    assert b"Docstring stays." in changed or family.name == "drop"
                    parsed += fingerprint(module, function, proposal.edits) is not None
    assert made > 1000
    assert parsed / made > 0.97


@given(st.binary(max_size=40), st.data())
@settings(max_examples=200, deadline=None)
def test_edits_then_their_reverse_change_nothing(raw: bytes, data: st.DataObject) -> None:
    raw = raw.decode("latin-1").encode()
    text = raw.decode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=6)))
    offsets = [len(text[:cut].encode()) for cut in cuts]
    edits = tuple(
        Edit(start, end, data.draw(st.text(max_size=5)))
        for start, end in zip(offsets[::2], offsets[1::2], strict=False)
    )
    assert apply_edits(apply_edits(raw, edits), revert_edits(edits, raw)) == raw


def test_deletions_side_by_side_come_back_in_order() -> None:
    edits = (Edit(0, 1, ""), Edit(1, 2, ""))
    assert apply_edits(apply_edits(b"ba", edits), revert_edits(edits, b"ba")) == b"ba"


def test_overlapping_edits_are_refused() -> None:
    with pytest.raises(ValueError, match="overlaps"):
        apply_edits(b"abcdef", (Edit(0, 3, "x"), Edit(2, 4, "y")))
