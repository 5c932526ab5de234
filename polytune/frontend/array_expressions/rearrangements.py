"""The elements of arrays in another order or shape: transposed, flipped, reshaped, rolled."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
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
from polytune.frontend.array_expressions.elementwise import arithmetic, as_array, computed
from polytune.frontend.array_expressions.row_major import divided, in_shape, product_of
from polytune.frontend.array_expressions.shapes import agree, is_one, stretched
from polytune.frontend.array_expressions.sizes import are_equal, extent, require, size_text
from polytune.frontend.array_expressions.temporaries import kept
from polytune.frontend.array_expressions.values import ArrayValue, Axis, Operand, Subscripts
from polytune.frontend.array_expressions.views import permuted, rearranged
from polytune.frontend.expression import Argument, Compare, Expression, ParameterValue
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.parameters import with_products
from polytune.frontend.promotion import Value
from polytune.frontend.syntax.refusals import counted


def _are_dimensions(axes: Sequence[Any], ndim: int) -> bool:
    """Return whether all axes are integers that name dimensions which there are, from either end."""
    return all(isinstance(each, int) and -ndim <= each < ndim for each in axes)


def _whole_axes(ndim: int) -> list[Axis]:
    return [Axis(ZERO, dimension) for dimension in range(ndim)]


@compiles(np.transpose, "a", "*axes")
def _transpose(call: ArrayCall) -> Operand:
    array = call.array("a")
    order = call.constant("axes")
    if isinstance(order, int):
        order = (order,)
    order = tuple(reversed(range(array.ndim))) if order is None else tuple(order)
    if not _are_dimensions(order, array.ndim) or sorted(each % array.ndim for each in order) != list(range(array.ndim)):
        raise call.refusal(f"the axes {order} of an array of {array.ndim} dimensions", "name each dimension once")
    return permuted(call.frame.kernel, array, [each % array.ndim for each in order])


def _named_axis(call: ArrayCall, name: str, ndim: int) -> int:
    """The number of a dimension that the source has to name."""
    axis = call.axis(name, ndim)
    if axis is None:
        raise call.refusal(f"{call.name} without the argument {name!r}", "name a dimension")
    return axis


@compiles(np.swapaxes, "a", "axis1", "axis2")
def _swapaxes(call: ArrayCall) -> Operand:
    array = call.array("a")
    order = list(range(array.ndim))
    first, second = (_named_axis(call, name, array.ndim) for name in ("axis1", "axis2"))
    order[first], order[second] = order[second], order[first]
    return permuted(call.frame.kernel, array, order)


@compiles(np.moveaxis, "a", "source", "destination")
def _moveaxis(call: ArrayCall) -> Operand:
    array = call.array("a")
    source, destination = (_named_axis(call, name, array.ndim) for name in ("source", "destination"))
    order = [place for place in range(array.ndim) if place != source]
    order.insert(destination, source)
    return permuted(call.frame.kernel, array, order)


def _flipped(call: ArrayCall, array: ArrayValue, axes: Sequence[int]) -> ArrayValue:
    mapped = _whole_axes(array.ndim)
    for axis in axes:
        mapped[axis] = Axis(subtract(array.shape[axis], ONE), axis, -1)
    return rearranged(call.frame.kernel, array, mapped, array.shape)


@compiles(np.flip, "a", "axis")
def _flip(call: ArrayCall) -> Operand:
    array = call.array("a")
    axis = call.constant("axis")
    axes = range(array.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    if any(not -array.ndim <= each < array.ndim for each in axes):
        raise call.refusal(f"the axes {axis} of an array of {array.ndim} dimensions", "name dimensions that there are")
    return _flipped(call, array, [each % array.ndim for each in axes])


@compiles(np.flipud, "a")
def _flipud(call: ArrayCall) -> Operand:
    return _flipped_along(call, 0)


@compiles(np.fliplr, "a")
def _fliplr(call: ArrayCall) -> Operand:
    return _flipped_along(call, 1)


def _flipped_along(call: ArrayCall, axis: int) -> ArrayValue:
    array = call.array("a")
    if array.ndim <= axis:
        raise call.refusal(f"{call.name} of {counted(array.ndim, 'dimension')}", f"pass arrays of {axis + 1} or more")
    return _flipped(call, array, [axis])


@compiles(np.diff, "a", "n", "axis")
def _diff(call: ArrayCall) -> Operand:
    """Differences of neighbours."""
    array = call.array("a")
    place = call.axis("axis", array.ndim, -1) or 0
    order = call.constant("n", 1)
    if not isinstance(order, int) or order < 1:
        raise call.refusal(f"np.diff of the order {order}", "write a positive number")
    if order > 1:
        inner = call.of(np.diff, array, "axis", n=ast.copy_location(ast.Constant(order - 1), call.node))
        array = as_array(computed(call.frame, call.node, inner))
    shape = list(array.shape)
    shape[place] = extent(call.frame, subtract(array.shape[place], ONE))
    sides = []
    for offset in (ONE, ZERO):
        axes = _whole_axes(array.ndim)
        axes[place] = Axis(offset, place)
        sides.append(rearranged(call.frame.kernel, array, axes, tuple(shape)))
    return arithmetic(call.frame, call.node, "^" if array.dtype == "bool" else "-", *sides)


@compiles(np.expand_dims, "a", "axis")
def _expand_dims(call: ArrayCall) -> Operand:
    array = call.array("a")
    place = call.axis("axis", array.ndim + 1) or 0
    axes = [Axis(ZERO, dimension + (dimension >= place)) for dimension in range(array.ndim)]
    return rearranged(call.frame.kernel, array, axes, (*array.shape[:place], ONE, *array.shape[place:]))


@compiles(np.squeeze, "a", "axis")
def _squeeze(call: ArrayCall) -> Operand:
    array = call.array("a")
    axis = call.constant("axis")
    if axis is None:
        gone = [place for place, size in enumerate(array.shape) if is_one(call.frame, size)]
        for place, size in enumerate(array.shape):
            if place not in gone:
                what = f"np.squeeze of an array whose dimension {place} has an extent of 1 in this call"
                reason = "NumPy leaves it out, and the kernel is compiled with it"
                remedy = f"name all dimensions to leave out: np.squeeze(..., axis={place})"
                require(call.frame, call.node, Compare("!=", size, ONE), what, (), remedy, reason=reason)
    else:
        named = (axis,) if isinstance(axis, int) else axis
        if not _are_dimensions(named, array.ndim):
            raise call.refusal(
                f"the axis {axis} of an array of {array.ndim} dimensions", "name dimensions that there are"
            )
        gone = [each % array.ndim for each in named]
        for place in gone:
            agree(call.frame, call.node, array.shape[place], ONE, (array.shape, (ONE,)), "what is squeezed,")
    kept_dimensions = [place for place in range(array.ndim) if place not in gone]
    axes = [
        Axis(ZERO, kept_dimensions.index(place)) if place in kept_dimensions else Axis(ZERO)
        for place in range(array.ndim)
    ]
    return rearranged(call.frame.kernel, array, axes, tuple(array.shape[place] for place in kept_dimensions))


@compiles(np.reshape, "a", "*shape")
def _reshape(call: ArrayCall) -> Operand:
    """Extents of 1 added or taken away, neighbouring dimensions made one, or one made several."""
    array = call.array("a")
    node = call.argument("shape")
    elements = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
    known = call.shape_of(call.frame, node)
    wanted: list[Expression | None]
    if known is not None:
        wanted = [value.expression for value in known]
    else:
        wanted = [None if _is_rest(each) else call.extent(each) for each in elements]
    return reshaped(call, array, wanted)


def _is_rest(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and ast.unparse(node) == "-1"


@compiles(np.ndarray.flatten, "a", "order")
def _flatten(call: ArrayCall) -> Operand:
    flat = reshaped(call, _in_order(call), [None])
    return flat if flat.is_new else kept(call.frame, call.node, flat, "flat")


@compiles(np.ravel, "a", "order")
def _ravel(call: ArrayCall) -> Operand:
    return reshaped(call, _in_order(call), [None])


def _in_order(call: ArrayCall) -> ArrayValue:
    """The array whose rows have the elements in the wanted order: transposed where that goes along columns."""
    array, order = call.array("a"), call.constant("order", "C")
    if order not in ("C", "F"):
        raise call.refusal(f"{call.name} in the order {order!r}", "write 'C' or 'F'")
    return array if order == "C" else permuted(call.frame.kernel, array, range(array.ndim)[::-1])


def reshaped(call: ArrayCall, array: ArrayValue, wanted: Sequence[Expression | None]) -> ArrayValue:
    """The array in another shape.

    Where dimensions other than those of extent 1 are split or joined, the result is a copy, which must not be assigned.

    Args:
        call: where it stands.
        array: the array.
        wanted: the extents; None stands for the one that follows from the others.

    Raises:
        UnsupportedSourceError: the shapes never have as many elements.
    """
    frame = call.frame
    if None in wanted:
        _require_elements(call, [size for size in wanted if size is not None])
    old = [place for place, size in enumerate(array.shape) if constant_of(size) != 1]
    new = [place for place, size in enumerate(wanted) if size is None or constant_of(size) != 1]
    if len(old) != len(new) or not all(
        _may_stay(frame, array.shape[before], wanted[after]) for before, after in zip(old, new, strict=True)
    ):
        return _regrouped(call, array, wanted)
    shape: list[Expression] = [ONE if size is None else size for size in wanted]
    axes = [Axis(ZERO)] * array.ndim
    for before, after in zip(old, new, strict=True):
        axes[before] = Axis(ZERO, after)
        size = wanted[after]
        if size is not None:
            pair = (array.shape, tuple(each if each is not None else ONE for each in wanted))
            agree(frame, call.node, array.shape[before], size, pair, "an array and its new shape,")
        shape[after] = array.shape[before]
    return rearranged(frame.kernel, array, axes, tuple(shape))


def _require_elements(call: ArrayCall, sizes: Sequence[Expression]) -> None:
    """See to it that no extent beside -1 is 0: any number of elements would follow from it."""
    for size in sizes:
        text = f"{call.name} with -1 beside {size_text(call.frame.kernel, size)}, which is 0"
        remedy = "write the extent in place of -1, or pass arrays that have elements"
        require(call.frame, call.node, Compare(">=", size, ONE), text, (), remedy)


def _may_stay(frame: Frame, size: Expression, wanted: Expression | None) -> bool:
    """Return whether an extent of a new shape is taken to be that of the array at its place: one that is an argument
    is, which each call checks."""
    if wanted is None or are_equal(frame, size, wanted):
        return True
    parameter = frame.kernel.parameters.get(wanted.name) if isinstance(wanted, ParameterValue) else None
    return parameter is not None and isinstance(parameter.source, Argument)


def _regrouped(call: ArrayCall, array: ArrayValue, wanted: Sequence[Expression | None]) -> ArrayValue:
    """The elements in the order of their subscripts in a new array of another shape."""
    frame = call.frame
    if None in wanted:
        rest = _rest(call, array, [size for size in wanted if size is not None])
        wanted = [rest if size is None else size for size in wanted]
    for size in wanted:
        if size is not None:
            text = f"the extent {size_text(frame.kernel, size)} of a new shape is negative"
            remedy = "pass the extent, or write -1 itself where it follows from the others: A.reshape(-1, 2)"
            reason = "what -1 stands for must be known when the kernel is compiled"
            require(frame, call.node, Compare(">=", size, ZERO), text, (f"{text}: ", size), remedy, reason=reason)
    shape = tuple(extent(frame, size) for size in wanted if size is not None)
    old, new = size_of(frame, array.shape), size_of(frame, shape)
    remedy = "name a shape of as many elements as the array has; -1 stands for the extent that makes it so"
    agree(frame, call.node, old, new, (array.shape, shape), "an array and its new shape,", remedy)

    copy = kept(frame, call.node, in_shape(frame, array, shape), "reshaped")
    if array.region is None or array.is_new:
        return copy
    return ArrayValue(shape, copy.dtype, copy.at, view_of=array.region.array, copied=(array, copy))


def _rest(call: ArrayCall, array: ArrayValue, wanted: Sequence[Expression]) -> Expression:
    """The extent that -1 stands for in a shape, beside others."""
    frame, left, divisor = call.frame, list(array.shape), 1
    for size in wanted:
        same = next((place for place, each in enumerate(left) if are_equal(frame, each, size)), None)
        known = constant_of(size)
        if same is not None:
            left.pop(same)
        elif known is not None and known > 0:
            divisor *= known
        else:
            raise call.refusal("a reshape that joins or splits dimensions, with -1", "write the extent in place of -1")
    total = size_of(frame, left)
    text = f"{call.name} of {size_text(frame.kernel, total)} elements into rows of {divisor}"
    remainder = divided("%", total, integer(divisor))
    require(frame, call.node, Compare("==", remainder, ZERO), text, (), "pass arrays of a multiple of as many elements")
    return quotient(total, divisor)


def size_of(frame: Frame, shape: Sequence[Expression]) -> Expression:
    """Return how many elements a shape has, as a parameter where that is a product of several."""
    size: Expression = ONE
    for extent_of_one in shape:
        size = product_of(size, extent_of_one)
    return with_products(frame, Value(size, weak=True)).expression


@compiles(np.roll, "a", "shift", "axis")
def _roll(call: ArrayCall) -> Operand:
    """Rolled along axes that are named, or as one row: a choice between two places for each element."""
    array = call.array("a")
    shifts, named = (_several(call, name) for name in ("shift", "axis"))
    if named is None or shifts is None:
        flat = array if array.ndim == 1 else reshaped(call, array, [None])
        rolled = _rolled(call, flat, 0, call.extent(call.argument("shift")))
        return rolled if array.ndim == 1 else reshaped(call, rolled, array.shape)
    if len(shifts) != len(named):
        raise call.refusal("np.roll with more axes than shifts, or fewer", "name a shift for each axis")
    for shift, axis in zip(shifts, named, strict=True):
        place = call.of_constant(axis)
        if not isinstance(place, int) or not -array.ndim <= place < array.ndim:
            raise call.refusal(f"an axis of np.roll of an array of {array.ndim} dimensions", "name one that there is")
        array = _rolled(call, array, place % array.ndim, call.extent(shift))
    return array


def _several(call: ArrayCall, name: str) -> list[ast.expr] | None:
    """The parts of an argument that is a tuple, or the argument; None where it is not given."""
    if not call.given(name):
        return None
    node = call.argument(name)
    return node.elts if isinstance(node, ast.Tuple | ast.List) else [node]


def _rolled(call: ArrayCall, array: ArrayValue, place: int, shift: Expression) -> ArrayValue:
    """An array rolled along one axis, by no more than it has elements."""
    frame, size = call.frame, array.shape[place]
    text = f"np.roll by {size_text(frame.kernel, shift)} of an extent of {size_text(frame.kernel, size)}"
    known = constant_of(shift)
    for condition in (Compare(">=", size, shift), Compare(">=", add(size, shift), ZERO)):
        if known is None or abs(known) != 1:  # an array without elements may be rolled by one
            remedy = "pass arrays that have more elements, or roll by shift % n"
            reason = "elements are rolled over one end of an array, and once"
            require(frame, call.node, condition, text, (), remedy, reason=reason)

    def at(subscripts: Subscripts) -> Value:
        index = subtract(subscripts[place], shift)

        def found(side: Expression) -> Value:
            moved = list(subscripts)
            moved[place] = side
            return array.at(moved)

        value = found(index)
        if known is None or known > 0:
            before = Value(Compare("<", index, ZERO), weak=True)
            value = promotion.select(before, found(add(index, size)), value)
        if known is None or known < 0:
            after = Value(Compare(">=", index, size), weak=True)
            value = promotion.select(after, found(subtract(index, size)), value)
        return value

    return ArrayValue(array.shape, array.dtype, at, is_costly=array.is_costly)


@compiles(np.broadcast_to, "a", "shape")
def _broadcast_to(call: ArrayCall) -> Operand:
    array, shape = call.array("a"), call.shape("shape")
    missing = len(shape) - array.ndim
    if missing < 0:
        raise call.refusal("a shape of fewer dimensions than the array has", "name all dimensions")
    for place, size in enumerate(array.shape):
        if not is_one(call.frame, size):
            agree(call.frame, call.node, size, shape[missing + place], (array.shape, shape))
    found = stretched(call.frame, array, shape)
    return found if array.region is None else replace(found, region=None, view_of=array.region.array)


def _triangle(call: ArrayCall, operator: str) -> Operand:
    array = call.array("a")
    if array.ndim != 2:
        raise call.refusal("a triangle of an array that is no matrix", "loop over the matrices")
    diagonal = call.constant("k", 0)

    def at(subscripts: Subscripts) -> Value:
        test = Compare(operator, subtract(subscripts[1], subscripts[0]), integer(diagonal))
        return promotion.select(Value(test, weak=True), array.at(subscripts), promotion.constant(0))

    return ArrayValue(array.shape, array.dtype, at, is_costly=array.is_costly)


@compiles(np.triu, "a", "k")
def _triu(call: ArrayCall) -> Operand:
    return _triangle(call, ">=")


@compiles(np.tril, "a", "k")
def _tril(call: ArrayCall) -> Operand:
    return _triangle(call, "<=")
