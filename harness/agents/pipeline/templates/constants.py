"""Constants: numbers, texts, truth values, patterns and flags."""

import ast
import re
from collections.abc import Iterator

from harness.agents.pipeline.templates.scope import Proposal, Scope


def constants(scope: Scope) -> Iterator[Proposal]:
    texts = [
        n.value
        for n in scope.nodes
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and not scope.is_docstring(n)
    ]
    for node in scope.find(ast.Constant):
        parent = scope.module.parents.get(node)
        if isinstance(parent, ast.Raise | ast.Expr):
            continue
        value = node.value
        if isinstance(value, bool):
            yield scope.swap(node, str(not value), key=f"{value}>{not value}")
            yield scope.swap(node, "None", cost=1.5)
        elif isinstance(value, int):
            yield from _integer(scope, node, value, parent)
        elif isinstance(value, float):
            for text in (f"{-value}", f"{value * 10}", f"{value / 10}", f"{value + 1}", f"{1 - value}"):
                yield scope.swap(node, text, cost=0.5)
        elif value is None:
            for cost, text in (
                (0.5, '""'),
                (0.5, "0"),
                (0.5, "[]"),
                (0.7, "{}"),
                (0.7, "False"),
                (1.0, "True"),
                (1.0, "()"),
            ):
                yield scope.swap(node, text, key=f"None>{text}", cost=cost)
        elif isinstance(value, str):
            yield from _text(scope, node, value, texts)
    for literal in scope.find(ast.List, ast.Dict, ast.Tuple):
        empty = not (literal.keys if isinstance(literal, ast.Dict) else literal.elts)
        if empty:
            for text in ("None", "[]", "{}", "()"):
                if text != scope.text(literal):
                    yield scope.swap(literal, text, cost=1.0)
            if isinstance(literal, ast.List):
                for name in scope.local_names[:6]:
                    yield scope.swap(literal, f"[{name}]", cost=0.5)


