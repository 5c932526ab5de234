"""Stencils of Numba's, functions of one point with subscripts relative to it, as functions of whole arrays.

``0.5 * (a[-1] + a[1])`` becomes ``out[1:-1] = 0.5 * (a[0:-2] + a[2:])``: what is relative to a point is a part of the
array that is shifted by as much, and points of which some neighbour is outside get the constant ``cval``.  A stencil of
several statements becomes a function of a point, ``a[place - 1]``, which is called for each.
"""

from __future__ import annotations

import ast
import copy
import functools
import textwrap
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np

from polytune.frontend.syntax.source import NestedFunction, Source, read_source
from polytune.records import dataclass
from polytune.syntax_trees import all_nodes

__all__ = ["function_of_point", "function_of_stencil", "is_of_stencil"]

_NUMPY, _BORDER = "numpy_of_stencil", "border_of_stencil"
"""The names outside of the function that is made."""
_POINT, _PLACE, _INNER = "point_of_stencil", "place_of_stencil", "inner_of_stencil"
"""Its names for the function of a point, what that is given, and what it gives at all points inside."""


def function_of_point(stencil: Any) -> FunctionType | None:
    """The function that Numba has made a stencil of; None where something is no stencil."""
    if type(stencil).__module__ != "numba.stencils.stencil":
        return None
    function = stencil.kernel_ir.func_id.func
    return function if isinstance(function, FunctionType) else None


def is_of_stencil(function: Any) -> bool:
    """Return whether a function has been made of a stencil: it changes no array but what it is given as ``out``."""
    return isinstance(function, NestedFunction) and _NUMPY in function.source.function.__globals__


@functools.cache
def function_of_stencil(stencil: Any) -> NestedFunction:
    """The function of whole arrays that a stencil is, with an argument ``out`` that need not be given.

    Raises:
        UnsupportedSourceError: it has absolute subscripts, too, or what it looks at is not seen in it.
    """
    plain = function_of_point(stencil)
    assert plain is not None, "only stencils are"
    source = read_source(plain)
    body = [node for node in source.tree.body if not _is_text(node)]
    if stencil.options.get("standard_indexing"):
        raise source.refusal(
            body[0],
            f"the stencil {source.name}, which has standard_indexing",
            "of stencils those are compiled whose subscripts are all relative to the point",
            "write loops over the points, in the function that calls it",
        )
    value = body[0].value if isinstance(body[0], ast.Return) else None
    names = [argument.arg for argument in source.tree.args.args]
    reach = _reach(source, body, names, stencil.options.get("neighborhood"))
    inside = ", ".join(reach.part(place, 0) for place in range(len(reach.least)))
    if value is None:
        first, shifted = _of_points(source, body, names, reach), _INNER
    else:
        first, shifted = "", ast.unparse(_Shifted(reach, names).visit(copy.deepcopy(value)))
    has_border = "cval" in stencil.options
    text = (
        f"def {source.name}({', '.join(names)}, out=None):\n"
        f"{first}"
        "    if out is None:\n"
        f"        out = {_NUMPY}.full({reach.first}.shape, {_BORDER}, ({shifted}).dtype)\n"
        + (f"    else:\n        out[...] = {_BORDER}\n" if has_border else "")
        + f"    out[{inside}] = {shifted}\n"
        "    return out\n"
    )
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    for node in all_nodes(tree):
        ast.copy_location(node, body[0])
    outside = {**plain.__globals__, _NUMPY: np, _BORDER: stencil.options.get("cval", 0)}
    function = FunctionType(plain.__code__, outside, plain.__name__, plain.__defaults__, plain.__closure__)
    return NestedFunction(Source(function, source.tree, source.file, source.lines, source.first_line, 0), tree)


def _of_points(source: Source, body: Sequence[ast.stmt], names: Sequence[str], reach: _Reach) -> str:
    """Return the lines that compute a stencil of several statements at all points inside, in an array of their own.

    Args:
        source: the stencil.
        body: its statements.
        names: of its arguments.
        reach: the offsets of the stencil.
    """
    places = [f"{_PLACE}_{dimension}" for dimension in range(len(reach.least))]
    relative = _RelativeToPlaces(places, names)
    statements = [relative.visit(copy.deepcopy(node)) for node in body]
    point = ast.unparse(ast.Module(list[ast.stmt](statements), []))
    called = f"{_POINT}({', '.join([*names, *places])})"
    for dimension in reversed(range(len(places))):
        stop = f"{reach.first}.shape[{dimension}] - {reach.greatest[dimension]}"
        called = f"[{called} for {places[dimension]} in range({-reach.least[dimension]}, {stop})]"
    return (
        f"    def {_POINT}({', '.join([*names, *places])}):\n"
        f"{textwrap.indent(point, ' ' * 8)}\n"
        f"    {_INNER} = {_NUMPY}.array({called})\n"
    )


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


