"""Another name in scope: a variable, an attribute, a method, a function beside it."""

import ast
from collections.abc import Iterator

from harness.agents.pipeline.templates.scope import Proposal, Scope, short

SIBLINGS: tuple[tuple[str, ...], ...] = (
    ("strip", "lstrip", "rstrip"),
    ("split", "rsplit", "partition", "rpartition", "splitlines"),
    ("startswith", "endswith"),
    ("find", "rfind", "index", "rindex"),
    ("append", "extend", "insert", "appendleft"),
    ("lower", "upper", "casefold", "title", "capitalize", "swapcase"),
    ("keys", "values", "items"),
    ("add", "update", "discard"),
    ("pop", "popleft", "popitem"),
    ("remove", "discard", "pop"),
    ("union", "intersection", "difference", "symmetric_difference"),
    ("issubset", "issuperset", "isdisjoint"),
    ("isdigit", "isdecimal", "isnumeric", "isalnum", "isalpha"),
    ("match", "search", "fullmatch", "findall", "finditer"),
    ("group", "groups", "groupdict"),
    ("get", "pop", "setdefault"),
    ("ljust", "rjust", "center", "zfill"),
    ("read", "readline", "readlines"),
    ("write", "writelines"),
    ("encode", "decode"),
    ("removeprefix", "lstrip", "removesuffix"),
    ("start", "end", "span"),
    ("count", "index"),
    ("isspace", "isidentifier", "isupper", "islower"),
    ("days", "seconds", "total_seconds"),
    ("utcnow", "now"),
    ("weekday", "isoweekday"),
    ("strftime", "isoformat"),
    ("warning", "error", "info", "debug"),
    ("put", "put_nowait"),
    ("appendleft", "extendleft"),
    ("name", "stem", "suffix"),
    ("dumps", "dump"),
    ("loads", "load"),
)

FUNCTIONS: tuple[tuple[str, ...], ...] = (
    ("min", "max"),
    ("any", "all"),
    ("int", "float", "round"),
    ("list", "tuple", "set", "sorted", "reversed"),
    ("str", "repr", "bytes", "ascii"),
    ("dict", "OrderedDict", "defaultdict"),
    ("isinstance", "issubclass"),
    ("sum", "len", "max"),
    ("ceil", "floor", "round", "trunc"),
    ("copy", "deepcopy"),
    ("getattr", "hasattr"),
    ("map", "filter"),
    ("range", "enumerate"),
    ("type", "isinstance"),
    ("iter", "list"),
    ("zip", "zip_longest"),
    ("ord", "chr"),
    ("int", "bool"),
    ("print", "log"),
    ("id", "hash"),
    ("set", "frozenset"),
    ("filter", "filterfalse"),
)


def siblings(name: str, groups: tuple[tuple[str, ...], ...]) -> list[str]:
    return list(dict.fromkeys(other for group in groups if name in group for other in group if other != name))


def variables(scope: Scope) -> Iterator[Proposal]:
    """A local name read where another was meant; also a name assigned to."""
    for node in scope.find(ast.Name):
        parent = scope.module.parents.get(node)
        if isinstance(parent, ast.Call) and parent.func is node and node.id not in scope.local_names:
            continue
        if node.id in scope.local_names and isinstance(node.ctx, ast.Load):
            for rank, other in enumerate(n for n in scope.local_names if n != node.id):
                yield scope.swap(node, other, key=f"{node.id}>{other}", cost=min(0.1 * rank, 1.0))
            for attribute in scope.self_attributes[:12]:
                close = attribute.strip("_") == node.id.strip("_")
                yield scope.swap(node, f"self.{attribute}", cost=0.0 if close else 1.5)
        elif isinstance(node.ctx, ast.Store) and isinstance(parent, ast.Assign | ast.AugAssign):
            for other in scope.local_names:
                if other != node.id:
                    yield scope.swap(node, other, key=f"{node.id}={other}", cost=1.0)
        elif isinstance(node.ctx, ast.Load) and node.id.isupper():
            for other in scope.module_names:
                if other.isupper() and other != node.id:
                    yield scope.swap(node, other, cost=0.5)


def attributes(scope: Scope) -> Iterator[Proposal]:
    """Another attribute or method: a sibling by meaning, or one seen on the same object in the file."""
    seen: dict[str, dict[str, None]] = {}
    for part in ast.walk(scope.module.tree):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
            seen.setdefault(part.value.id, {})[part.attr] = None
    for node in scope.find(ast.Attribute):
        base = scope.text(node.value)
        parent = scope.module.parents.get(node)
        called = isinstance(parent, ast.Call) and parent.func is node
        close = siblings(node.attr, SIBLINGS)
        for rank, other in enumerate(close):
            yield scope.swap(node, f"{base}.{other}", key=f".{node.attr}>.{other}", cost=min(0.2 * rank, 1.0))
        if isinstance(node.value, ast.Name):
            for other in list(seen.get(node.value.id, {}))[:20]:
                method = other in scope.module_callables
                if other != node.attr and other not in close and (not called or method or base != "self"):
                    yield scope.swap(node, f"{base}.{other}", key=f".{node.attr}>.{other}", cost=1.0)
            if base == "self" and node.attr in scope.arguments and isinstance(node.ctx, ast.Load):
                yield scope.swap(node, node.attr, cost=0.5)
        if isinstance(node.ctx, ast.Load) and not called:
            yield scope.swap(node, base, cost=2.0)
            if node.attr in scope.module_callables:
                yield scope.swap(node, f"{base}.{node.attr}()", cost=0.5)


def functions(scope: Scope) -> Iterator[Proposal]:
    """Another function called: a sibling builtin, or one of the file with as many parameters."""
    for node in scope.find(ast.Call):
        if not isinstance(node.func, ast.Name):
            continue
        name = node.func.id
        for rank, other in enumerate(siblings(name, FUNCTIONS)):
            if other in BUILTIN or other in scope.module_names:
                yield scope.swap(node.func, other, key=f"{name}>{other}", cost=min(0.2 * rank, 1.0))
        mine = scope.module_callables.get(name)
        for other, signature in scope.module_callables.items():
            if other == name or other not in scope.module_names or other == scope.function.name:
                continue
            same = mine is not None and len(mine.args.args) == len(signature.args.args)
            if same or (mine is None and len(node.args) == len(signature.args.args)):
                yield scope.swap(node.func, other, cost=1.0 if same else 1.7)
    for loop in scope.find(ast.For, ast.comprehension):
        if isinstance(loop.iter, ast.Name | ast.Attribute):
            text = scope.text(loop.iter)
            for method in (".items()", ".values()", ".keys()", ".copy()"):
                yield scope.swap(loop.iter, text + method, cost=1.0, note=f"iterate {short(text + method)}")


BUILTIN = frozenset(
    {
        "min",
        "max",
        "any",
        "all",
        "int",
        "float",
        "round",
        "list",
        "tuple",
        "set",
        "sorted",
        "reversed",
        "str",
        "repr",
        "bytes",
        "ascii",
        "dict",
        "isinstance",
        "issubclass",
        "sum",
        "len",
        "getattr",
        "hasattr",
        "map",
        "filter",
        "range",
        "enumerate",
        "type",
        "iter",
        "zip",
        "ord",
        "chr",
        "bool",
        "print",
        "id",
        "hash",
        "frozenset",
    }
)
