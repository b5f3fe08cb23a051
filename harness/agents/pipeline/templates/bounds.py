"""Slices, ranges, first and last elements, and how often a text is split."""

import ast
from collections.abc import Iterator

from harness.agents.pipeline.templates.scope import Proposal, Scope

BOUNDS = ((0.0, "[1:]"), (0.0, "[:-1]"), (0.5, "[:]"), (0.5, "[::-1]"), (1.0, "[0]"), (1.0, "[-1]"))


def slices(scope: Scope) -> Iterator[Proposal]:
    for node in scope.find(ast.Subscript):
        base = scope.text(node.value)
        if isinstance(node.slice, ast.Slice):
            yield from _slice(scope, node, base, node.slice)
            continue
        index = scope.text(node.slice)
        if index in ("0", "-1"):
            yield scope.swap(node, f"{base}[{'-1' if index == '0' else '0'}]", key="end")
            yield scope.swap(node, f"{base}[{'1' if index == '0' else '-2'}]", cost=0.7)
        if isinstance(node.ctx, ast.Load):
            yield scope.swap(node, f"{base}[:{index}]", cost=2.0)
            yield scope.swap(node, f"{base}[{index}:]", cost=2.0)
            yield scope.swap(node, base, cost=2.0)
    for part in scope.find(ast.Name, ast.Attribute):
        parent = scope.module.parents.get(part)
        if not isinstance(getattr(part, "ctx", None), ast.Load):
            continue
        iterated = isinstance(parent, ast.For | ast.comprehension) and parent.iter is part
        given = isinstance(parent, ast.Call) and part in parent.args
        if iterated or given or isinstance(parent, ast.Return):
            for cost, bound in BOUNDS:
                yield scope.swap(part, scope.text(part) + bound, cost=cost + 1.0 + given)
            for name in scope.numeric_names[:4]:
                for bound in (f"[{name}:]", f"[:{name}]"):
                    yield scope.swap(part, scope.text(part) + bound, cost=1.0 + given)


def _slice(scope: Scope, node: ast.Subscript, base: str, bounds: ast.Slice) -> Iterator[Proposal]:
    low = scope.text(bounds.lower) if bounds.lower else ""
    high = scope.text(bounds.upper) if bounds.upper else ""
    step = f":{scope.text(bounds.step)}" if bounds.step else ""
    lows = [(f"{low} + 1", 0.0), (f"{low} - 1", 0.3), ("", 0.5)] if low else [("1", 0.3)]
    highs = [(f"{high} + 1", 0.0), (f"{high} - 1", 0.3), ("", 0.5)] if high else [("-1", 0.3)]
    for new, cost in lows:
        yield scope.swap(node, f"{base}[{_sum(new)}:{high}{step}]", key=f"low{new[-3:]}", cost=cost)
    for new, cost in highs:
        yield scope.swap(node, f"{base}[{low}:{_sum(new)}{step}]", key=f"high{new[-3:]}", cost=cost)
    if low and high:
        yield scope.swap(node, f"{base}[{high}:{low}{step}]", cost=2.0)
        yield scope.swap(node, f"{base}[{low}:{low} + {high}{step}]", cost=1.5)
    if low or high:
        yield scope.swap(node, f"{base}[{high}:{low}{step}]" if not (low and high) else base, cost=1.5)
        for value in (low, high):
            if value:
                yield scope.swap(node, f"{base}[{value}]", cost=2.0)
    for name in scope.local_names[:8]:
        if name not in (low, high):
            yield scope.swap(node, f"{base}[{name}:{high}{step}]", cost=2.5)
            yield scope.swap(node, f"{base}[{low}:{name}{step}]", cost=2.0)


def _sum(text: str) -> str:
    """Small sums of constants worked out, so that an edit reads as a person would write it."""
    try:
        parts = text.split()
        if len(parts) == 3 and parts[1] in "+-":
            first = int(parts[0])
            return str(first + 1 if parts[1] == "+" else first - 1)
    except ValueError:
        pass
    if text.endswith(" - 1 + 1") or text.endswith(" + 1 - 1"):
        return text[:-8]
    return text


def ranges(scope: Scope) -> Iterator[Proposal]:
    for node in scope.find(ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "range" and node.args and not node.keywords:
            args = [scope.text(a) for a in node.args]
            if len(args) == 1:
                yield scope.swap(node, f"range(1, {args[0]})")
                yield scope.swap(node, f"range({_sum(f'{args[0]} + 1')})", key="stop+1")
                yield scope.swap(node, f"range({_sum(f'{args[0]} - 1')})", key="stop-1")
                yield scope.swap(node, f"range(1, {_sum(f'{args[0]} + 1')})", cost=0.5)
            else:
                low, high, *step = args
                tail = "".join(f", {x}" for x in step)
                for new in (f"{low} + 1", f"{low} - 1"):
                    yield scope.swap(node, f"range({_sum(new)}, {high}{tail})", cost=0.3)
                for new in (f"{high} + 1", f"{high} - 1"):
                    yield scope.swap(node, f"range({low}, {_sum(new)}{tail})", key=f"stop{new[-1]}")
                yield scope.swap(node, f"range({high}, {low}{tail})", cost=1.5)
                if not step:
                    yield scope.swap(node, f"range({high})", cost=1.0)
        elif name == "enumerate" and len(node.args) == 1 and not node.keywords:
            yield scope.swap(node, f"enumerate({scope.text(node.args[0])}, 1)")
