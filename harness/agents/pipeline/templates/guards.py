"""Guards: leave early, skip, or go round a statement when a value is missing, empty or out of range."""

import ast
from collections.abc import Iterator

from harness.agents.pipeline.source import Edit
from harness.agents.pipeline.templates.scope import Proposal, Scope, short


def guard_tests(name: str) -> list[tuple[str, float]]:
    return [
        (f"not {name}", 0.0),
        (f"{name} is None", 0.2),
        (f"{name} < 0", 1.2),
        (f"{name} <= 0", 1.2),
        (f"{name} == 0", 1.2),
        (f"{name} < 1", 1.5),
        (f"len({name}) == 0", 2.0),
        (name, 1.2),
        (f"not isinstance({name}, str)", 2.0),
        (f"isinstance({name}, str)", 1.5),
        (f"len({name}) < 2", 2.0),
    ]


def exits(scope: Scope) -> list[tuple[str, float]]:
    """Ways out of the function: returns and raises already written in it first."""
    found: dict[str, float] = {}
    for node in scope.nodes:
        if isinstance(node, ast.Return | ast.Raise):
            text = scope.text(node)
            if len(text) < 80 and "\n" not in text:
                found.setdefault(text, 0.0 if isinstance(node, ast.Return) else 0.5)
    plain = [
        "return",
        "return None",
        "return []",
        "return {}",
        'return ""',
        "return 0",
        "return False",
        "return True",
    ]
    for text in plain:
        found.setdefault(text, 0.7)
    for name in scope.arguments[:3]:
        found.setdefault(f"return {name}", 0.7)
    for module_raise in module_raises(scope):
        found.setdefault(module_raise, 1.2)
    return list(found.items())


def module_raises(scope: Scope) -> list[str]:
    """Exceptions that the file raises, with a message of our own where theirs names other things."""
    kinds: dict[str, None] = {"ValueError": None, "TypeError": None}
    for node in ast.walk(scope.module.tree):
        if (
            isinstance(node, ast.Raise)
            and isinstance(node.exc, ast.Call)
            and isinstance(node.exc.func, ast.Name)
        ):
            kinds[node.exc.func.id] = None
    return [f"raise {kind}({{about}})" for kind in list(kinds)[:5]]


def early_exits(scope: Scope) -> Iterator[Proposal]:
    """`if not x: return y` at the function's start and before each suspect statement."""
    if isinstance(scope.node, ast.Module) or not scope.body:
        return
    ways = exits(scope)
    places: list[tuple[ast.stmt, list[str], float]] = []
    names = [*scope.arguments, *[n for n in scope.names_read(scope.node) if n.startswith("self.")]]
    places.append((scope.body[0], names[:6], 0.0))
    for statement in scope.statements():
        if statement is scope.body[0] or isinstance(statement, ast.Global | ast.Nonlocal):
            continue
        reads = statement
        shallow: ast.AST = getattr(statement, "test", None) or getattr(statement, "iter", None) or reads
        places.append((statement, scope.names_read(shallow)[:4], 0.7))
    for statement, reads_, base in places:
        for name in reads_:
            for test, cost in guard_tests(name):
                yield from _exit(scope, statement, name, test, ways, base + cost)


def _exit(
    scope: Scope, statement: ast.stmt, name: str, test: str, ways: list[tuple[str, float]], cost: float
) -> Iterator[Proposal]:
    if not scope.module.owns_its_lines(statement) or (
        not scope.module.indent(statement) and statement.col_offset
    ):
        return
    options = list(ways)
    if scope.in_loop(statement):
        options = [("continue", -0.3), ("break", 0.5), *ways]
    for way, extra in options:
        if way == scope.text(statement) or scope.unbound_before(f"{test} {way}", statement.lineno):
            continue
        about = f'f"bad {name}: {{{name}!r}}"'
        action = way.replace("{about}", about) if way.startswith("raise ") else way
        note = f"if {test}: {short(action)}"
        yield scope.insert_before(
            statement, [f"if {test}:", f"    {action}"], note, cost=max(0.0, cost + extra)
        )


def around(scope: Scope) -> Iterator[Proposal]:
    """`if x is not None:` put round one statement."""
    for statement in scope.statements():
        if isinstance(statement, ast.Return | ast.Raise | ast.Pass | ast.Break | ast.Continue):
            continue
        indented = indented_lines(scope, statement)
        if indented is None:
            continue
        start, end = scope.module.statement_span(statement)
        indent = scope.module.indent(statement)
        tests = [
            t
            for n in scope.names_read(statement)[:4]
            for t in ((n, 0.0), (f"{n} is not None", 0.2), (f"not {n}", 0.7))
        ]
        for test, cost in tests:
            text = f"{indent}if {test}:\n{indented}"
            yield Proposal((Edit(start, end, text),), f"only if {test}", statement.lineno, cost=cost)


def indented_lines(scope: Scope, statement: ast.stmt) -> str | None:
    """The statement's lines one level deeper; None where a string over several lines would change."""
    if not scope.module.owns_its_lines(statement):
        return None
    for part in ast.walk(statement):
        quoted = isinstance(part, ast.Constant | ast.JoinedStr) and part not in scope.module.in_fstring
        if quoted and getattr(part, "end_lineno", 0) != getattr(part, "lineno", 0):
            return None
    start, end = scope.module.statement_span(statement)
    lines = scope.module.raw[start:end].decode().splitlines(keepends=True)
    text = "".join(f"    {line}" if line.strip() else line for line in lines)
    return text if text.endswith("\n") else text + "\n"


def normalised_arguments(scope: Scope) -> Iterator[Proposal]:
    """A parameter brought into shape at the function's start, or where it is missing."""
    if isinstance(scope.node, ast.Module) or not scope.body:
        return
    first = scope.body[0]
    if not scope.module.owns_its_lines(first):
        return
    for name in scope.arguments[:5]:
        for text, cost in (
            (f"{name}.strip()", 0.3),
            (f"list({name})", 0.3),
            (f"str({name})", 0.5),
            (f"{name}.lower()", 0.5),
            (f"int({name})", 0.7),
            (f"tuple({name})", 1.0),
            (f"dict({name})", 0.7),
            (f"set({name})", 1.0),
            (f"sorted({name})", 1.0),
            (f"max({name}, 0)", 1.0),
            (f"abs({name})", 1.0),
            (f"max({name}, 1)", 1.2),
            (f"{name}.copy()", 1.0),
            (f"{name}.rstrip()", 1.0),
            (f"{name} or []", 0.5),
            (f"{name} or {{}}", 0.7),
            (f'{name} or ""', 0.7),
            (f"[{name}]", 2.0),
        ):
            yield scope.insert_before(first, [f"{name} = {text}"], f"{name} = {text}", cost=cost)
        for test, value, cost in (
            (f"{name} is None", "[]", 0.3),
            (f"{name} is None", "{}", 0.5),
            (f"{name} is None", '""', 0.7),
            (f"{name} is None", "0", 1.0),
            (f"isinstance({name}, str)", f"[{name}]", 0.5),
            (f"{name} < 0", "0", 1.0),
            (f"isinstance({name}, str)", f"{name}.encode()", 1.5),
            (f"isinstance({name}, bytes)", f"{name}.decode()", 1.0),
        ):
            lines = [f"if {test}:", f"    {name} = {value}"]
            yield scope.insert_before(first, lines, f"if {test}: {name} = {value}", cost=cost)
