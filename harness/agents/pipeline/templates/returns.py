"""What a function gives back: another value, a missing return, a return too early or too late."""

import ast
from collections.abc import Iterator

from harness.agents.pipeline.templates.booleans import negation
from harness.agents.pipeline.templates.scope import Proposal, Scope


def returns(scope: Scope) -> Iterator[Proposal]:
    for node in scope.find(ast.Return):
        if node.value is None:
            for value, cost in (
                ("[]", 0.3),
                ("False", 0.3),
                ("0", 0.5),
                ('""', 0.5),
                ("self", 0.7),
                ("{}", 0.5),
                ("True", 0.5),
            ):
                yield scope.swap(node, f"return {value}", cost=cost)
            for name in scope.local_names[:8]:
                yield scope.swap(node, f"return {name}", cost=0.5)
            continue
        text = scope.text(node.value)
        for name in scope.local_names[:10]:
            if name != text and not isinstance(node.value, ast.Name):
                yield scope.swap(node.value, name, cost=1.0)
        for value, cost in (
            ("None", 0.7),
            ("self", 1.5),
            ("[]", 1.0),
            ("True", 1.2),
            ("False", 1.2),
            ("0", 1.2),
            ('""', 1.2),
        ):
            if value != text:
                yield scope.swap(node.value, value, cost=cost)
        if isinstance(node.value, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Call | ast.Name):
            yield scope.swap(node.value, negation(scope, node.value), cost=0.7)
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, bool):
            for name in scope.local_names[:6]:
                for test in (f"not {name}", f"{name} == 0", f"bool({name})", f"{name} is None"):
                    yield scope.swap(node.value, test, cost=0.8)
        if isinstance(node.value, ast.Name | ast.Attribute):
            for other in ("[]", "{}", "None", '""', "0"):
                yield scope.swap(node.value, f"{text} or {other}", cost=1.2)
        if isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
            first, second = (scope.text(x) for x in node.value.elts)
            yield scope.swap(node.value, f"{second}, {first}", cost=0.7)


def missing_returns(scope: Scope) -> Iterator[Proposal]:
    """`return` put before a bare call, or at the function's end."""
    for node in scope.find(ast.Expr):
        if isinstance(node.value, ast.Call):
            yield scope.swap(node, f"return {scope.text(node.value)}", cost=0.5)
        elif isinstance(node.value, ast.Yield) and node.value.value is not None:
            yield scope.swap(node, f"yield from {scope.text(node.value.value)}", cost=0.5)
        elif isinstance(node.value, ast.YieldFrom):
            yield scope.swap(node, f"yield {scope.text(node.value.value)}", cost=0.5)
    if isinstance(scope.node, ast.Module) or not scope.body:
        return
    last = scope.body[-1]
    if isinstance(last, ast.Return | ast.Raise) or not scope.module.owns_its_lines(last):
        return
    values = [(n, 0.3) for n in scope.local_names[:8]]
    for value, cost in (*values, ("self", 0.5), ("False", 0.7), ("True", 0.7), ("[]", 1.0), ("None", 1.5)):
        yield scope.insert_after(last, [f"return {value}"], f"return {value} at the end", cost=cost)