def _integer(scope: Scope, node: ast.Constant, value: int, parent: ast.AST | None) -> Iterator[Proposal]:
    steps = [
        (value + 1, 0.0),
        (value - 1, 0.0),
        (0, 0.5),
        (1, 0.5),
        (-1, 1.0),
        (-value, 1.0),
        (value + 2, 1.5),
        (value - 2, 1.5),
    ]
    if value > 9:
        steps += [(value * 2, 1.0), (value // 2, 1.0), (value * 10, 1.0), (value // 10, 1.0)]
    for number, cost in dict.fromkeys(steps):
        if number != value:
            text = str(number) if number >= 0 else scope.as_expression(node, str(number))
            if isinstance(parent, ast.UnaryOp) and number < 0:
                continue
            yield scope.swap(node, text, key=f"{value}>{number}", cost=cost)
    yield scope.swap(node, "None", cost=2.0)
    if isinstance(parent, ast.BinOp | ast.Compare | ast.Subscript | ast.Slice | ast.Call | ast.Return):
        for name in scope.local_names[:8]:
            yield scope.swap(node, name, cost=1.0)
            yield scope.swap(node, f"len({name})", cost=1.2)


def _text(scope: Scope, node: ast.Constant, value: str, texts: list[str]) -> Iterator[Proposal]:
    source = scope.text(node)
    if not source or source[0] not in "\"'r" or "\n" in source or source[:3] in ('"""', "'''"):
        return
    quote = source[-1]
    prefix, inner = source.split(quote, 1)[0], source.split(quote, 1)[1][:-1]
    for new, cost in (*_spelling(inner), *_pattern(scope, node, inner)):
        yield scope.swap(node, f"{prefix}{quote}{new}{quote}", cost=cost)
    if value == "":
        yield scope.swap(node, "None", cost=0.5)
    for other in dict.fromkeys(texts):
        if other != value and len(other) < 24 and len(value) < 24:
            yield scope.swap(
                node, repr(other) if quote == "'" else _double(other), key=f"{value}>{other}", cost=0.7
            )


def _double(text: str) -> str:
    inner = repr(text)[1:-1].replace("\\'", "'").replace('"', '\\"')
    return f'"{inner}"'


def _spelling(inner: str) -> list[tuple[str, float]]:
    """Case, edge spaces, a character or a common separator more or less."""
    out: list[tuple[str, float]] = []
    if len(inner) > 40:
        return out
    for new in (inner.lower(), inner.upper(), inner.capitalize()):
        out.append((new, 1.0))
    out += [(inner.strip(), 0.7), (inner + " ", 1.0), (" " + inner, 1.5), ("", 1.0), (inner + "\\n", 1.5)]
    if len(inner) == 1:
        out += [
            (x, 1.0) for x in (" ", ",", ", ", "-", "_", "/", ".", ":", ";", "\\n", "\\t", "=", "&", "+", "|")
        ]
    elif inner and len(inner) < 12 and "\\" not in inner:
        out += [(inner[1:], 1.2), (inner[:-1], 1.2)]
    return [(x, c) for x, c in out if x != inner]


def _pattern(scope: Scope, node: ast.Constant, inner: str) -> list[tuple[str, float]]:
    """Small changes of a regular expression: quantifiers, greed, anchors, signs, escapes, classes."""
    parent = scope.module.parents.get(node)
    used = isinstance(parent, ast.Call) and scope.text(parent.func).startswith(("re.", "regex"))
    if not used and not re.search(r"\\[dwsbSWD]|\[[^\]]+\][+*?]|\(\?", inner):
        return []
    out: list[tuple[str, float]] = []
    for found in re.finditer(r"(?<!\\)[+*](?!\?)", inner):
        at = found.start()
        other = "*" if inner[at] == "+" else "+"
        out += [(inner[:at] + other + inner[at + 1 :], 0.2), (inner[: at + 1] + "?" + inner[at + 1 :], 0.3)]
        out.append((inner[:at] + inner[at + 1 :], 1.2))
    for found in re.finditer(r"(?<!\\)(\.|\[[^\]]*\]|\\[dwsSDW])(?![+*?{])", inner):
        out += [(inner[: found.end()] + q + inner[found.end() :], 0.7) for q in ("+", "*", "?")]
    for found in re.finditer(r"(?<=[+*])\?", inner):
        out.append((inner[: found.start()] + inner[found.end() :], 0.4))
    for found in re.finditer(r"(?<!\\)\.(?![*+?])", inner):
        out.append((inner[: found.start()] + "\\." + inner[found.end() :], 0.3))
    for found in re.finditer(r"\\d", inner):
        out += [
            (inner[: found.start()] + "-?" + inner[found.start() :], 0.3),
            (inner[: found.start()] + "[-+]?" + inner[found.start() :], 0.5),
        ]
    for found in re.finditer(r"\[(\^?)([^\]]*)\]", inner):
        for extra in ("_", "-", ".", "\\s", "0-9", "A-Z", "a-z", "'", "\\w"):
            if extra not in found.group(2):
                body = f"[{found.group(1)}{found.group(2)}{extra}]"
                out.append((inner[: found.start()] + body + inner[found.end() :], 0.8))
        out.append(
            (
                inner[: found.start()]
                + f"[{'' if found.group(1) else '^'}{found.group(2)}]"
                + inner[found.end() :],
                1.2,
            )
        )
    for found in re.finditer(r"\\([dwsbDWS])", inner):
        for other in {"d": "w", "w": "S", "s": "b", "b": "s", "D": "d", "W": "w", "S": "w"}[found.group(1)]:
            out.append((inner[: found.start()] + "\\" + other + inner[found.end() :], 0.8))
    if not inner.startswith("^"):
        out.append(("^" + inner, 0.5))
    else:
        out.append((inner[1:], 0.5))
    if not inner.endswith("$"):
        out += [(inner + "$", 0.4), (inner + r"\b", 0.6), (inner + r"\Z", 1.0), (inner + r"\s*", 0.8)]
    else:
        out.append((inner[:-1], 0.5))
    out += [
        (r"\b" + inner, 0.7),
        (r"\s*" + inner, 0.9),
        (r"\b" + inner + r"\b", 0.6),
        ("(?i)" + inner, 0.7),
        ("(?s)" + inner, 0.8),
    ]
    return out
