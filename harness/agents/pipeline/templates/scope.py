"""What a template may look at: one function, the lines in question, and what is in scope there."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar, overload

from harness.agents.pipeline.source import Edit, Function, FunctionNode, Module

A = TypeVar("A", bound=ast.AST)
B = TypeVar("B", bound=ast.AST)
C = TypeVar("C", bound=ast.AST)
D = TypeVar("D", bound=ast.AST)


@dataclass(frozen=True)
class Proposal:
    """An edit that a template offers. key names the kind of change, so that like changes can be joined."""

    edits: tuple[Edit, ...]
    note: str
    line: int
    key: str = ""
    cost: float = 0.0
    """nats by which this variant is rarer than its family's commonest one"""


class Scope:
    """One function of one module, narrowed to the lines worth editing (None: all of them)."""

    def __init__(self, module: Module, function: Function, lines: frozenset[int] | None = None) -> None:
        self.module = module
        self.function = function
        self.lines = lines

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Nodes of the function itself: nested functions and classes are functions of their own."""
        found: list[ast.AST] = []
        stack: list[ast.AST] = list(ast.iter_child_nodes(self.function.node))
        if isinstance(self.function.node, FunctionNode):
            stack = [*self.function.node.body, self.function.node.args]
        while stack:
            node = stack.pop()
            if isinstance(node, FunctionNode):
                continue
            if isinstance(node, ast.ClassDef) and not isinstance(self.function.node, ast.Module):
                continue
            found.append(node)
            stack.extend(ast.iter_child_nodes(node))
        return sorted(
            (n for n in found if n not in self.module.in_fstring),
            key=lambda n: (getattr(n, "lineno", 0), getattr(n, "col_offset", 0)),
        )

    def suspect(self, node: ast.AST) -> bool:
        """Whether the node touches a line worth editing."""
        first = getattr(node, "lineno", None)
        if first is None or self.is_docstring(node):
            return False
        if self.lines is None:
            return True
        last = getattr(node, "end_lineno", first) or first
        return any(line in self.lines for line in range(first, last + 1))

    def is_docstring(self, node: ast.AST) -> bool:
        parent = self.module.parents.get(node)
        return (isinstance(node, ast.Constant) and isinstance(parent, ast.Expr)) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        )

    @overload
    def find(self, kind: type[A], /) -> Iterator[A]: ...
    @overload
    def find(self, kind: type[A], second: type[B], /) -> Iterator[A | B]: ...
    @overload
    def find(self, kind: type[A], second: type[B], third: type[C], /) -> Iterator[A | B | C]: ...
    @overload
    def find(
        self, kind: type[A], second: type[B], third: type[C], fourth: type[D], /
    ) -> Iterator[A | B | C | D]: ...
    def find(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        """Suspect nodes of the given kinds, in the order of the text."""
        for node in self.nodes:
            if isinstance(node, kinds) and self.suspect(node):
                yield node

    def statements(self) -> Iterator[ast.stmt]:
        """Suspect statements that have their lines to themselves; a block counts by its first line."""
        for node in self.nodes:
            if not isinstance(node, ast.stmt) or not self.module.owns_its_lines(node):
                continue
            header_end = node.lineno if hasattr(node, "body") else (node.end_lineno or node.lineno)
            if self.is_docstring(node) or isinstance(node, ast.Import | ast.ImportFrom):
                continue
            if isinstance(node, ast.If) and self.text(node).startswith("elif"):
                continue
            if self.lines is None or any(x in self.lines for x in range(node.lineno, header_end + 1)):
                yield node

    @property
    def node(self) -> FunctionNode | ast.Module:
        return self.function.node

    @cached_property
    def body(self) -> list[ast.stmt]:
        """The function's statements after its docstring."""
        body = list(self.function.node.body)
        return body[1:] if body and self.is_docstring(body[0]) else body

    def text(self, node: ast.AST) -> str:
        return self.module.text(node)

    def swap(self, node: ast.AST, text: str, note: str = "", *, key: str = "", cost: float = 0.0) -> Proposal:
        """Put text in the node's place, parenthesised where the old text was an operand."""
        old = self.text(node)
        line = getattr(node, "lineno")  # noqa: B009
        return Proposal(
            (self.module.replace(node, text),), note or f"{short(old)} → {short(text)}", line, key, cost
        )

    def operand(self, node: ast.AST) -> str:
        """The node's text, in parentheses where it would bind wrongly as an operand."""
        text = self.text(node)
        loose = ast.BinOp | ast.BoolOp | ast.Compare | ast.UnaryOp | ast.IfExp | ast.Lambda | ast.Await
        return f"({text})" if isinstance(node, loose) and not isinstance(node, ast.Constant) else text

    def as_expression(self, node: ast.AST, text: str) -> str:
        """Loose text made fit for the node's place: in parentheses where the place is an operand's."""
        parent = self.module.parents.get(node)
        tight = ast.BinOp | ast.UnaryOp | ast.BoolOp | ast.Compare | ast.Attribute | ast.Await | ast.IfExp
        inside = isinstance(parent, tight | ast.Starred)
        inside = inside or (isinstance(parent, ast.Subscript) and parent.value is node)
        inside = inside or (isinstance(parent, ast.Call) and parent.func is node)
        return f"({text})" if inside else text

    def insert_before(
        self, statement: ast.stmt, lines: list[str], note: str, *, key: str = "", cost: float = 0.0
    ) -> Proposal:
        """Whole lines before a statement, at its indentation."""
        at, _ = self.module.statement_span(statement)
        return self._insert(at, statement, lines, note, self.module.first_line(statement), key, cost)

    def insert_after(
        self, statement: ast.stmt, lines: list[str], note: str, *, key: str = "", cost: float = 0.0
    ) -> Proposal:
        _, at = self.module.statement_span(statement)
        line = (statement.end_lineno or statement.lineno) + 1
        return self._insert(at, statement, lines, note, line, key, cost)

    def _insert(
        self, at: int, statement: ast.stmt, lines: list[str], note: str, line: int, key: str, cost: float
    ) -> Proposal:
        indent = self.module.indent(statement)
        newline = "\r\n" if b"\r\n" in self.module.lines[0] else "\n"
        text = "".join(f"{indent}{x}{newline}" for x in lines)
        if at and self.module.raw[at - 1 : at] != b"\n":
            text = newline + text
        return Proposal((Edit(at, at, text),), note, line, key, cost)

    @cached_property
    def arguments(self) -> list[str]:
        """Names of the function's parameters, self and cls left out."""
        if isinstance(self.node, ast.Module):
            return []
        spec = self.node.args
        named = [a.arg for a in [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]]
        named += [a.arg for a in (spec.vararg, spec.kwarg) if a]
        return [n for n in named if n not in ("self", "cls")]

    @cached_property
    def local_names(self) -> list[str]:
        """Parameters, then names bound in the body, in order of appearance."""
        bound = [n.id for n in self.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        return list(dict.fromkeys([*self.arguments, *bound]))

    @cached_property
    def first_bound(self) -> dict[str, int]:
        """Local name to the line where it is first bound; parameters at 0."""
        found = dict.fromkeys(self.arguments, 0)
        for node in self.nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.setdefault(node.id, node.lineno)
        return found

    def unbound_before(self, text: str, line: int) -> bool:
        """Whether the text speaks of a local name that has no value yet on the line."""
        return any(self.first_bound.get(name, 0) >= line for name in re.findall(r"[A-Za-z_]\w*", text))

    def sole_binding(self, statement: ast.stmt) -> bool:
        """Whether the statement is all that binds a name that the function reads."""
        if not isinstance(statement, ast.Assign | ast.AnnAssign):
            return False
        names = [n for n in self.nodes if isinstance(n, ast.Name)]
        bound = {
            n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        others = {n.id for n in names if isinstance(n.ctx, ast.Store) and n.lineno != statement.lineno}
        read = {n.id for n in names if isinstance(n.ctx, ast.Load)}
        return bool((bound & read) - others - set(self.arguments))

    @cached_property
    def numeric_names(self) -> list[str]:
        """Local names that are reckoned with: operands of - * // or < >, bounds of slices and ranges."""
        found = [x.id for node in self.nodes for x in _reckoned(node) if isinstance(x, ast.Name)]
        return [name for name in dict.fromkeys(found) if name in self.local_names]

    @cached_property
    def self_attributes(self) -> list[str]:
        """Attributes reached through self anywhere in the owning class, in order of appearance."""
        if self.function.owner is None:
            return []
        return list(
            dict.fromkeys(
                n.attr
                for n in ast.walk(self.function.owner)
                if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "self"
            )
        )

    @cached_property
    def module_callables(self) -> dict[str, FunctionNode]:
        """Functions and methods defined in the file, by bare name."""
        return {f.node.name: f.node for f in self.module.functions if not isinstance(f.node, ast.Module)}

    @cached_property
    def module_names(self) -> list[str]:
        """Names bound at the module's top level, imports included."""
        names: list[str] = []
        for statement in self.module.tree.body:
            if isinstance(statement, FunctionNode | ast.ClassDef):
                names.append(statement.name)
            elif isinstance(statement, ast.Import | ast.ImportFrom):
                names += [(a.asname or a.name).split(".")[0] for a in statement.names]
            elif isinstance(statement, ast.Assign | ast.AnnAssign):
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                names += [t.id for t in targets if isinstance(t, ast.Name)]
        return list(dict.fromkeys(names))

    def in_loop(self, node: ast.AST) -> bool:
        """Whether a loop of the same function runs the node."""
        child, parent = node, self.module.parents.get(node)
        while parent is not None and parent is not self.node:
            if isinstance(parent, ast.For | ast.AsyncFor | ast.While) and child in parent.body:
                return True
            if isinstance(parent, FunctionNode | ast.ClassDef):
                return False
            child, parent = parent, self.module.parents.get(parent)
        return False

    def names_read(self, node: ast.AST) -> list[str]:
        """Local names and self attributes that the node reads, as text, in order."""
        found: list[str] = []
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id in self.local_names:
                found.append(part.id)
            elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                parent = self.module.parents.get(part)
                called = isinstance(parent, ast.Call) and parent.func is part
                if part.value.id == "self" and not called and isinstance(part.ctx, ast.Load):
                    found.append(f"self.{part.attr}")
        return list(dict.fromkeys(found))


def short(text: str, limit: int = 48) -> str:
    """One line of at most limit characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _reckoned(node: ast.AST) -> list[ast.expr | None]:
    """The expressions that a node treats as numbers."""
    if isinstance(node, ast.BinOp):
        sides: list[ast.expr | None] = [node.left, node.right]
        certain = not isinstance(node.op, ast.Add | ast.Mod | ast.BitOr)
    elif isinstance(node, ast.AugAssign):
        sides, certain = [node.target, node.value], False
    elif isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        certain = isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
    elif isinstance(node, ast.Slice):
        return [node.lower, node.upper]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        return list(node.args)
    else:
        return []
    numbered = any(isinstance(x, ast.Constant) and type(x.value) in (int, float) for x in sides)
    return sides if certain or numbered else []
