"""Lists that are made at once, in the syntax tree: as lists to which a loop appends, and as new arrays.

``out = [0.0] * n``, ``out = list(A)`` and ``out = [f(x) for x in A if x > 0]`` become ``out = []`` and a loop around
``out.append``, so that they are lists that grow like any others (``list_arrays.py``); ``np.array([0.0] * n)`` is
``np.full(n, 0.0)``.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from polytune.frontend.syntax.comprehensions import Meaning, loops_around, placed, with_own_names, written_out
from polytune.syntax_trees import all_nodes, copied

__all__ = ["filled_array", "made_by_loops", "with_displays_as_loops"]


class _RepeatedList(NamedTuple):
    """``[a, b] * times``, of one element where it is not known how often."""

    elements: list[ast.expr]
    times: ast.expr


def _repetition(node: ast.expr) -> _RepeatedList | None:
    """A list that is repeated; None for any other expression, as for a product of an array and a list beside it."""
    match node:
        case ast.BinOp(ast.List(elements), ast.Mult(), times) | ast.BinOp(times, ast.Mult(), ast.List(elements)):
            if isinstance(times, ast.List) or any(isinstance(each, ast.Starred | ast.List) for each in elements):
                return None
            is_known = isinstance(times, ast.Constant) and isinstance(times.value, int)
            return _RepeatedList(elements, times) if len(elements) == 1 or (elements and is_known) else None
    return None


def made_by_loops(value: ast.expr, meaning: Meaning) -> bool:
    """Return whether an expression is a list that loops may make."""
    if meaning(ast.Name("range", ast.Load())) is not builtins.range:
        return False
    made = _comprehension(value, meaning)
    if made is not None:
        is_async = any(generator.is_async for generator in made.generators)
        return not is_async and not isinstance(made.elt, ast.List) and written_out(made, meaning) is None
    return _repetition(value) is not None


def _comprehension(value: ast.expr, meaning: Meaning) -> ast.ListComp | None:
    """A list comprehension, which ``list(A)`` is, too; None for any other expression, and for lists of tuples."""
    match value:
        case ast.ListComp():
            return value
        case ast.Call(function, [elements], []) if meaning(function) is builtins.list:
            match elements:
                case ast.Starred() | ast.Tuple() | ast.Attribute(attr="shape"):
                    return None
                case ast.GeneratorExp(element, generators):
                    return placed(ast.ListComp(element, generators), value)
            target, element = (_of_each(elements, meaning, context) for context in (ast.Store(), ast.Load()))
            return placed(ast.ListComp(element, [ast.comprehension(target, elements, [], 0)]), value)
    return None


def _of_each(elements: ast.expr, meaning: Meaning, context: ast.expr_context) -> ast.expr:
    """The name of what there is for each iteration over an expression, or a tuple of several."""
    match elements:
        case ast.Call(function, [_], []) if meaning(function) is builtins.enumerate:
            count = 2
        case ast.Call(function, [_, *_] as arguments, _) if meaning(function) is builtins.zip:
            count = len(arguments)
        case _:
            return ast.Name("element", context)
    return ast.Tuple([ast.Name(f"element_{place}", context) for place in range(count)], context)


def with_displays_as_loops(
    body: Sequence[ast.stmt], name: str, meaning: Meaning, fresh: Callable[[str], str]
) -> list[ast.stmt]:
    """The statements of a function with loops in place of the lists that are assigned to a name.

    Args:
        body: the statements, which stay as they are.
        name: the name.
        meaning: what names from outside of the function mean.
        fresh: gives a name that the function does not have, like the one given.
    """
    writer = _DisplayWriter(name, meaning, fresh)
    return [made for statement in copied(list(body)) for made in writer.several(statement)]


class _DisplayWriter(ast.NodeTransformer):
    """Writes loops in place of ``name = [...]``."""

    def __init__(self, name: str, meaning: Meaning, fresh: Callable[[str], str]):
        self.name, self.meaning, self.fresh = name, meaning, fresh

    def several(self, node: ast.stmt) -> list[ast.stmt]:
        made = self.visit(node)
        return made if isinstance(made, list) else [made]

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        match node:
            case ast.Assign([ast.Name(target)], value) if target == self.name and made_by_loops(value, self.meaning):
                comprehension = _comprehension(value, self.meaning)
                made = self.repetition(value) if comprehension is None else self.comprehension(comprehension)
                return [placed(each, node) for each in made]
        return node

    def comprehension(self, node: ast.ListComp) -> list[ast.stmt]:
        # What is read of a list of the same name is that of before.
        if any(isinstance(each, ast.Name) and each.id == self.name for each in all_nodes(node)):
            return [ast.Assign([ast.Name(self.name, ast.Store())], node)]
        own = with_own_names(node, self.fresh)
        return [self.empty(), *loops_around([placed(self.append(own.elt), node)], own)]

    def repetition(self, node: ast.expr) -> list[ast.stmt]:
        """The loop of a repeated list, of which elements and number are computed once, before."""
        repetition = _repetition(node)
        assert repetition is not None
        made: list[ast.stmt] = []

        def kept(value: ast.expr, kind: str) -> ast.expr:
            if isinstance(value, ast.Constant):
                return value
            if isinstance(value, ast.Tuple):
                return ast.Tuple([kept(each, kind) for each in value.elts], ast.Load())
            name = self.fresh(f"{self.name}_{kind}")
            made.append(ast.Assign([ast.Name(name, ast.Store())], value))
            return ast.Name(name, ast.Load())

        elements = [kept(each, "element") for each in repetition.elements]
        times = kept(repetition.times, "times")
        loop = ast.For(
            ast.Name(self.fresh("repetition"), ast.Store()),
            ast.Call(ast.Name("range", ast.Load()), [times], []),
            [self.append(each) for each in elements],
            [],
        )
        return [*made, self.empty(), loop]

    def empty(self) -> ast.stmt:
        return ast.Assign([ast.Name(self.name, ast.Store())], ast.List([], ast.Load()))

    def append(self, element: ast.expr) -> ast.stmt:
        method = ast.Attribute(ast.Name(self.name, ast.Load()), "append", ast.Load())
        return ast.Expr(ast.Call(method, [element], []))


def filled_array(node: ast.Call, meaning: Meaning) -> ast.Call | None:
    """``np.array([0.0] * n)`` as ``np.full(max(n, 0), 0.0)``, which has the same type; None for any other call."""
    match node:
        case ast.Call(ast.Attribute(owner, "array" | "asarray"), [value], keywords) if meaning(owner) is np:
            repetition = _repetition(value)
            if repetition is None or len(repetition.elements) > 1 or not _is_constant(repetition.elements[0], meaning):
                return None
            if any(keyword.arg != "dtype" for keyword in keywords):
                return None
            times = repetition.times
            if not (isinstance(times, ast.Constant) and isinstance(times.value, int)):
                if meaning(ast.Name("max", ast.Load())) is not builtins.max:
                    return None
                times = ast.Call(ast.Name("max", ast.Load()), [times, ast.Constant(0)], [])
            function = ast.Attribute(owner, "full", ast.Load())
            return placed(ast.Call(function, [times, repetition.elements[0]], list(keywords)), node)
    return None


def _is_constant(node: ast.expr, meaning: Meaning) -> bool:
    match node:
        case ast.Constant(value):
            return isinstance(value, int | float | complex)
        case ast.UnaryOp(ast.USub() | ast.UAdd(), operand):
            return _is_constant(operand, meaning)
        case ast.Name() | ast.Attribute():
            return isinstance(meaning(node), int | float)
    return False
