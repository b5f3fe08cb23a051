"""Type tests widened or narrowed, exact types against isinstance, keys against identity."""

import ast
from collections.abc import Iterator

from harness.agents.pipeline.templates.scope import Proposal, Scope

BESIDE: dict[str, tuple[str, ...]] = {
    "int": ("(int, float)", "float", "bool"),
    "float": ("(int, float)", "int"),
    "list": ("(list, tuple)", "tuple", "(list, tuple, set)"),
    "tuple": ("(list, tuple)", "list"),
    "str": ("(str, bytes)", "bytes"),
    "bytes": ("(bytes, bytearray)", "(str, bytes)", "str"),
    "dict": ("Mapping", "(dict, list)"),
    "set": ("(set, frozenset)",),
    "bool": ("int",),
}


def type_tests(scope: Scope) -> Iterator[Proposal]:
    for node in scope.find(ast.Call):
        if (
            isinstance(node.func, ast.Name)
            and node.func.id in ("isinstance", "issubclass")
            and len(node.args) == 2
        ):
            value, kind = scope.text(node.args[0]), node.args[1]
            for wider in BESIDE.get(scope.text(kind), ()):
                yield scope.swap(kind, wider, cost=0.3)
            if isinstance(kind, ast.Tuple):
                names = [scope.text(e) for e in kind.elts]
                for index in range(len(names)):
                    rest = names[:index] + names[index + 1 :]
                    text = f"({', '.join(rest)})" if len(rest) > 1 else "".join(rest)
                    if rest:
                        yield scope.swap(kind, text, cost=0.7)
                for extra in ("bytes", "tuple", "set", "frozenset", "float", "str", "bool"):
                    if extra not in names:
                        yield scope.swap(kind, f"({', '.join([*names, extra])})", cost=0.7)
            for text, cost in (
                (f"isinstance({value}, bool)", 1.0),
                (f"callable({value})", 2.0),
                (f"hasattr({value}, '__iter__')", 2.0),
            ):
                yield scope.swap(node, text, cost=cost)
            if scope.text(kind) in ("int", "(int, float)"):
                text = f"isinstance({value}, {scope.text(kind)}) and not isinstance({value}, bool)"
                yield scope.swap(node, scope.as_expression(node, text), cost=0.5)
    for test in scope.find(ast.Compare):
        left, right = test.left, test.comparators[0]
        if (
            isinstance(left, ast.Call)
            and isinstance(left.func, ast.Name)
            and left.func.id == "type"
            and left.args
        ):
            yield scope.swap(test, f"isinstance({scope.text(left.args[0])}, {scope.text(right)})")
