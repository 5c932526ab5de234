"""The source text of a function as a syntax tree whose nodes know their place in the user's file,."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable, Collection, Hashable
from dataclasses import replace
from types import FunctionType
from typing import Any

from polytune.errors import Obstacle, SourceLocation, UnsupportedSourceError
from polytune.frontend.equivalents import equivalent
from polytune.records import dataclass
from polytune.syntax_trees import all_nodes, nodes_inside


@dataclass(frozen=True)
class Source:
    """A function with its syntax tree.

    Attributes:
        lines: the function's own lines, without their common indentation.
        first_line: the 1-based line of the file at which ``lines`` begins.
        indentation: the number of columns that were taken from each line.
    """

    function: FunctionType
    tree: ast.FunctionDef
    file: str
    lines: tuple[str, ...]
    first_line: int
    indentation: int

    @property
    def name(self) -> str:
        return self.tree.name

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def location(self, node: ast.AST) -> SourceLocation:
        """The place of a node: absolute line, columns counted in characters, and the line's text."""
        line: int = getattr(node, "lineno", 1)
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        column = _characters(text, getattr(node, "col_offset", 0))
        one_line = getattr(node, "end_lineno", line) == line
        end = _characters(text, getattr(node, "end_col_offset", None) or 0) if one_line else len(text)
        shift = self.indentation
        return SourceLocation(
            self.file, self.first_line + line - 1, column + shift, max(end, column + 1) + shift, " " * shift + text
        )

    def segment(self, node: ast.AST) -> str:
        """The text of a node as the user wrote it."""
        line, end = getattr(node, "lineno", 1), getattr(node, "end_lineno", None)
        if end is None:
            return ast.unparse(node)
        lines = [text.encode() for text in self.lines[line - 1 : end]]
        lines[-1] = lines[-1][: node.end_col_offset]  # type: ignore[attr-defined]
        lines[0] = lines[0][node.col_offset :]  # type: ignore[attr-defined]
        return b"\n".join(lines).decode()

    def refusal(self, node: ast.AST, what: str, reason: str, remedy: str) -> UnsupportedSourceError:
        """The error that refuses a part of the source; for the caller to raise.

        Args:
            node: the part, whose place the message shows.
            what: what is refused.
            reason: why.
            remedy: what to write instead.
        """
        return UnsupportedSourceError(self.location(node), what, reason, remedy)

    def obstacle(self, node: ast.AST, what: str, reason: str, remedy: str) -> Obstacle:
        """The obstacle that a part of the source is to compiling it; for the caller to note.

        Args:
            node: the part, whose place is shown.
            what: what is refused.
            reason: why.
            remedy: what to write instead.
        """
        return Obstacle(self.location(node), what, reason, remedy)

    def resolve(self, name: str) -> Any:
        """Return what a name that is not local means: from the closure, the module, or the builtins.

        Raises:
            KeyError: no such name.
        """
        code, closure = self.function.__code__, self.function.__closure__ or ()
        for free, cell in zip(code.co_freevars, closure, strict=True):
            if free == name:
                try:
                    return cell.cell_contents
                except ValueError:
                    raise KeyError(name) from None
        if name in self.function.__globals__:
            return self.function.__globals__[name]
        return vars(builtins)[name]


def meaning_outside(source: Source, local: Collection[str]) -> Callable[[ast.expr], Any]:
    """Return what says what names from outside of a function mean, and attributes of them.

    Args:
        source: the function.
        local: the names that it has itself.
    """

    def meaning(node: ast.expr) -> Any:
        match node:
            case ast.Name(name) if name not in local:
                try:
                    return source.resolve(name)
                except KeyError:
                    return None
            case ast.Attribute(value, name):
                owner = meaning(value)
                return None if owner is None else getattr(owner, name, None)
        return None

    return meaning


def _characters(text: str, offset: int) -> int:
    """The column in characters of a UTF-8 byte offset, which is what ``ast`` counts in."""
    return len(text.encode()[:offset].decode(errors="replace"))


class NestedFunction:
    """A function that is defined inside of another one, of which there is no object before that runs.

    Attributes:
        source: its source, with the places of its nodes in the file; its outside is that of the function around.
        signature: its parameters.
    """

    def __init__(self, around: Source, tree: ast.FunctionDef):
        self.__name__ = tree.name
        self.source = replace(around, tree=tree)
        stub = ast.FunctionDef(tree.name, tree.args, [ast.Pass()], [])
        module = ast.fix_missing_locations(ast.Module([stub], []))
        namespace: dict[str, Any] = dict(around.function.__globals__)
        exec(compile(module, around.file, "exec"), namespace)
        self.signature = inspect.signature(namespace[tree.name])