@dataclass(frozen=True)
class _Reach:
    """The offsets at which a stencil looks.

    Attributes:
        first: the array whose shape the result has.
        least, greatest: along each dimension, at most and at least 0.
    """

    first: str
    least: tuple[int, ...]
    greatest: tuple[int, ...]

    def part(self, place: int, offset: int) -> str:
        """The points inside along a dimension, shifted by an offset, as a slice."""
        start, after = offset - self.least[place], self.greatest[place] - offset
        return f"{start}:{-after or ''}"


def _reach(source: Source, body: Sequence[ast.stmt], names: Sequence[str], stated: Any) -> _Reach:
    """The offsets at which statements look at arrays, or what the option ``neighborhood`` states.

    Args:
        source: the stencil.
        body: its statements.
        names: of its arguments.
        stated: the option; None where it is not given.

    Raises:
        UnsupportedSourceError: an offset is no constant, or it looks at none.
    """
    nodes = [node for statement in body for node in all_nodes(statement)]
    found = [(node, _offsets(node)) for node in nodes if _is_relative(node, names)]
    if stated is not None and not isinstance(body[0], ast.Return):
        found = [(node, offsets or (0,) * len(stated)) for node, offsets in found]
    known = [offsets for _, offsets in found if offsets is not None]
    if not known or len(known) < len(found) or len({len(each) for each in known}) > 1:
        unknown = next((node for node, offsets in found if offsets is None), body[0])
        raise source.refusal(
            unknown,
            f"{source.segment(unknown)} in the stencil {source.name}",
            "which points it looks at must be seen in the source, with as many constants as the array has dimensions",
            "write constants, a[-1, 0], or loops over the points",
        )
    if stated is not None:
        known = [tuple(low for low, _ in stated), tuple(high for _, high in stated)]
    columns = list(zip(*known, strict=True))
    first = next(name for name in names if any(_named(node) == name for node, _ in found))
    return _Reach(first, tuple(min(0, *each) for each in columns), tuple(max(0, *each) for each in columns))


def _is_relative(node: ast.AST, names: Sequence[str]) -> bool:
    return isinstance(node, ast.Subscript) and _named(node) in names


def _named(node: ast.AST) -> str:
    return node.value.id if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) else ""


def _offsets(node: ast.AST) -> tuple[int, ...] | None:
    """The constants that an array is subscripted by; None where one is none."""
    assert isinstance(node, ast.Subscript)
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    try:
        values = tuple(ast.literal_eval(each) for each in items)
    except ValueError:
        return None
    return values if all(type(each) is int for each in values) else None


class _Shifted(ast.NodeTransformer):
    """Puts parts of arrays in the places of elements.

    Args:
        reach: the offsets of the stencil.
        names: of its arguments.
    """

    def __init__(self, reach: _Reach, names: Sequence[str]):
        self._reach, self._names = reach, names

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Return the part of an array for an element of it."""
        if not _is_relative(node, self._names):
            self.generic_visit(node)
            return node
        offsets = _offsets(node)
        assert offsets is not None
        parts = ", ".join(self._reach.part(place, offset) for place, offset in enumerate(offsets))
        return ast.parse(f"{_named(node)}[{parts}]", mode="eval").body


class _RelativeToPlaces(ast.NodeTransformer):
    """Adds the place of a point to subscripts that are relative to it.

    Args:
        places: the names for the place, one for each dimension.
        names: of the stencil's arguments.
    """

    def __init__(self, places: Sequence[str], names: Sequence[str]):
        self._places, self._names = places, names

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Return the element at a distance of the place."""
        self.generic_visit(node)
        if not _is_relative(node, self._names):
            return node
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        moved = [
            ast.BinOp(ast.Name(place, ast.Load()), ast.Add(), item)
            for place, item in zip(self._places, items, strict=False)
        ]
        return ast.Subscript(node.value, ast.Tuple(list[ast.expr](moved), ast.Load()), node.ctx)
