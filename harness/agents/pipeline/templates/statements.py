"""Whole statements: dropped, moved, taken into or out of a block, copied from nearby, loops ended."""

import ast
from collections.abc import Iterator
from itertools import pairwise

from harness.agents.pipeline.source import Edit
from harness.agents.pipeline.templates.guards import indented_lines
from harness.agents.pipeline.templates.scope import Proposal, Scope, short

Blocks = ast.If | ast.For | ast.While | ast.With | ast.Try | ast.AsyncFor | ast.AsyncWith


def blocks(scope: Scope) -> Iterator[list[ast.stmt]]:
    for node in [scope.node, *scope.nodes]:
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def drops(scope: Scope) -> Iterator[Proposal]:
    for block in blocks(scope):
        for statement in block:
            if not scope.suspect(statement) or not scope.module.owns_its_lines(statement):
                continue
            if isinstance(statement, ast.Import | ast.ImportFrom | ast.Pass | ast.ClassDef | ast.FunctionDef):
                continue
            start, end = scope.module.statement_span(statement)
            large = (statement.end_lineno or statement.lineno) - statement.lineno
            text = "" if len(block) > 1 else f"{scope.module.indent(statement)}pass\n"
            cost = min(2.0, 0.3 * large) + 0.7 * isinstance(statement, ast.Return)
            if scope.sole_binding(statement):
                cost += 4.0
            note = f"drop {short(scope.text(statement))}"
            yield Proposal((Edit(start, end, text),), note, statement.lineno, cost=cost)
            if isinstance(statement, ast.If) and not statement.orelse:
                yield from _unguarded(scope, statement)


def _unguarded(scope: Scope, statement: ast.If) -> Iterator[Proposal]:
    """The branch's body without its test."""
    start, end = scope.module.statement_span(statement)
    body = [s for s in statement.body if scope.module.owns_its_lines(s)]
    if len(body) != len(statement.body) or body[0].lineno == statement.lineno:
        return
    lines = scope.module.raw[scope.module.statement_span(body[0])[0] : end].decode().splitlines(keepends=True)
    text = "".join(line.removeprefix("    ") for line in lines)
    yield Proposal(
        (Edit(start, end, text),), f"always {short(scope.text(body[0]))}", statement.lineno, cost=0.7
    )


def moves(scope: Scope) -> Iterator[Proposal]:
    """Two neighbours exchanged; a block's last statement after the block; the next one into the block."""
    for block in blocks(scope):
        for first, second in pairwise(block):
            if not (scope.module.owns_its_lines(first) and scope.module.owns_its_lines(second)):
                continue
            if not (scope.suspect(first) or scope.suspect(second)) or scope.is_docstring(first):
                continue
            start, middle = scope.module.statement_span(first)
            after, end = scope.module.statement_span(second)
            raw = scope.module.raw
            gap = raw[middle:after].decode()
            text = _line(raw[after:end]) + gap + _line(raw[start:middle])
            note = f"{short(scope.text(second), 30)} before {short(scope.text(first), 30)}"
            yield Proposal((Edit(start, end, text),), note, first.lineno, cost=0.5)
            if isinstance(first, Blocks):
                indented = indented_lines(scope, second)
                nested = first.orelse[-1] if isinstance(first, ast.If) and first.orelse else None
                if indented is not None and nested is None:
                    yield Proposal(
                        (Edit(after, end, indented),),
                        f"{short(scope.text(second))} into the block",
                        second.lineno,
                        cost=0.5,
                    )
    for node in scope.nodes:
        if isinstance(node, Blocks) and scope.suspect(node.body[-1]) and scope.module.owns_its_lines(node):
            last = node.body[-1]
            tail = (
                getattr(node, "orelse", []) or getattr(node, "handlers", []) or getattr(node, "finalbody", [])
            )
            if not scope.module.owns_its_lines(last) or last.lineno == node.lineno or tail:
                continue
            start, end = scope.module.statement_span(last)
            deeper = len(scope.module.indent(last)) - len(scope.module.indent(node))
            lines = scope.module.raw[start:end].decode().splitlines(keepends=True)
            text = "".join(line[deeper:] if not line[:deeper].strip() else line for line in lines)
            note = f"{short(scope.text(last))} after the block"
            if len(node.body) > 1:
                yield Proposal((Edit(start, end, text),), note, last.lineno, cost=0.3)