def definition_of(function: FunctionType | NestedFunction | ast.FunctionDef) -> Hashable:
    """Return what is the same for a function however often it is read."""
    if isinstance(function, FunctionType):
        return function.__code__
    tree = function.source.tree if isinstance(function, NestedFunction) else function
    return tree.name, tree.lineno, tree.col_offset


def plain_function(candidate: Any) -> FunctionType | None:
    """The plain Python function behind ``candidate`` (itself, or what a decorator wrapped), or None."""
    while not isinstance(candidate, FunctionType) and hasattr(candidate, "__wrapped__"):
        candidate = candidate.__wrapped__
    if isinstance(candidate, FunctionType):
        unwrapped = inspect.unwrap(candidate)
        return unwrapped if isinstance(unwrapped, FunctionType) else candidate
    return None


def inlinable(function: Any) -> FunctionType | NestedFunction | None:
    """The user's plain function behind a callee, or what is inlined in its place; None for types, for built-in
    functions, and for other functions of NumPy's and Numba's."""
    if isinstance(function, NestedFunction):
        return function
    function = equivalent(function)
    if function is None or isinstance(function, type) or type(function).__module__.partition(".")[0] == "numpy":
        return None
    plain = plain_function(function)
    return None if plain is None or (plain.__module__ or "").partition(".")[0] in ("numpy", "numba") else plain


def gives_nothing(function: Any) -> bool:
    """Return whether a function is one of the user's that returns nothing, wherever it ends."""
    plain = inlinable(function)
    if plain is None:
        return False
    try:
        tree = plain.source.tree if isinstance(plain, NestedFunction) else read_source(plain).tree
    except UnsupportedSourceError:
        return False
    nodes = nodes_inside(tree.body)
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes):
        return False
    ends = (node.value for node in nodes if isinstance(node, ast.Return))
    return all(value is None or (isinstance(value, ast.Constant) and value.value is None) for value in ends)


def read_source(function: Any) -> Source:
    """Read a function's source.

    Raises:
        UnsupportedSourceError: there is no Python source to read, or it is not one ``def``.
    """
    plain = plain_function(function)
    if plain is None:
        raise UnsupportedSourceError(
            SourceLocation("<unknown>", 1),
            f"{function!r} is not a Python function",
            "only the source of a plain function can be compiled",
            "pass a function written with def",
        )
    file, line = plain.__code__.co_filename, plain.__code__.co_firstlineno
    try:
        lines, line = inspect.getsourcelines(plain)
    except (OSError, TypeError):
        raise UnsupportedSourceError(
            SourceLocation(file, line),
            f"the source of {plain.__name__!r} is not available",
            "a kernel is compiled from its source text, which is not kept for code typed at a prompt or built by exec",
            "put the function into a file",
        ) from None
    original = "".join(lines)
    text = textwrap.dedent(original)
    indentation = len(lines[0]) - len(text.splitlines(keepends=True)[0])
    line = max(line, 1)
    try:
        body = ast.parse(text).body
    except SyntaxError:
        body = []
    # The source of a lambda that is all in one line with a def is that def.
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef) or body[0].name != plain.__code__.co_name:
        place = SourceLocation(file, line, indentation, None, lines[0].rstrip("\n"))
        raise UnsupportedSourceError(
            place,
            f"{plain.__name__!r} is not written as a plain def",
            "a lambda, an async def or a generator expression has no statements to schedule",
            "write it as a function with def",
        )
    return Source(plain, body[0], file, tuple(text.splitlines()), line, indentation)


def enclosing_statement(tree: ast.AST, node: ast.AST) -> ast.stmt | None:
    """The innermost statement of a tree that a node is, or is in, by its place; None where it is in none."""
    first, last = _span(node)
    found: ast.stmt | None = None
    for each in all_nodes(tree):
        if isinstance(each, ast.stmt) and each is not tree and hasattr(node, "lineno"):
            start, end = _span(each)
            if start <= first and last <= end and (found is None or _span(found)[0] <= start):
                found = each
    return found


def _span(node: ast.AST) -> tuple[tuple[int, int], tuple[int, int]]:
    """The places where a node begins and ends."""
    line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
    return (line, column), (getattr(node, "end_lineno", None) or line, getattr(node, "end_col_offset", None) or column)


def arguments_of(tree: ast.FunctionDef) -> tuple[ast.arg, ...]:
    """The arguments of a function that have values of their own, in the order of its signature."""
    return *tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs


def defaults_of(tree: ast.FunctionDef) -> dict[str, ast.expr]:
    """The arguments of a function that calls may leave out, and what they are then."""
    positional = [*tree.args.posonlyargs, *tree.args.args]
    given = tree.args.defaults
    pairs = [
        *zip(positional[len(positional) - len(given) :], given, strict=True),
        *zip(tree.args.kwonlyargs, tree.args.kw_defaults, strict=True),
    ]
    return {argument.arg: default for argument, default in pairs if default is not None}
