"""Comparison operators, the side compared with, and truth against None."""

import ast
import re
from collections.abc import Iterator

from harness.agents.pipeline.source import Edit
from harness.agents.pipeline.templates.scope import Proposal, Scope, short

SYMBOLS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}

# Alternatives with the nats by which each is rarer than the commonest slip.
ALTERNATIVES: dict[str, tuple[tuple[str, float], ...]] = {
    "<": (("<=", 0.0), (">", 0.7), (">=", 1.0), ("!=", 2.0)),
    "<=": (("<", 0.0), (">=", 0.7), (">", 1.0), ("==", 2.0)),
    ">": ((">=", 0.0), ("<", 0.7), ("<=", 1.0), ("!=", 2.0)),
    ">=": ((">", 0.0), ("<=", 0.7), ("<", 1.0), ("==", 2.0)),
    "==": (("!=", 0.0), ("in", 1.5), ("<=", 1.5), (">=", 1.5), ("is", 2.0)),
    "!=": (("==", 0.0), ("not in", 1.5), (">", 1.5), ("<", 1.5), ("is not", 2.0)),
    "is": (("is not", 0.0), ("==", 0.7)),
    "is not": (("is", 0.0), ("!=", 0.7)),
    "in": (("not in", 0.0), ("==", 1.5)),
    "not in": (("in", 0.0), ("!=", 1.5)),
}


def operator_edit(scope: Scope, left: ast.expr, right: ast.expr, old: str, new: str) -> Edit | None:
    """Exchange the operator that stands between two operands; None where it can't be told apart."""
    start, end = scope.module.span(left)[1], scope.module.span(right)[0]
    gap = scope.module.raw[start:end].decode()
    pattern = r"\s+".join(re.escape(word) for word in old.split())
    found = list(re.finditer(pattern, gap))
    if len(found) != 1 or "#" in gap:
        return None
    at = start + len(gap[: found[0].start()].encode())
    return Edit(at, at + len(found[0].group().encode()), new)


def comparisons(scope: Scope) -> Iterator[Proposal]:
    for node in scope.find(ast.Compare):
        operands = [node.left, *node.comparators]
        for left, op, right in zip(operands, node.ops, operands[1:], strict=False):
            old = SYMBOLS[type(op)]
            for new, cost in ALTERNATIVES[old]:
                edit = operator_edit(scope, left, right, old, new)
                if edit:
                    note = f"{short(scope.text(node))}: {old} → {new}"
                    yield Proposal((edit,), note, left.end_lineno or node.lineno, f"{old}>{new}", cost)
        if len(node.ops) == 1:
            yield from _other_test(scope, node)


def _other_test(scope: Scope, node: ast.Compare) -> Iterator[Proposal]:
    """None against truth, a prefix against equality, the type against isinstance."""
    left, right = scope.operand(node.left), node.comparators[0]
    op = node.ops[0]
    if isinstance(right, ast.Constant) and right.value is None:
        if isinstance(op, ast.Is | ast.Eq):
            yield scope.swap(node, scope.as_expression(node, f"not {left}"))
        else:
            yield scope.swap(node, left)
        return
    if isinstance(op, ast.Eq | ast.Lt) and isinstance(right, ast.Constant) and type(right.value) is int:
        yield scope.swap(node, f"{left} <= {right.value + 1}", cost=1.0)
        yield scope.swap(node, f"{left} < {right.value + 2}", cost=1.2)
    if isinstance(op, ast.Eq) and isinstance(right, ast.Constant) and isinstance(right.value, str):
        yield scope.swap(node, f"{left}.startswith({scope.text(right)})", cost=1.0)
        yield scope.swap(node, f"{left}.endswith({scope.text(right)})", cost=1.5)
    if isinstance(op, ast.Eq | ast.NotEq) and not isinstance(right, ast.Constant):
        yield scope.swap(right, f"{scope.operand(right)}.lower()", cost=2.5)


def truth(scope: Scope) -> Iterator[Proposal]:
    """A value that may be false without being missing: test it against None, or the other way round."""
    for node in scope.find(ast.If, ast.IfExp, ast.While):
        test = node.test
        if isinstance(test, ast.Name | ast.Attribute | ast.Subscript):
            yield scope.swap(test, f"{scope.text(test)} is not None", key="truth>none")
            yield scope.swap(test, f"{scope.text(test)} is None", cost=1.5)
        elif (
            isinstance(test, ast.UnaryOp)
            and isinstance(test.op, ast.Not)
            and isinstance(test.operand, ast.Name | ast.Attribute | ast.Subscript)
        ):
            yield scope.swap(test, f"{scope.text(test.operand)} is None", key="truth>none")
    for choice in scope.find(ast.BoolOp):
        if isinstance(choice.op, ast.Or) and len(choice.values) == 2:
            first, second = scope.text(choice.values[0]), scope.text(choice.values[1])
            if isinstance(choice.values[0], ast.Name | ast.Attribute | ast.Subscript):
                text = f"{first} if {first} is not None else {second}"
                yield scope.swap(choice, scope.as_expression(choice, text), key="or>none")
        for value in choice.values:
            if isinstance(value, ast.Name | ast.Attribute):
                yield scope.swap(value, f"{scope.text(value)} is not None", cost=1.0)
