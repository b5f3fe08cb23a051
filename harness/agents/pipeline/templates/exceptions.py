"""Exception types: caught more or less widely, another one raised, a statement that may now fail."""

import ast
from collections.abc import Iterator

from harness.agents.pipeline.source import Edit
from harness.agents.pipeline.templates.guards import indented_lines
from harness.agents.pipeline.templates.scope import Proposal, Scope

COMMON = (
    "ValueError",
    "TypeError",
    "KeyError",
    "IndexError",
    "AttributeError",
    "OSError",
    "StopIteration",
    "Exception",
)


def handlers(scope: Scope) -> Iterator[Proposal]:
    for node in scope.find(ast.Try):
        for handler in node.handlers:
            if handler.type is None:
                continue
            caught = handler.type
            names = (
                [scope.text(e) for e in caught.elts]
                if isinstance(caught, ast.Tuple)
                else [scope.text(caught)]
            )
            for other in COMMON:
                if other not in names:
                    text = "Exception" if other == "Exception" else f"({', '.join([*names, other])})"
                    yield scope.swap(caught, text, cost=1.0 if other == "Exception" else 0.2)
                    if len(names) == 1:
                        yield scope.swap(caught, other, cost=1.0)
            for index in range(len(names) if len(names) > 1 else 0):
                rest = names[:index] + names[index + 1 :]
                yield scope.swap(caught, rest[0] if len(rest) == 1 else f"({', '.join(rest)})", cost=1.0)


def raises(scope: Scope) -> Iterator[Proposal]:
    defined = [s.name for s in scope.module.tree.body if isinstance(s, ast.ClassDef)]
    defined = [n for n in defined if n.endswith(("Error", "Exception", "Warning"))]
    for node in scope.find(ast.Raise):
        kind = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        if isinstance(kind, ast.Name):
            for other in dict.fromkeys([*defined, *COMMON, "RuntimeError", "NotImplementedError"]):
                if other != kind.id:
                    yield scope.swap(kind, other, cost=0.0 if other in defined else 0.3)
        if node.exc is not None:
            for text in ("return None", "return", "pass", "return []", "return False", "continue"):
                yield scope.swap(node, text, cost=0.7)
    for handler in scope.find(ast.ExceptHandler):
        for statement in handler.body:
            if isinstance(statement, ast.Pass | ast.Return | ast.Continue | ast.Break):
                for text in ("raise", "return None", "return False", "continue", "break", "pass"):
                    if text != scope.text(statement):
                        yield scope.swap(statement, text, cost=0.7)


def caught_statements(scope: Scope) -> Iterator[Proposal]:
    """`try: … except E: …` put round one statement."""
    for statement in scope.statements():
        if not isinstance(statement, ast.Assign | ast.Return | ast.Expr | ast.AugAssign | ast.AnnAssign):
            continue
        indented = indented_lines(scope, statement)
        if indented is None:
            continue
        start, end = scope.module.statement_span(statement)
        indent = scope.module.indent(statement)
        ways = [("return None", 0.2), ("pass", 0.7), ("return False", 0.7)]
        if scope.in_loop(statement):
            ways.insert(0, ("continue", 0.0))
        if isinstance(statement, ast.Assign):
            ways.append((f"{scope.text(statement.targets[0])} = None", 0.3))
        ways += [(f"return {a}", 0.7) for a in scope.arguments[:2]]
        for rank, kind in enumerate(COMMON[:6]):
            for way, cost in ways:
                text = f"{indent}try:\n{indented}{indent}except {kind}:\n{indent}    {way}\n"
                note = f"except {kind}: {way}"
                yield Proposal((Edit(start, end, text),), note, statement.lineno, cost=cost + 0.2 * rank)
