"""Coordinates of grids: ``np.mgrid``, ``np.ogrid``, ``np.meshgrid`` and ``np.indices``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.affine_arithmetic import (
    ONE,
    ZERO,
    add,
    constant_of,
    integer,
    quotient,
    subtract,
)
from polytune.frontend.array_expressions.calls import ArrayCall, compiles
from polytune.frontend.array_expressions.elementwise import as_array, computed
from polytune.frontend.array_expressions.readers import Number
from polytune.frontend.array_expressions.sizes import extent, require_size
from polytune.frontend.array_expressions.slices import affine_number, is_none
from polytune.frontend.array_expressions.values import ArrayValue, Operand, Shape, Subscripts
from polytune.frontend.expression import Compare, Expression
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.polyhedral.affine import as_index
from polytune.frontend.promotion import Value

GRIDS: tuple[Any, ...] = (np.mgrid, np.ogrid)
"""The objects whose subscripts are ranges of coordinates."""


def is_grid(thing: Any) -> bool:
    """Return whether a Python object is one of ``GRIDS``."""
    return any(thing is grid for grid in GRIDS)


def grid_axes(frame: Frame, node: ast.Subscript, grid: Any, number: Number) -> list[ArrayValue]:
    """The coordinates of ``np.mgrid[a:b, c:d]`` along each dimension, or of ``np.ogrid``.

    Args:
        frame: where it stands.
        node: the whole expression.
        grid: ``np.mgrid`` or ``np.ogrid``.
        number: reads an expression that is a number.

    Raises:
        UnsupportedSourceError: a subscript is no slice of integers with a constant step.
    """
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    ranges = [_range(frame, node, item, number) for item in items]
    if grid is np.mgrid and len(items) > 1:
        # NumPy makes an array of these extents, where others are those of ranges, which may have no numbers.
        for _, _, size in ranges:
            require_size(frame, node, size)
    ranges = [(first, step, extent(frame, size)) for first, step, size in ranges]
    sizes = tuple(size for _, _, size in ranges)
    shapes = [_alone(sizes, place) if grid is np.ogrid else sizes for place in range(len(items))]

    def coordinates(place: int) -> ArrayValue:
        first, step, _ = ranges[place]

        def at(subscripts: Subscripts) -> Value:
            return Value(add(first, subscripts[place], step))

        return ArrayValue(shapes[place], "int64", at)

    return [coordinates(place) for place in range(len(items))]


def stacked(axes: Sequence[ArrayValue]) -> ArrayValue:
    """Coordinates as one array, with the number of the dimension as the first subscript."""

    def at(subscripts: Subscripts) -> Value:
        which, rest = subscripts[0], subscripts[1:]
        value = axes[-1].at(rest)
        for place, axis in reversed(list(enumerate(axes[:-1]))):
            known = constant_of(which)
            test = Value(Compare("==", which, integer(place)), weak=True)
            is_this = test if known is None else promotion.constant(known == place)
            value = promotion.select(is_this, axis.at(rest), value)
        return value

    return ArrayValue((integer(len(axes)), *axes[0].shape), axes[0].dtype, at)


def _alone(sizes: Shape, place: int) -> Shape:
    return tuple(size if axis == place else ONE for axis, size in enumerate(sizes))


def _range(frame: Frame, node: ast.AST, item: ast.expr, number: Number) -> tuple[Expression, int, Expression]:
    """The first number of a slice, its step, and how many numbers it has; none where that is negative."""
    if not isinstance(item, ast.Slice) or item.upper is None or is_none(item.upper):
        raise frame.source.refusal(
            node,
            f"{frame.source.segment(node)}, of what is no slice with an end",
            "each dimension of a grid is a range of numbers",
            "write a slice for each dimension, as np.mgrid[0:n, 0:m]",
        )
    step = 1 if item.step is None else number(frame, item.step).constant
    if not isinstance(step, int) or step == 0:
        raise frame.source.refusal(
            node,
            f"the step {frame.source.segment(item.step) if item.step is not None else step} of a grid",
            "which numbers a grid has is affine only if its step is a constant integer",
            "use a constant integer step, or np.meshgrid of what np.linspace gives",
        )
    first: Expression = ZERO if item.lower is None else affine_number(frame, item.lower, "the bound", number)
    last = affine_number(frame, item.upper, "the bound", number)
    distance = subtract(last, first) if step > 0 else subtract(first, last)
    return first, step, quotient(add(distance, integer(abs(step) - 1)), abs(step))


def meshgrid(call: ArrayCall) -> list[ArrayValue]:
    """The arrays that ``np.meshgrid(x, y)`` gives, ``indexing`` and ``sparse`` included."""
    node = call.argument("xi")
    axes = [call.evaluate(call.frame, each) for each in (node.elts if isinstance(node, ast.Tuple) else [node])]
    vectors = [_vector(call, each) for each in axes]
    indexing, sparse = call.constant("indexing", "xy"), bool(call.constant("sparse", False))
    if indexing not in ("xy", "ij"):
        raise call.refusal(f"the indexing {indexing!r} of np.meshgrid", 'use "xy" or "ij"')
    order = list(range(len(vectors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    sizes = tuple(vectors[place].shape[0] for place in order)

    def coordinates(which: int) -> ArrayValue:
        place, vector = order.index(which), vectors[which]
        shape = _alone(sizes, place) if sparse else sizes
        return ArrayValue(shape, vector.dtype, lambda subscripts: vector.at((subscripts[place],)))

    return [coordinates(which) for which in range(len(vectors))]


def _vector(call: ArrayCall, operand: Operand) -> ArrayValue:
    array = as_array(computed(call.frame, call.node, operand))
    if array.ndim != 1:
        raise call.refusal(f"np.meshgrid of an array of {array.ndim} dimensions", "pass vectors")
    return array


@compiles(np.indices, "dimensions")
def _indices(call: ArrayCall) -> Operand:
    """The coordinates of a shape, as ``np.mgrid`` has them."""
    shape = tuple(as_index(size) for size in call.shape("dimensions"))

    def coordinates(place: int) -> ArrayValue:
        return ArrayValue(shape, "int64", lambda subscripts: Value(subscripts[place]))

    return stacked([coordinates(place) for place in range(len(shape))])
