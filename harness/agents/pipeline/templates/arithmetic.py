"""Arithmetic: one more or less, another operator, the operands exchanged, an operand dropped."""

import ast
from collections.abc import Iterator

from harness.agents.pipeline.templates.comparisons import operator_edit
from harness.agents.pipeline.templates.scope import Proposal, Scope, short

SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.Pow: "**",
}

ALTERNATIVES: dict[str, tuple[str, ...]] = {
    "+": ("-", "*", "|"),
    "-": ("+", "%"),
    "*": ("**", "/", "+"),
    "/": ("//", "*"),
    "//": ("/", "%"),
    "%": ("//",),
    "&": ("|", "^", "and"),
    "|": ("&", "^", "or"),
    "^": ("&", "|"),
    "<<": (">>",),
    ">>": ("<<",),
    "**": ("*",),
}


def operators(scope: Scope) -> Iterator[Proposal]:
    for node in scope.find(ast.BinOp):
        old = SYMBOLS.get(type(node.op), "@")
        textual = any(isinstance(x, ast.Constant | ast.JoinedStr) for x in (node.left, node.right))
        if old == "%" and isinstance(node.left, ast.Constant | ast.JoinedStr):
            continue
        for rank, new in enumerate(ALTERNATIVES.get(old, ())):
            edit = operator_edit(scope, node.left, node.right, old, new)
            if edit:
                note = f"{short(scope.text(node))}: {old} → {new}"
                yield Proposal((edit,), note, node.left.end_lineno or node.lineno, f"{old}>{new}", 0.5 * rank)
        left, right = scope.text(node.left), scope.text(node.right)
        if old in ("-", "/", "//", "%", "+", "**"):
            swapped = f"{scope.operand(node.right)} {old} {scope.operand(node.left)}"
            yield scope.swap(node, swapped, cost=1.0 if old != "+" else 2.0)
        yield scope.swap(node, scope.as_expression(node, left), cost=0.5)
        yield scope.swap(node, scope.as_expression(node, right), cost=1.0 + textual)
    for step in scope.find(ast.AugAssign):
        old = SYMBOLS.get(type(step.op), "@")
        for new in [f"{x}=" for x in ALTERNATIVES.get(old, ()) if not x.isalpha()] + ["="]:
            edit = operator_edit(scope, step.target, step.value, f"{old}=", new)
            if edit:
                note = f"{short(scope.text(step))}: {old}= → {new}"
                yield Proposal((edit,), note, step.lineno, f"{old}=>{new}", 0.5 * (new == "="))
    for assignment in scope.find(ast.Assign):
        target = assignment.targets[0]
        if len(assignment.targets) == 1 and isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
            for new in ("+=", "-=", "|="):
                edit = operator_edit(scope, target, assignment.value, "=", new)
                if edit:
                    note = f"{short(scope.text(assignment))}: = → {new}"
                    yield Proposal((edit,), note, assignment.lineno, f"=>{new}", 1.0 + (new != "+="))
    for node_ in scope.find(ast.UnaryOp):
        if isinstance(node_.op, ast.USub) and not isinstance(node_.operand, ast.Constant):
            yield scope.swap(node_, scope.text(node_.operand))


def off_by_one(scope: Scope) -> Iterator[Proposal]:
    """An index, a bound, a compared or returned number, one more or one less."""
    for node in scope.find(ast.Name, ast.Attribute, ast.Call, ast.BinOp):
        parent = scope.module.parents.get(node)
        if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
            continue
        if not isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.BinOp):
            continue
        cost = _numeric_place(node, parent)
        numeric = isinstance(node, ast.Name) and node.id in scope.numeric_names
        if numeric and isinstance(parent, ast.Call | ast.Assign | ast.Return | ast.keyword):
            cost = min(0.5, 0.5 if cost is None else cost)
        if cost is None:
            continue
        if numeric and isinstance(node, ast.Name):
            yield from _by_another(scope, node, cost)
        text = scope.text(node)
        if isinstance(node, ast.BinOp):
            if not isinstance(node.op, ast.Add | ast.Sub) or _is_text(node):
                continue
            one = isinstance(node.right, ast.Constant) and node.right.value == 1
            cost += 0.0 if not one else 1.0
        for sign in ("+", "-"):
            yield scope.swap(node, scope.as_expression(node, f"{text} {sign} 1"), key=f"{sign}1", cost=cost)


def _by_another(scope: Scope, node: ast.Name, cost: float) -> Iterator[Proposal]:
    """A number more or less by another number of the function."""
    for other in scope.numeric_names[:6]:
        if other != node.id:
            for sign in ("-", "+"):
                yield scope.swap(
                    node, scope.as_expression(node, f"{node.id} {sign} {other}"), cost=cost + 0.8
                )


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(x, ast.JoinedStr) or (isinstance(x, ast.Constant) and isinstance(x.value, str | bytes))
        for x in ast.walk(node)
    )


def _numeric_place(node: ast.AST, parent: ast.AST | None) -> float | None:
    """Nats by which ±1 is rarer in this place than in a bound; None where a number is unlikely."""
    sized = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("len", "int")
    if isinstance(node, ast.Call) and not sized:
        return None
    if isinstance(parent, ast.Slice):
        return 0.0
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name):
        if parent.func.id in ("range", "min", "max"):
            return 0.0
        return 1.5 if node in parent.args and not isinstance(node, ast.Attribute) else None
    if isinstance(parent, ast.Compare) and any(
        isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in parent.ops
    ):
        return 0.5
    if isinstance(parent, ast.Subscript) and parent.slice is node:
        return 0.5
    if isinstance(parent, ast.Return) or (
        isinstance(parent, ast.Assign) and isinstance(node, ast.BinOp | ast.Call)
    ):
        return 1.0
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mult | ast.FloorDiv | ast.Mod | ast.Div):
        return 1.0
    return None
