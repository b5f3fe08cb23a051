"""Defaults: a value where one is missing, a key that may be absent, parameters that are shared or wrong."""

import ast
from collections.abc import Iterator

from harness.agents.pipeline.source import Edit
from harness.agents.pipeline.templates.scope import Proposal, Scope

EMPTY = (("[]", 0.0), ('""', 0.2), ("{}", 0.4), ("0", 0.5), ("()", 0.8), ("None", 1.0))


def missing_values(scope: Scope) -> Iterator[Proposal]:
    for node in scope.find(ast.Name, ast.Attribute, ast.Call):
        if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
            continue
        parent = scope.module.parents.get(node)
        text = scope.text(node)
        iterated = isinstance(parent, ast.For | ast.comprehension) and parent.iter is node
        valued = isinstance(parent, ast.Assign | ast.Return | ast.keyword)
        given = isinstance(parent, ast.Call) and node in parent.args
        if iterated or valued or given:
            for value, cost in EMPTY:
                yield scope.swap(
                    node, f"{text} or {value}", key=f"or {value}", cost=cost + 0.7 * (not iterated)
                )
            for name in scope.local_names[:6]:
                if name != text:
                    yield scope.swap(node, f"{text} or {name}", cost=1.5)


def keys(scope: Scope) -> Iterator[Proposal]:
    """d[k] against d.get(k, …), and the other way round."""
    for node in scope.find(ast.Subscript):
        if isinstance(node.ctx, ast.Load) and not isinstance(node.slice, ast.Slice | ast.UnaryOp):
            base, key = scope.text(node.value), scope.text(node.slice)
            numeric = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int)
            if numeric:
                continue
            yield scope.swap(node, f"{base}.get({key})", key="get")
            for value, cost in EMPTY[:4]:
                yield scope.swap(node, f"{base}.get({key}, {value})", key=f"get {value}", cost=cost + 0.2)
            yield scope.swap(node, f"{base}.get({key}, {key})", cost=1.0)
    for call in scope.find(ast.Call):
        if (
            isinstance(call.func, ast.Attribute)
            and call.func.attr in ("get", "pop", "setdefault")
            and call.args
        ):
            base, key = scope.text(call.func.value), scope.text(call.args[0])
            if call.func.attr == "get":
                yield scope.swap(call, f"{base}[{key}]", cost=0.7)
            for name in [*scope.local_names[:6], *(v for v, _ in EMPTY)]:
                yield scope.swap(call, f"{base}.{call.func.attr}({key}, {name})", cost=0.7)


def parameters(scope: Scope) -> Iterator[Proposal]:
    """A default value shared between calls, or another default."""
    if isinstance(scope.node, ast.Module) or not scope.body:
        return
    spec = scope.node.args
    named = [*spec.posonlyargs, *spec.args]
    pairs = list(zip(named[len(named) - len(spec.defaults) :], spec.defaults, strict=True))
    pairs += [(a, d) for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None]
    for argument, default in pairs:
        text = scope.text(default)
        if isinstance(default, ast.List | ast.Dict | ast.Set | ast.Call) and scope.module.owns_its_lines(
            scope.body[0]
        ):
            lines = [f"if {argument.arg} is None:", f"    {argument.arg} = {text}"]
            made = scope.insert_before(scope.body[0], lines, f"{argument.arg}=None, made anew at each call")
            edits = (scope.module.replace(default, "None"), *made.edits)
            yield Proposal(edits, made.note, default.lineno)
        if isinstance(default, ast.Constant):
            for new, cost in (
                ("None", 0.5),
                ("True", 0.7),
                ("False", 0.7),
                ('""', 1.0),
                ("0", 1.0),
                ("1", 1.0),
                ("()", 1.0),
                ("-1", 1.5),
            ):
                if new != text:
                    yield scope.swap(default, new, note=f"{argument.arg}={text} → {new}", cost=cost)
    for argument in named:
        if argument.arg not in ("self", "cls") and argument not in [a for a, _ in pairs] and not pairs:
            end = scope.module.span(argument)[1]
            if argument is named[-1]:
                yield Proposal((Edit(end, end, "=None"),), f"{argument.arg}=None", argument.lineno, cost=1.5)
