"""Arrays and parts of them as array values; their subscripts as affine functions."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from polytune.errors import SourceLocation
from polytune.frontend.array_expressions.affine_arithmetic import ZERO, add, product
from polytune.frontend.array_expressions.values import ArrayRegion, ArrayValue, Axis, Shape, Subscripts
from polytune.frontend.expression import Element, Expression, Iterator, map_children
from polytune.frontend.lowering.frame import Frame, KernelWalk
from polytune.frontend.lowering.meanings import ArrayBinding, Stale, ViewBinding
from polytune.frontend.promotion import Value


def whole(frame: Frame, node: ast.AST, array: str, *, is_new: bool = False) -> ArrayValue:
    """All of an array.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        array: its name in the SCoP.
        is_new: whether nothing else means it, so that a name can have it without a copy.
    """
    kernel = frame.kernel
    declared = kernel.arrays[array]
    shape = tuple(kernel.extents[array, dimension].expression for dimension in range(declared.ndim))
    axes = tuple(Axis(ZERO, dimension) for dimension in range(declared.ndim))
    region = ArrayRegion(array, declared.dtype, axes, frame.source.location(node))
    return in_memory(kernel, region, shape, is_new=is_new)


def in_memory(kernel: KernelWalk, region: ArrayRegion, shape: Shape, *, is_new: bool = False) -> ArrayValue:
    """The elements of a region as an array value.

    Args:
        kernel: what knows where elements stand in the source.
        region: part of an array.
        shape: that of the region.
        is_new: whether nothing else means the array, so that a name can have it without a copy.
    """

    def at(subscripts: Subscripts) -> Value:
        return Value(element_of(kernel, region, subscripts))

    return ArrayValue(shape, region.dtype, at, region, is_new)


def element_of(kernel: KernelWalk, region: ArrayRegion, subscripts: Subscripts) -> Element:
    """The element of a region at subscripts of the region.

    Args:
        kernel: what knows where elements stand in the source.
        region: part of an array.
        subscripts: as many as the region has dimensions.
    """
    return element_at(kernel, region, [position(axis, subscripts) for axis in region.axes])


def element_at(kernel: KernelWalk, region: ArrayRegion, indices: Subscripts) -> Element:
    """The element of a region's array at subscripts of the array, which stands where the region does.

    Args:
        kernel: what knows where elements stand in the source.
        region: part of an array.
        indices: as many as the array has dimensions.
    """
    return kernel.locations.record(Element(region.array, tuple(indices), region.dtype), region.location)


def moved(kernel: KernelWalk, expression: Any, to: Mapping[Iterator, Expression]) -> Any:
    """An expression or operation with iterators replaced; its elements stand where they stood in the source.

    Args:
        kernel: what knows where elements stand in the source.
        expression: an expression or an operation.
        to: what replaces each iterator; others stay.
    """
    if isinstance(expression, Iterator) and expression in to:
        return to[expression]
    result = map_children(expression, lambda child: moved(kernel, child, to))
    if isinstance(expression, Element):
        place = kernel.locations.find(expression)
        if place is not None:
            kernel.locations.record(result, place)
    return result


def position(axis: Axis, subscripts: Subscripts) -> Expression:
    """The value of an axis's subscript."""
    if axis.dimension is None:
        return axis.offset
    return add(axis.offset, product(axis.stride, subscripts[axis.dimension]))


def rearranged(
    kernel: KernelWalk, value: ArrayValue, axes: Sequence[Axis], shape: Shape, location: SourceLocation | None = None
) -> ArrayValue:
    """A part of an array value.

    Args:
        kernel: what knows where elements stand in the source.
        value: the array.
        axes: its subscripts, as functions of those of the part.
        shape: that of the part.
        location: where the part stands in the source; None for where the array stands.
    """
    region = value.region
    if region is None:
        at = value.at
        return ArrayValue(
            shape,
            value.dtype,
            lambda subscripts: at([position(axis, subscripts) for axis in axes]),
            is_costly=value.is_costly,
            view_of=value.view_of,
        )
    composed = tuple(_composed(axis, axes) for axis in region.axes)
    part = ArrayRegion(region.array, region.dtype, composed, location or region.location)
    return in_memory(kernel, part, shape)


def _composed(axis: Axis, axes: Sequence[Axis]) -> Axis:
    if axis.dimension is None:
        return axis
    inner = axes[axis.dimension]
    outer, step = axis.stride, inner.stride
    if isinstance(step, int):
        stride = outer * step if isinstance(outer, int) else product(step, outer)
    else:
        stride = product(outer, step)
    return Axis(add(axis.offset, product(outer, inner.offset)), inner.dimension, stride)


def permuted(kernel: KernelWalk, value: ArrayValue, order: Sequence[int]) -> ArrayValue:
    """The array with its dimensions in another order, as NumPy's transpose has them.

    Args:
        kernel: what knows where elements stand in the source.
        value: the array.
        order: per dimension of the result the number of the array's.
    """
    axes = tuple(Axis(ZERO, order.index(dimension)) for dimension in range(value.ndim))
    return rearranged(kernel, value, axes, tuple(value.shape[dimension] for dimension in order))


def bound_array(frame: Frame, node: ast.expr) -> ArrayValue | None:
    """The array that a name means; None for any other expression, and for names of anything else."""
    if not isinstance(node, ast.Name):
        return None
    match frame.bindings.get(node.id):
        case ArrayBinding(array) | Stale(made=ArrayBinding(array)):
            return whole(frame, node, array)
        case ViewBinding(view):
            return view
    return None
