"""Arrays that are split along an axis: ``np.split`` and its like, whose parts are views."""

from __future__ import annotations

import ast
import itertools

import numpy as np

from polytune.frontend.array_expressions.affine_arithmetic import ZERO, add, integer, quotient, subtract
from polytune.frontend.array_expressions.calls import ArrayCall, ResultList, compiles_several
from polytune.frontend.array_expressions.sizes import extent, greater, lesser, require, size_text
from polytune.frontend.array_expressions.values import ArrayValue, Axis
from polytune.frontend.array_expressions.views import rearranged
from polytune.frontend.expression import Binary, Compare, Expression

MOST_PARTS = 64
"""An array is split into no more parts."""


def _part(call: ArrayCall, array: ArrayValue, axis: int, first: Expression, last: Expression) -> ArrayValue:
    """The elements from one place along an axis to another."""
    axes = [Axis(first if place == axis else ZERO, place) for place in range(array.ndim)]
    size = extent(call.frame, subtract(last, first))
    return rearranged(call.frame.kernel, array, axes, (*array.shape[:axis], size, *array.shape[axis + 1 :]))


def _split(call: ArrayCall, axis: int, *, equal: bool) -> ResultList:
    """The parts along an axis.

    Args:
        call: the call.
        axis: the dimension, counted from the front.
        equal: whether parts must have as many elements each.
    """
    array, frame = call.array("ary"), call.frame
    if array.region is None:
        raise call.refusal(f"{call.name} of what is computed", "give it a name first: B = A + 1, then np.split(B, 2)")
    if not axis < array.ndim:
        raise call.refusal(f"{call.name} of an array of {array.ndim} dimensions", "name a dimension that there is")
    size, node = array.shape[axis], call.argument("indices_or_sections")
    if isinstance(node, ast.List | ast.Tuple):
        bounds = [_bound(call, each, size) for each in node.elts]
        starts, stops = [ZERO, *bounds], [*bounds, size]
        pairs = zip(starts, stops, strict=True)
        return ResultList(_part(call, array, axis, first, greater(frame, first, last)) for first, last in pairs)
    count = call.constant("indices_or_sections")
    if not isinstance(count, int) or not 1 <= count <= MOST_PARTS:
        raise call.refusal(
            f"{call.name} into {frame.source.segment(node)} parts", f"name a constant number from 1 to {MOST_PARTS}"
        )
    share, rest = quotient(size, count), Binary("%", size, integer(count), "int64")
    if equal:
        text = f"{call.name} of {size_text(frame.kernel, size)} elements into {count} parts of equal length"
        require(frame, call.node, Compare("==", rest, ZERO), text, (), "use np.array_split, or other lengths")
        places = [add(ZERO, share, number) for number in range(count)] + [size]
    else:
        starts_of_all = [add(ZERO, share, number) for number in range(count)]
        places = [
            add(start, lesser(frame, integer(number), rest)) if number else start
            for number, start in enumerate(starts_of_all)
        ] + [size]
    return ResultList(_part(call, array, axis, first, last) for first, last in itertools.pairwise(places))


def _bound(call: ArrayCall, node: ast.expr, size: Expression) -> Expression:
    """A place where an array is split, as a bound of a slice."""
    place = call.extent(node)
    require(
        call.frame,
        node,
        Compare(">=", place, ZERO),
        f"the place {call.frame.source.segment(node)} of {call.name} is negative",
        (),
        "count from the front, as A.shape[0] - 1 for -1",
    )
    return lesser(call.frame, place, size)


@compiles_several(np.split, "ary", "indices_or_sections", "axis")
def _equal_parts(call: ArrayCall) -> ResultList:
    return _split(call, _axis(call), equal=True)


@compiles_several(np.array_split, "ary", "indices_or_sections", "axis")
def _parts(call: ArrayCall) -> ResultList:
    return _split(call, _axis(call), equal=False)


def _axis(call: ArrayCall) -> int:
    return call.axis("axis", call.array("ary").ndim, 0) or 0


@compiles_several(np.vsplit, "ary", "indices_or_sections")
def _rows(call: ArrayCall) -> ResultList:
    return _split(call, 0, equal=True)


@compiles_several(np.hsplit, "ary", "indices_or_sections")
def _columns(call: ArrayCall) -> ResultList:
    return _split(call, 0 if call.array("ary").ndim == 1 else 1, equal=True)
