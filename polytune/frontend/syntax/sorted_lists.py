"""Python's ``sorted``, in the syntax tree: as a list that grows, or as elements in order where nothing asks for a list.

``out = sorted(A)`` becomes a loop that appends what ``np.sort`` gives.  In ``sorted(A)[k]``, ``for x in sorted(A)``,
``x, y = sorted((u, v))`` and arguments of functions that read elements the call itself stands for these: it is marked,
and ``library_functions.py`` compiles it.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence

from polytune.frontend.syntax.comprehensions import Meaning, placed
from polytune.syntax_trees import all_nodes, copied

__all__ = ["is_of_elements", "with_sorted_lists"]

_READERS = (builtins.sum, builtins.min, builtins.max, builtins.len, builtins.any, builtins.all)
_ITERATED = (builtins.enumerate, builtins.zip, builtins.reversed)


def is_of_elements(node: ast.AST) -> bool:
    """Return whether a call of ``sorted`` stands where only its elements are read."""
    return getattr(node, "is_of_elements", False)


def with_sorted_lists(body: Sequence[ast.stmt], meaning: Meaning, fresh: Callable[[str], str]) -> list[ast.stmt]:
    """The statements of a function with loops in place of lists that ``sorted`` makes, and marks at its other calls.

    Args:
        body: the statements, which stay as they are.
        meaning: what names from outside of the function mean.
        fresh: gives a name that the function does not have, like the one given.
    """

    def is_sorted(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and meaning(node.func) is builtins.sorted

    if not any(is_sorted(node) for statement in body for node in all_nodes(statement)):
        return list(body)
    statements = copied(list(body))
    _SortedMarker(meaning).mark(statements)
    return _SortedListWriter(is_sorted, fresh).block(statements)


class _SortedMarker:
    """Marks calls of ``sorted`` of which only elements are read."""

    def __init__(self, meaning: Meaning):
        self.meaning = meaning

    def mark(self, body: Sequence[ast.stmt]) -> None:
        for node in (part for statement in body for part in all_nodes(statement)):
            match node:
                case ast.For(_, source):
                    self.read(source)
                case ast.Subscript(value, index) if not isinstance(index, ast.Slice):
                    self.read(value)
                case ast.Assign([ast.Tuple() | ast.List()], value):
                    self.read(value)
                case ast.Call(function, arguments) if self.reads(function):
                    for each in arguments:
                        self.read(each)

    def reads(self, function: ast.expr) -> bool:
        """Return whether a function makes no difference between lists and arrays: NumPy's, and some of Python's."""
        called = self.meaning(function)
        is_of_numpy = (getattr(called, "__module__", None) or "").partition(".")[0] == "numpy"
        return is_of_numpy or any(called is each for each in (*_READERS, *_ITERATED))

    def read(self, node: ast.expr) -> None:
        """Mark an expression of which only elements are read."""
        match node:
            case ast.Call(function, [given, *_]) if self.meaning(function) is builtins.sorted:
                node.is_of_elements = True  # type: ignore[attr-defined]
                if isinstance(given, ast.Tuple):
                    node.args[0] = ast.copy_location(ast.List(given.elts, ast.Load()), given)
                self.read(given)
            case ast.Subscript(value, ast.Slice()):
                self.read(value)


class _SortedListWriter:
    """Writes loops in place of lists that ``sorted`` makes.

    Args:
        is_sorted: whether a node is a call of it.
        fresh: gives a name that the function does not have, like the one given.
    """

    def __init__(self, is_sorted: Callable[[ast.AST], bool], fresh: Callable[[str], str]):
        self.is_sorted, self.fresh = is_sorted, fresh

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [made for node in body for made in self.statement(node)]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        """A statement, and what is now before it."""
        match node:
            case ast.For():
                node.body, node.orelse = self.block(node.body), self.block(node.orelse)
                before: list[ast.stmt] = []
                node.iter = self.gone_over(node.iter, before)
                return [*(placed(each, node) for each in before), placed(node, node)]
            case ast.If() | ast.While():
                node.body, node.orelse = self.block(node.body), self.block(node.orelse)
            case ast.With():
                node.body = self.block(node.body)
            case ast.Assign([ast.Name(name)], ast.Call() as value) if self.is_sorted(value) and value.args:
                return [placed(each, node) for each in self.listed(name, value)]
            case ast.Return(ast.expr() as value):
                made: list[ast.stmt] = []
                results = value.elts if isinstance(value, ast.Tuple) else [value]
                for place, each in enumerate(results):
                    if isinstance(each, ast.Call) and self.is_sorted(each) and each.args:
                        name = self.fresh("result")
                        made += self.listed(name, each)
                        results[place] = ast.Name(name, ast.Load())
                if made:
                    node.value = value if isinstance(value, ast.Tuple) else results[0]
                return [*(placed(each, node) for each in made), placed(node, node)]
        return [node]

    def gone_over(self, source: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """Return what a loop goes over, with names for elements in order.

        Args:
            source: what it goes over.
            before: the statements before it, to which those are added that give the names.
        """
        if isinstance(source, ast.Call) and self.is_sorted(source) and is_of_elements(source):
            name = self.fresh("in_order")
            before.append(ast.Assign([ast.Name(name, ast.Store())], source))
            return ast.Name(name, ast.Load())
        if isinstance(source, ast.Call):
            source.args = [self.gone_over(each, before) for each in source.args]
        return source

    def listed(self, name: str, value: ast.Call) -> list[ast.stmt]:
        """The list of what a call gives, which may be of the list that has the name before."""
        elements, element = self.fresh(f"{name}_in_order"), self.fresh("element")
        value.is_of_elements = True  # type: ignore[attr-defined]
        if isinstance(value.args[0], ast.Tuple):
            value.args[0] = ast.copy_location(ast.List(value.args[0].elts, ast.Load()), value)
        method = ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load())
        append = ast.Expr(ast.Call(method, [ast.Name(element, ast.Load())], []))
        return [
            ast.Assign([ast.Name(elements, ast.Store())], value),
            ast.Assign([ast.Name(name, ast.Store())], ast.List([], ast.Load())),
            ast.For(ast.Name(element, ast.Store()), ast.Name(elements, ast.Load()), [append], []),
        ]
