"""A Python file as the templates see it: its tree, its functions, exact spans, and edits by span."""

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class SourceError(ValueError):
    """The file can't be edited by span: it is not UTF-8, or it does not parse."""


@dataclass(frozen=True, order=True)
class Edit:
    """Put text where the bytes [start, end) of a file stood. Offsets are bytes of the UTF-8 file."""

    start: int
    end: int
    text: str


def in_order(edits: tuple[Edit, ...]) -> list[Edit]:
    """By place; insertions at one place keep the order in which they are given."""
    return sorted(edits, key=lambda edit: (edit.start, edit.end))


def apply_edits(raw: bytes, edits: tuple[Edit, ...]) -> bytes:
    """The file with every edit made. Raises ValueError where two edits overlap."""
    pieces: list[bytes] = []
    position = 0
    for edit in in_order(edits):
        if edit.start < position or edit.end < edit.start or edit.end > len(raw):
            raise ValueError(f"edit {edit} overlaps another or leaves the file")
        pieces += [raw[position : edit.start], edit.text.encode()]
        position = edit.end
    return b"".join([*pieces, raw[position:]])


def revert_edits(edits: tuple[Edit, ...], raw: bytes) -> tuple[Edit, ...]:
    """The edits that turn apply_edits(raw, edits) back into raw."""
    shift = 0
    back: list[Edit] = []
    for edit in in_order(edits):
        size = len(edit.text.encode())
        back.append(Edit(edit.start + shift, edit.start + shift + size, raw[edit.start : edit.end].decode()))
        shift += size - (edit.end - edit.start)
    return tuple(back)


def parse_quietly(raw: bytes) -> ast.Module | None:
    """The tree, or None where the bytes are no Python. Warnings about odd escapes are not ours to print."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(raw)
            compile(tree, "<candidate>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
    return tree


@dataclass(frozen=True)
class Function:
    """One function (or the module's own level, where node is a Module) of one file."""

    path: str
    name: str
    """dotted inside the file, e.g. Parser.feed; "<module>" for the level outside every function"""
    first: int
    last: int
    node: FunctionNode | ast.Module = field(compare=False, hash=False, repr=False)
    owner: ast.ClassDef | None = field(default=None, compare=False, hash=False, repr=False)


class Module:
    """A parsed file with offsets. Raises SourceError where it can't be read so."""

    def __init__(self, path: str, raw: bytes) -> None:
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise SourceError(f"{path} is not UTF-8: {error}") from error
        tree = parse_quietly(raw)
        if tree is None or b"\x0c" in raw or raw.startswith(b"\xef\xbb\xbf"):
            raise SourceError(f"{path} does not parse as plain Python source")
        self.path = path
        self.raw = raw
        self.tree = tree
        self.lines = raw.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.parents: dict[ast.AST, ast.AST] = {}
        self.in_fstring: set[ast.AST] = set()
        for parent in ast.walk(tree):
            for child in ast.iter_child_nodes(parent):
                self.parents[child] = parent
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                # Before Python 3.12 the positions inside an f-string are wrong.
                self.in_fstring.update(part for part in ast.walk(node) if part is not node)
        self.functions = tuple(self._functions())

    def _functions(self) -> Iterator[Function]:
        yield Function(self.path, "<module>", 1, max(1, len(self.lines)), self.tree)
        stack: list[tuple[ast.AST, str, ast.ClassDef | None]] = [(self.tree, "", None)]
        while stack:
            node, prefix, owner = stack.pop()
            for child in ast.iter_child_nodes(node):
                if isinstance(child, FunctionNode):
                    name = f"{prefix}{child.name}"
                    yield Function(
                        self.path, name, child.lineno, child.end_lineno or child.lineno, child, owner
                    )
                    stack.append((child, f"{name}.", owner))
                elif isinstance(child, ast.ClassDef):
                    stack.append((child, f"{prefix}{child.name}.", child))
                else:
                    stack.append((child, prefix, owner))

    def function_at(self, line: int) -> Function:
        """The innermost function that holds the 1-based line, else the module's own level."""
        holding = [f for f in self.functions if f.name == "<module>" or f.first <= line <= f.last]
        return min(holding, key=lambda f: (f.name == "<module>", f.last - f.first))

    def offset(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Byte offsets of a statement or expression."""
        line, column = getattr(node, "lineno"), getattr(node, "col_offset")  # noqa: B009
        end_line, end_column = getattr(node, "end_lineno"), getattr(node, "end_col_offset")  # noqa: B009
        return self.offset(line, column), self.offset(end_line, end_column)

    def text(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.raw[start:end].decode()

    def replace(self, node: ast.AST, text: str) -> Edit:
        return Edit(*self.span(node), text)

    def line_text(self, line: int) -> str:
        return self.lines[line - 1].decode() if 0 < line <= len(self.lines) else ""

    def indent(self, statement: ast.stmt) -> str:
        """White space before a statement; "" where something else stands before it on its line."""
        before = self.raw[self.starts[statement.lineno - 1] :][: statement.col_offset].decode()
        return before if not before.strip() else ""

    def owns_its_lines(self, statement: ast.stmt) -> bool:
        """Nothing but white space or a comment shares the statement's first and last line."""
        start, end = self.span(statement)
        line_end = self.starts[min(statement.end_lineno or statement.lineno, len(self.lines))]
        before = self.raw[self.starts[statement.lineno - 1] : start]
        after = self.raw[end:line_end].strip()
        return not before.strip() and (not after or after.startswith(b"#"))

    def first_line(self, statement: ast.stmt) -> int:
        """Where a statement begins, its decorators included."""
        decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
        return min([statement.lineno, *(d.lineno for d in decorators)])

    def statement_span(self, statement: ast.stmt) -> tuple[int, int]:
        """Offsets of the statement's whole lines, newline included."""
        return self.starts[self.first_line(statement) - 1], self.starts[
            statement.end_lineno or statement.lineno
        ]


@dataclass(frozen=True)
class Candidate:
    """A possible repair of one file: edits, which family made it, and where."""

    path: str
    edits: tuple[Edit, ...]
    family: str
    note: str
    """what is changed, in a few words"""
    line: int
    """1-based line of the first edit, in the file before it"""
    function: str
    sampled_by: str | None = None
    """id of the model call that wrote it, where one did"""
