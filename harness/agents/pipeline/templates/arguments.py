"""Call arguments: added, removed, exchanged, renamed; keywords that a callee knows."""

import ast
from collections.abc import Iterator

from harness.agents.pipeline.source import FunctionNode
from harness.agents.pipeline.templates.scope import Proposal, Scope

# Optional arguments of much used builtins and methods, the usual value first.
KNOWN: dict[str, tuple[str, ...]] = {
    "sorted": ("reverse=True",),
    "sort": ("reverse=True",),
    "enumerate": ("start=1",),
    "min": ("default=None",),
    "max": ("default=None",),
    "next": ("None",),
    "getattr": ("None",),
    "pop": ("None", "0"),
    "get": ("''", "0", "[]"),
    "split": ("1", "maxsplit=1"),
    "rsplit": ("1",),
    "splitlines": ("True", "keepends=True"),
    "zip": ("strict=True",),
    "dumps": ("sort_keys=True", "ensure_ascii=False", "default=str"),
    "open": ("encoding='utf-8'", "newline=''"),
    "sub": ("count=1", "flags=re.IGNORECASE"),
    "compile": ("re.IGNORECASE", "re.DOTALL", "re.MULTILINE"),
    "match": ("re.IGNORECASE",),
    "search": ("re.IGNORECASE",),
    "replace": ("1",),
    "round": ("2",),
    "sum": ("[]",),
    "int": ("16", "0"),
    "encode": ("'utf-8'",),
    "decode": ("'utf-8'",),
    "mkdir": ("exist_ok=True", "parents=True"),
    "makedirs": ("exist_ok=True",),
    "join": (),
    "dict": (),
    "str": (),
    "strip": ("'\\n'", "' '"),
    "rstrip": ("'\\n'", "'0'"),
    "lstrip": ("'0'",),
    "rmtree": ("ignore_errors=True",),
    "unlink": ("missing_ok=True",),
    "wrap": ("break_long_words=False",),
    "quote": ("safe=''",),
    "partial": (),
}


def calls(scope: Scope) -> Iterator[Proposal]:
    for node in scope.find(ast.Call):
        if any(isinstance(a, ast.Starred) for a in node.args) or node.func in scope.module.in_fstring:
            continue
        arguments = [scope.text(a) for a in node.args]
        keywords = [scope.text(k) if k.arg else f"**{scope.text(k.value)}" for k in node.keywords]
        generator = len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp)
        if generator and scope.module.raw[slice(*scope.module.span(node.args[0]))].startswith(b"("):
            arguments = [arguments[0][1:-1]] if not keywords else arguments
        if not generator:
            yield from _removed(scope, node, arguments, keywords)
            yield from _exchanged(scope, node, arguments, keywords)
            yield from _replaced(scope, node, arguments, keywords)
            yield from _added(scope, node, arguments, keywords)


def rebuilt(scope: Scope, node: ast.Call, arguments: list[str], keywords: list[str]) -> str:
    return f"{scope.text(node.func)}({', '.join([*arguments, *keywords])})"


def _removed(scope: Scope, node: ast.Call, arguments: list[str], keywords: list[str]) -> Iterator[Proposal]:
    for index in range(len(arguments)):
        if len(arguments) + len(keywords) > 1:
            left = arguments[:index] + arguments[index + 1 :]
            yield scope.swap(node, rebuilt(scope, node, left, keywords), cost=0.7)
    for index in range(len(keywords)):
        left = keywords[:index] + keywords[index + 1 :]
        yield scope.swap(node, rebuilt(scope, node, arguments, left), cost=0.5)


def _exchanged(scope: Scope, node: ast.Call, arguments: list[str], keywords: list[str]) -> Iterator[Proposal]:
    for index in range(len(arguments) - 1):
        turned = [*arguments]
        turned[index], turned[index + 1] = turned[index + 1], turned[index]
        yield scope.swap(node, rebuilt(scope, node, turned, keywords))
    for keyword in node.keywords:
        value = keyword.value
        if isinstance(value, ast.Constant) and isinstance(value.value, bool):
            yield scope.swap(value, str(not value.value), cost=0.2)


def _replaced(scope: Scope, node: ast.Call, arguments: list[str], keywords: list[str]) -> Iterator[Proposal]:
    pool = scope.local_names[:10] + [f"self.{a}" for a in scope.self_attributes[:10]]
    for index, old in enumerate(arguments):
        for name in pool:
            if name != old and not isinstance(node.args[index], ast.Name):
                new = [*arguments[:index], name, *arguments[index + 1 :]]
                yield scope.swap(node, rebuilt(scope, node, new, keywords), cost=1.5)


def _added(scope: Scope, node: ast.Call, arguments: list[str], keywords: list[str]) -> Iterator[Proposal]:
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    given = {k.arg for k in node.keywords}
    for extra in KNOWN.get(name, ()):
        keyword = extra.split("=")[0] if "=" in extra else None
        if keyword in given or (keyword is None and keywords):
            continue
        if "re." in extra and "re" not in scope.module_names:
            continue
        yield scope.swap(
            node,
            rebuilt(
                scope,
                node,
                [*arguments, *([] if keyword else [extra])],
                [*keywords, *([extra] if keyword else [])],
            ),
        )
    callee = scope.module_callables.get(name)
    if callee is not None:
        yield from _from_signature(scope, node, callee, arguments, keywords)
    elif not keywords:
        for local in scope.local_names[:8]:
            if local not in arguments:
                yield scope.swap(node, rebuilt(scope, node, [*arguments, local], keywords), cost=1.5)
    owner = scope.node
    if (
        not isinstance(owner, ast.Module)
        and owner.args.kwarg
        and not any(k.arg is None for k in node.keywords)
    ):
        passed = [*keywords, f"**{owner.args.kwarg.arg}"]
        yield scope.swap(node, rebuilt(scope, node, arguments, passed), cost=0.5)


def _from_signature(
    scope: Scope, node: ast.Call, callee: FunctionNode, arguments: list[str], keywords: list[str]
) -> Iterator[Proposal]:
    """Parameters of a function of this file that the call leaves to their defaults."""
    spec = callee.args
    given = {k.arg for k in node.keywords}
    positional = [a.arg for a in [*spec.posonlyargs, *spec.args] if a.arg not in ("self", "cls")]
    for parameter in [*positional[len(arguments) :], *[a.arg for a in spec.kwonlyargs]]:
        if parameter in given:
            continue
        values = [parameter] if parameter in scope.local_names else []
        values += [f"self.{parameter}"] if parameter in scope.self_attributes else []
        values += ["True", "False", "None", *[n for n in scope.local_names[:6] if n != parameter]]
        for rank, value in enumerate(values):
            passed = [*keywords, f"{parameter}={value}"]
            yield scope.swap(node, rebuilt(scope, node, arguments, passed), cost=min(0.3 * rank, 1.5))
