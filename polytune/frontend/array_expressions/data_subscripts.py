"""Subscripts and bounds of slices that depend on data: their values are kept in variables of their own."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from polytune.frontend.array_expressions.temporaries import emit, perform, scalar
from polytune.frontend.array_expressions.values import ArrayValue, Axis
from polytune.frontend.array_expressions.views import in_memory
from polytune.frontend.expression import Assign, Element, Expression, arrays_written, walk
from polytune.frontend.loops.opaque import performed
from polytune.frontend.lowering.frame import CapturedValue, Frame
from polytune.frontend.program import Node
from polytune.frontend.promotion import Value, binary, cast, compare, constant, select


def from_either_end(value: Value, extent: Expression, *, is_unsigned: bool = False) -> Expression:
    """A subscript that depends on data; a negative one counts from the end, as in NumPy.

    Args:
        value: the subscript.
        extent: that of the axis.
        is_unsigned: whether it is a single number of an unsigned type, of which those beyond int64, which are negative
            when they are cast, are beyond any end; NumPy takes those in arrays for negative ones.
    """
    index = cast(value, "int64")
    if is_unsigned:
        return index.expression
    negative = compare("<", index, constant(0))
    return select(negative, binary("+", index, Value(extent, weak=True)), index).expression


def captured(frame: Frame, node: ast.AST, expression: Expression) -> Element:
    """A variable with the value that an integer has here, whatever changes later.

    Where nothing that it depends on has been assigned since an equal one was captured, it is that variable: so
    equal bounds give slices of equal length.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        expression: the integer, which depends on data.
    """
    if isinstance(expression, Element) and expression.array in frame.kernel.bounds:
        return expression  # assigned in one place, which is reached before each use
    known = frame.kernel.captured.get(expression)
    if known is not None and known.nodes is frame.nodes:
        needed = {part.array for part in walk(expression) if isinstance(part, Element)}
        if not needed & written(frame.nodes[known.position :]):
            return known.variable
    variable = scalar(frame, node, "int64", "bound")
    emit(frame, node, (perform(frame, node, Assign(variable, expression)),))
    frame.kernel.bounds.add(variable.array)
    frame.kernel.captured[expression] = CapturedValue(variable, frame.nodes, len(frame.nodes))
    return variable


def written(nodes: Sequence[Node]) -> set[str]:
    """The arrays and variables that nodes assign."""
    operations = (operation for each in performed(nodes) for operation in each.operations)
    return {array for operation in operations for array in arrays_written(operation)}


def is_of_data(frame: Frame, expression: Expression) -> bool:
    """Return whether an integer depends on data, so that nothing is proven of it."""
    return not frame.kernel.affine.is_function(expression)


def with_captured_subscripts(frame: Frame, node: ast.AST, value: ArrayValue) -> ArrayValue:
    """A part of an array for a name to mean: it stays the same elements if what its subscripts depend on changes.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        value: the part.
    """
    region = value.region
    if region is None or not any(is_of_data(frame, axis.offset) for axis in region.axes):
        return value
    axes = tuple(
        replace(axis, offset=captured(frame, node, axis.offset)) if _changes(frame, axis) else axis
        for axis in region.axes
    )
    return in_memory(frame.kernel, replace(region, axes=axes), value.shape)


def _changes(frame: Frame, axis: Axis) -> bool:
    return is_of_data(frame, axis.offset)
