"""Conditions: and, or, not; a part dropped, negated, or joined by another condition."""

import ast
from collections.abc import Iterator

from harness.agents.pipeline.templates.comparisons import operator_edit
from harness.agents.pipeline.templates.scope import Proposal, Scope, short


def connectives(scope: Scope) -> Iterator[Proposal]:
    for node in scope.find(ast.BoolOp):
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        edits = [
            operator_edit(scope, a, b, old, new) for a, b in zip(node.values, node.values[1:], strict=False)
        ]
        note = f"{short(scope.text(node))}: {old} → {new}"
        if all(edits):
            yield Proposal(tuple(e for e in edits if e), note, node.lineno, f"{old}>{new}")
        for index in range(len(node.values)):
            rest = [scope.text(v) for i, v in enumerate(node.values) if i != index]
            text = f" {old} ".join(rest)
            yield scope.swap(node, scope.as_expression(node, text) if len(rest) > 1 else text, cost=0.3)
        for value in node.values:
            yield scope.swap(value, negation(scope, value), cost=1.0)
        if len(node.values) > 2 and len(edits) > 1:
            for edit in edits:
                if edit:
                    yield Proposal((edit,), note, node.lineno, cost=1.0)


def negation(scope: Scope, node: ast.expr) -> str:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return scope.text(node.operand)
    return f"not {scope.operand(node)}"


def conditions(scope: Scope) -> Iterator[Proposal]:
    """A branch's or loop's test negated, fixed, or joined with another condition."""
    pool = condition_pool(scope)
    for node in scope.find(ast.If, ast.While, ast.IfExp):
        if scope.lines is not None and not any(
            x in scope.lines for x in range(node.test.lineno, (node.test.end_lineno or node.test.lineno) + 1)
        ):
            continue
        test = node.test
        yield scope.swap(test, negation(scope, test), key="negate")
        if not isinstance(test, ast.Constant):
            yield scope.swap(test, "True", cost=1.5)
            yield scope.swap(test, "False", cost=1.5)
        text = (
            scope.operand(test) if isinstance(test, ast.BoolOp | ast.IfExp | ast.Lambda) else scope.text(test)
        )
        for extra, cost in pool:
            if extra == text or extra in scope.text(test):
                continue
            yield scope.swap(test, f"{text} and {extra}", cost=cost)
            yield scope.swap(test, f"{text} or {extra}", cost=cost)
            if cost < 1.0:
                yield scope.swap(test, f"{extra} and {text}", cost=cost + 0.5)
                yield scope.swap(test, f"{extra} or {text}", cost=cost + 0.7)
    for comprehension in scope.find(ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp):
        last = comprehension.generators[-1]
        if last.ifs:
            whole, test = scope.module.span(comprehension), last.ifs[-1]
            yield scope.swap(test, negation(scope, test), cost=0.5)
            start, end = scope.module.span(test)
            head = scope.module.raw[whole[0] : start].decode().rstrip()
            tail = scope.module.raw[end : whole[1]].decode()
            if head.endswith("if"):
                yield scope.swap(comprehension, head[:-2].rstrip() + tail, cost=0.5)
        elif isinstance(last.target, ast.Name):
            end = scope.module.span(last.iter)[1]
            for extra in (last.target.id, f"{last.target.id} is not None", f"{last.target.id}.strip()"):
                text = scope.text(comprehension)
                at = end - scope.module.span(comprehension)[0]
                raw = text.encode()
                new = raw[:at].decode() + f" if {extra}" + raw[at:].decode()
                yield scope.swap(comprehension, new, note=f"filter by {extra}", cost=0.5)


def condition_pool(scope: Scope) -> list[tuple[str, float]]:
    """Conditions at hand in this function: tests written elsewhere in it, then plain ones on its names."""
    pool: dict[str, float] = {}
    for node in scope.nodes:
        test = getattr(node, "test", None)
        parts = test.values if isinstance(test, ast.BoolOp) else [test]
        for part in parts:
            if isinstance(part, ast.expr) and part not in scope.module.in_fstring:
                text = scope.text(part)
                if len(text) < 50 and "\n" not in text:
                    pool.setdefault(text, 0.3)
    for name in scope.local_names[:8]:
        for text, cost in (
            (name, 0.5),
            (f"not {name}", 0.5),
            (f"{name} is None", 0.7),
            (f"{name} is not None", 0.7),
            (f"{name} == 0", 2.0),
            (f"{name} > 0", 2.0),
            (f"len({name}) > 1", 2.5),
        ):
            pool.setdefault(text, cost)
    return list(pool.items())[:60]
