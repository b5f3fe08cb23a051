"""A call put round a value, a method put after it, or one taken away."""

import ast
from collections.abc import Iterator

from harness.agents.pipeline.templates.scope import Proposal, Scope

ROUND: tuple[tuple[str, float], ...] = (
    ("list", 0.0),
    ("str", 0.0),
    ("sorted", 0.3),
    ("int", 0.3),
    ("len", 0.5),
    ("tuple", 0.5),
    ("set", 0.5),
    ("abs", 0.7),
    ("dict", 0.7),
    ("float", 0.7),
    ("reversed", 1.0),
    ("bool", 1.0),
    ("repr", 1.0),
    ("iter", 1.5),
    ("round", 1.5),
)

AFTER: tuple[tuple[str, float], ...] = (
    (".strip()", 0.2),
    (".copy()", 0.3),
    (".lower()", 0.3),
    (".rstrip()", 0.7),
    (".lstrip()", 0.9),
    (".upper()", 1.0),
    (".items()", 1.0),
    (".values()", 1.2),
    (".keys()", 1.5),
    (".casefold()", 1.2),
    (".split()", 1.5),
    (".encode()", 1.5),
    (".decode()", 1.2),
    (".replace(' ', '')", 2.0),
    (".group()", 2.0),
    (".__name__", 2.0),
)

VALUES = ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.BinOp


def wraps(scope: Scope) -> Iterator[Proposal]:
    own = [
        name
        for name, node in scope.module_callables.items()
        if name in scope.module_names
        and len(node.args.args) - len(node.args.defaults) == 1
        and name != scope.function.name
    ]
    methods = [
        name
        for name, node in scope.module_callables.items()
        if name not in scope.module_names
        and len(node.args.args) - len(node.args.defaults) == 2
        and scope.function.owner
    ]
    imported = [
        f"{m}.{f}"
        for m, f in (
            ("copy", "deepcopy"),
            ("copy", "copy"),
            ("re", "escape"),
            ("html", "escape"),
            ("math", "ceil"),
            ("math", "floor"),
            ("os.path", "abspath"),
        )
        if m.split(".")[0] in scope.module_names
    ]
    for node in scope.find(ast.expr):
        if not isinstance(node, VALUES):
            continue
        place = _place(scope, node)
        if place is None or scope.suspect(node) is False:
            continue
        text = scope.text(node)
        bare = f"({text})" if isinstance(node, ast.BinOp) else text
        outer = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        for name, cost in ROUND:
            if name != outer:
                yield scope.swap(node, f"{name}({text})", key=f"{name}()", cost=cost + place)
        for name in [*own, *imported]:
            if name != outer:
                yield scope.swap(node, f"{name}({text})", key=f"{name}()", cost=0.5 + place)
        for name in methods[:10]:
            yield scope.swap(node, f"self.{name}({text})", key=f"{name}()", cost=1.5 + place)
        for suffix, cost in AFTER:
            if not text.endswith(suffix):
                yield scope.swap(node, bare + suffix, key=suffix, cost=cost + place)


def _place(scope: Scope, node: ast.AST) -> float | None:
    """Nats by which a wrapper is rarer here; None where the node is no whole value."""
    if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return None
    parent = scope.module.parents.get(node)
    if isinstance(parent, ast.Return):
        return 0.0
    if isinstance(parent, ast.Assign | ast.For | ast.comprehension) and node in (
        getattr(parent, "value", None),
        getattr(parent, "iter", None),
    ):
        return 0.0
    if isinstance(parent, ast.Call) and node in parent.args:
        return 0.3
    if isinstance(parent, ast.Compare):
        return 0.5
    if isinstance(
        parent, ast.BinOp | ast.Dict | ast.keyword | ast.ListComp | ast.GeneratorExp | ast.AugAssign
    ):
        return 0.7
    if isinstance(parent, ast.Subscript) and parent.slice is node:
        return 0.7
    if isinstance(parent, ast.Attribute) and parent.value is node:
        return 1.0
    if isinstance(parent, ast.If | ast.While | ast.BoolOp | ast.UnaryOp):
        return 1.0
    return None


def unwraps(scope: Scope) -> Iterator[Proposal]:
    for node in scope.find(ast.Call):
        if (
            len(node.args) == 1
            and not node.keywords
            and not isinstance(node.args[0], ast.Starred | ast.GeneratorExp)
        ):
            yield scope.swap(node, scope.as_expression(node, scope.text(node.args[0])), cost=0.3)
        if isinstance(node.func, ast.Attribute):
            yield scope.swap(node, scope.text(node.func.value), cost=0.5 if not node.args else 1.0)
    for choice in scope.find(ast.IfExp):
        for part, cost in ((choice.body, 0.5), (choice.orelse, 0.5)):
            yield scope.swap(choice, scope.as_expression(choice, scope.text(part)), cost=cost)
        turned = f"{scope.text(choice.orelse)} if {scope.text(choice.test)} else {scope.text(choice.body)}"
        yield scope.swap(choice, turned, cost=0.5)
    for value in scope.find(ast.Call):
        asynchronous = isinstance(scope.node, ast.AsyncFunctionDef)
        if asynchronous and not isinstance(scope.module.parents.get(value), ast.Await):
            yield scope.swap(value, scope.as_expression(value, f"await {scope.text(value)}"))
    for awaited in scope.find(ast.Await):
        yield scope.swap(awaited, scope.text(awaited.value), cost=1.0)