def _line(raw: bytes) -> str:
    text = raw.decode()
    return text if text.endswith("\n") else text + "\n"


def branches(scope: Scope) -> Iterator[Proposal]:
    """elif against if, a missing else, a loop that should end or go on."""
    for node in scope.find(ast.If):
        start, _ = scope.module.span(node)
        word = scope.module.raw[start : start + 4]
        if word == b"elif":
            yield Proposal((Edit(start, start + 4, "if"),), "elif → if", node.lineno, "elif>if", 0.7)
        elif word[:2] == b"if" and scope.module.owns_its_lines(node):
            parent = scope.module.parents.get(node)
            for block in (getattr(parent, "body", []), getattr(parent, "orelse", [])):
                if node in block and block.index(node) and isinstance(block[block.index(node) - 1], ast.If):
                    yield Proposal(
                        (Edit(start, start + 2, "elif"),), "if → elif", node.lineno, "if>elif", 0.5
                    )
        if not node.orelse and scope.module.owns_its_lines(node):
            yield from _missing_else(scope, node)


def _missing_else(scope: Scope, node: ast.If) -> Iterator[Proposal]:
    ways: list[tuple[str, float]] = []
    last = node.body[-1]
    if isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name | ast.Attribute):
        target = scope.text(last.targets[0])
        ways += [(f"{target} = {v}", 0.3) for v in ("None", "[]", '""', "0", "False", *scope.arguments[:3])]
    if scope.in_loop(node):
        ways += [("break", 0.7), ("continue", 1.0)]
    for way, cost in ways:
        yield scope.insert_after(node, ["else:", f"    {way}"], f"else: {way}", cost=cost)


def additions(scope: Scope) -> Iterator[Proposal]:
    """break, continue or a return after a statement of a loop; a nearby statement said once more."""
    simple = [
        s
        for s in scope.nodes
        if isinstance(s, ast.Assign | ast.AugAssign | ast.Expr)
        and not scope.is_docstring(s)
        and scope.module.owns_its_lines(s)
        and s.lineno == s.end_lineno
        and not isinstance(scope.node, ast.Module)
    ]
    for statement in scope.statements():
        if isinstance(statement, ast.Return | ast.Raise | ast.Break | ast.Continue) or isinstance(
            scope.node, ast.Module
        ):
            continue
        if scope.in_loop(statement) and not hasattr(statement, "body"):
            for way in ("break", "continue"):
                yield scope.insert_after(
                    statement, [way], f"{way} after {short(scope.text(statement), 30)}", cost=0.7
                )
        near = sorted(simple, key=lambda s: abs(s.lineno - statement.lineno))[:8]
        for other in near:
            if other is not statement:
                text = scope.text(other)
                yield scope.insert_before(statement, [text], f"again {short(text)}", cost=1.0)
                if other.lineno < statement.lineno and not hasattr(statement, "body"):
                    yield scope.insert_after(statement, [text], f"again {short(text)}", cost=1.3)
    yield from _mirrored(scope)


def _mirrored(scope: Scope) -> Iterator[Proposal]:
    """A statement of a sibling method, where this one lacks it."""
    if isinstance(scope.node, ast.Module) or not scope.body:
        return
    mine = {scope.text(s) for s in scope.nodes if isinstance(s, ast.stmt)}
    seen: dict[str, None] = {}
    for function in scope.module.functions:
        if function.owner is not scope.function.owner or function.node is scope.node:
            continue
        for node in ast.walk(function.node):
            if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr) and node.lineno == node.end_lineno:
                names = {
                    n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
                }
                known = {*scope.local_names, *scope.module_names, "self"}
                text = scope.text(node)
                if names <= known and text not in mine and not scope.is_docstring(node) and len(text) < 70:
                    seen[text] = None
    for text in list(seen)[:25]:
        for place in (scope.body[0], scope.body[-1]):
            if scope.module.owns_its_lines(place):
                yield scope.insert_before(place, [text], f"also {short(text)}", cost=1.0)
        if scope.module.owns_its_lines(scope.body[-1]) and not isinstance(
            scope.body[-1], ast.Return | ast.Raise
        ):
            yield scope.insert_after(scope.body[-1], [text], f"also {short(text)}", cost=1.0)
