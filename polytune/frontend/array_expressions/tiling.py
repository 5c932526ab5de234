"""Arrays made of an array again and again, or with something around it: tile, repeat, pad, kron and their like."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.affine_arithmetic import (
    ONE,
    ZERO,
    add,
    constant_of,
    integer,
    maximum,
    minimum,
    subtract,
)
from polytune.frontend.array_expressions.calls import ArrayCall, compiles
from polytune.frontend.array_expressions.counted import counted as elements_counted
from polytune.frontend.array_expressions.data_sizes import room_by_arguments
from polytune.frontend.array_expressions.elementwise import arithmetic, as_array, computed, elementwise
from polytune.frontend.array_expressions.joining import joined, joined_operands
from polytune.frontend.array_expressions.rearrangements import reshaped, size_of
from polytune.frontend.array_expressions.row_major import divided
from polytune.frontend.array_expressions.shapes import agree
from polytune.frontend.array_expressions.sizes import extent, require, size_text
from polytune.frontend.array_expressions.temporaries import kept
from polytune.frontend.array_expressions.values import ArrayValue, Axis, Operand, Shape, Subscripts
from polytune.frontend.array_expressions.views import permuted, rearranged
from polytune.frontend.expression import Compare, Expression
from polytune.frontend.promotion import INTEGERS, Value
from polytune.frontend.syntax.refusals import counted


def _in_memory(call: ArrayCall, array: ArrayValue) -> ArrayValue:
    """An array elements of which are read again and again, computed once."""
    return array if array.region is not None or not array.shape else kept(call.frame, call.node, array)


def _with_shape(call: ArrayCall, array: ArrayValue, dimensions: Sequence[int | None]) -> ArrayValue:
    """The array with its dimensions at other places, and with extents of 1 where there is None."""
    axes = [Axis(ZERO, dimensions.index(place)) for place in range(array.ndim)]
    shape = tuple(ONE if each is None else array.shape[each] for each in dimensions)
    return rearranged(call.frame.kernel, array, axes, shape)


@compiles(np.tile, "A", "reps")
def _tile(call: ArrayCall) -> Operand:
    array = _in_memory(call, call.array("A"))
    counts = call.shape("reps")
    ndim = max(array.ndim, len(counts))
    counts = (*(ONE,) * (ndim - len(counts)), *counts)
    old: Shape = (*(ONE,) * (ndim - array.ndim), *array.shape)
    shape = tuple(size_of(call.frame, pair) for pair in zip(old, counts, strict=True))
    frame = call.frame

    def at(subscripts: Subscripts) -> Value:
        places = [
            subscript if constant_of(count) == 1 else divided("%", subscript, size)
            for subscript, count, size in zip(subscripts, counts, old, strict=True)
        ]
        return array.at(places[ndim - array.ndim :])

    return kept(frame, call.node, ArrayValue(shape, array.dtype, at), "tiled")


@compiles(np.repeat, "a", "repeats", "axis")
def _repeat(call: ArrayCall) -> Operand:
    frame = call.frame
    array = call.array("a")
    axis = call.axis("axis", array.ndim)
    if axis is None and array.ndim != 1:
        array = reshaped(call, array, [None])
    array, place = _in_memory(call, array), axis or 0
    given = call.value("repeats")
    if isinstance(given, ArrayValue) and given.ndim:
        return _repeated_by_data(call, array, given)
    count = call.size(call.argument("repeats"))
    size = extent(frame, size_of(frame, (array.shape[place], count)))

    def at(subscripts: Subscripts) -> Value:
        return array.at([*subscripts[:place], divided("//", subscripts[place], count), *subscripts[place + 1 :]])

    shape = (*array.shape[:place], size, *array.shape[place + 1 :])
    return kept(frame, call.node, ArrayValue(shape, array.dtype, at), "repeated")


def _repeated_by_data(call: ArrayCall, array: ArrayValue, repeats: ArrayValue) -> Operand:
    """``np.repeat`` with a number for each element."""
    if array.ndim != 1 or repeats.ndim != 1 or repeats.dtype not in INTEGERS:
        raise call.refusal(
            f"np.repeat of {counted(array.ndim, 'dimension')} by an array of {repeats.dtype}",
            "repeat a row of numbers, by as many integers",
        )
    agree(call.frame, call.node, array.shape[0], repeats.shape[0], (array.shape, repeats.shape), "an array and repeats")
    most = room_by_arguments(call.frame)
    return elements_counted(call.frame, call.node, "numpy.repeat *", [array, repeats], [((most,), array.dtype)])[0]


@compiles(np.kron, "a", "b")
def _kron(call: ArrayCall) -> Operand:
    frame = call.frame
    left, right = (_in_memory(call, call.array(name)) for name in ("a", "b"))
    if left.ndim != right.ndim:
        raise call.refusal("np.kron of arrays of different numbers of dimensions", "give them as many: A[None]")
    shape = tuple(extent(frame, size_of(frame, pair)) for pair in zip(left.shape, right.shape, strict=True))

    def part(array: ArrayValue, operator: str) -> ArrayValue:
        def at(subscripts: Subscripts) -> Value:
            pairs = zip(subscripts, right.shape, strict=True)
            return array.at([divided(operator, subscript, size) for subscript, size in pairs])

        return ArrayValue(shape, array.dtype, at)

    product = arithmetic(frame, call.node, "*", part(left, "//"), part(right, "%"))
    return kept(frame, call.node, as_array(computed(frame, call.node, product)), "product")


@compiles(np.pad, "array", "pad_width", "mode", "constant_values")
def _pad(call: ArrayCall) -> Operand:
    array = call.array("array")
    mode = call.constant("mode", "constant")
    if mode not in ("constant", "edge", *_PAST_THE_EDGE):
        raise call.refusal(
            f"the mode {mode!r} of np.pad",
            "use 'constant', 'edge', 'wrap', 'reflect' or 'symmetric', or assign the parts of an array",
        )
    if mode != "constant":
        array = _in_memory(call, array)
    widths = _widths(call, array.ndim)
    for size, pair in zip(array.shape, widths, strict=True):
        for width in pair if mode in _PAST_THE_EDGE else ():
            text = f"np.pad by {size_text(call.frame.kernel, width)} of {size_text(call.frame.kernel, size)} elements"
            most = subtract(size, ONE) if mode == "reflect" else size
            remedy, reason = "pass arrays with more elements", "what is beyond an edge is taken from inside, and once"
            require(call.frame, call.node, Compare("<=", width, most), text, (), remedy, reason=reason)
    shape = tuple(add(add(size, before), after) for size, (before, after) in zip(array.shape, widths, strict=True))
    around = promotion.constant(0)
    if call.given("constant_values"):
        value = call.value("constant_values")
        if isinstance(value, ArrayValue):
            raise call.refusal("np.pad with several values", "pass one number")
        around = value

    def at(subscripts: Subscripts) -> Value:
        inner = [subtract(each, before) for each, (before, _) in zip(subscripts, widths, strict=True)]
        if mode in _PAST_THE_EDGE:
            return _elements_past_the_edge(array, mode, inner)
        if mode == "edge":
            lasts = [subtract(size, ONE) for size in array.shape]
            return array.at([minimum(maximum(each, ZERO), last) for each, last in zip(inner, lasts, strict=True)])
        found = array.at(inner)
        for each, size, (before, after) in zip(inner, array.shape, widths, strict=True):
            if after != ZERO:
                found = _if(Compare("<", each, size), found, around, array.dtype)
            if before != ZERO:
                found = _if(Compare(">=", each, ZERO), found, around, array.dtype)
        return found

    return ArrayValue(shape, array.dtype, at)


_PAST_THE_EDGE = ("wrap", "reflect", "symmetric")


def _elements_past_the_edge(array: ArrayValue, mode: str, subscripts: Sequence[Expression]) -> Value:
    """An element of an array that goes on past its edges: again from the other end, or backwards.

    Args:
        array: the array.
        mode: that of ``np.pad``.
        subscripts: may be past the edges by no more than there are elements.
    """
    if mode != "wrap":
        places = []
        for each, size in zip(subscripts, array.shape, strict=True):
            # The edge itself is there twice where it is symmetric.
            before, after = (ZERO, integer(2)) if mode == "reflect" else (ONE, ONE)
            folded = maximum(each, subtract(subtract(ZERO, before), each))
            places.append(minimum(folded, subtract(subtract(add(ZERO, size, 2), after), folded)))
        return array.at(places)

    def chosen(places: list[Expression], dimension: int) -> Value:
        if dimension == array.ndim:
            return array.at(places)
        place, size = subscripts[dimension], array.shape[dimension]
        found = chosen([*places, place], dimension + 1)
        found = _if(
            Compare("<", place, size), found, chosen([*places, subtract(place, size)], dimension + 1), array.dtype
        )
        return _if(Compare(">=", place, ZERO), found, chosen([*places, add(place, size)], dimension + 1), array.dtype)

    return chosen([], 0)


def _if(test: Expression, then: Value, otherwise: Value, dtype: str) -> Value:
    values = (each if each.dtype == "bool" == dtype else promotion.cast(each, dtype) for each in (then, otherwise))
    return promotion.select(Value(test, weak=True), *values)


def _widths(call: ArrayCall, ndim: int) -> list[tuple[Expression, Expression]]:
    """Return how many elements are before and after those of each dimension."""
    node = call.argument("pad_width")
    if not isinstance(node, ast.Tuple | ast.List):
        width = call.size(node)
        return [(width, width)] * ndim
    pairs = [each.elts if isinstance(each, ast.Tuple | ast.List) else [each] for each in node.elts]
    if all(len(pair) == 1 for pair in pairs) and len(pairs) == 2:
        pairs = [[pairs[0][0], pairs[1][0]]]
    if len(pairs) == 1:
        pairs *= ndim
    if len(pairs) != ndim or any(len(pair) != 2 for pair in pairs):
        raise call.refusal(
            f"these widths of np.pad of an array of {ndim} dimensions", "write a pair for each dimension"
        )
    return [(call.size(first), call.size(second)) for first, second in pairs]


@compiles(np.rot90, "m", "k")
def _rot90(call: ArrayCall) -> Operand:
    array, turns = call.array("m"), call.constant("k", 1)
    if array.ndim != 2 or not isinstance(turns, int):
        raise call.refusal("np.rot90 of an array that is no matrix", "turn the matrices in a loop")
    kernel = call.frame.kernel
    turned = array
    for _ in range(turns % 4):
        turned = permuted(kernel, turned, (1, 0))
        axes = [Axis(subtract(turned.shape[0], ONE), 0, -1), Axis(ZERO, 1)]
        turned = rearranged(kernel, turned, axes, turned.shape)
    return turned


@compiles(np.column_stack, "arrays")
def _column_stack(call: ArrayCall) -> Operand:
    arrays = joined_operands(call, "arrays")
    return joined(call, [_with_shape(call, each, (0, None)) if each.ndim == 1 else each for each in arrays], 1)


@compiles(np.dstack, "arrays")
def _dstack(call: ArrayCall) -> Operand:
    arrays = joined_operands(call, "arrays")
    shapes: dict[int, tuple[int | None, ...]] = {1: (None, 0, None), 2: (0, 1, None)}
    return joined(call, [_with_shape(call, a, shapes[a.ndim]) if a.ndim in shapes else a for a in arrays], 2)


@compiles(np.append, "arr", "values", "axis")
def _append(call: ArrayCall) -> Operand:
    arrays = [call.array("arr"), call.array("values")]
    axis = call.axis("axis", arrays[0].ndim)
    if axis is None:
        arrays = [reshaped(call, each, [None]) if each.ndim != 1 else each for each in arrays]
    return joined(call, arrays, axis or 0)


@compiles(np.tri, "N", "M", "k", "dtype")
def _tri(call: ArrayCall) -> Operand:
    rows = extent(call.frame, call.extent(call.argument("N")))
    columns = extent(call.frame, call.extent(call.argument("M"))) if call.given("M") else rows
    diagonal, dtype = call.constant("k", 0), call.dtype("dtype", "float64")

    def at(subscripts: Subscripts) -> Value:
        test = Value(Compare("<=", subtract(subscripts[1], subscripts[0]), integer(diagonal)), weak=True)
        return promotion.select(test, *(promotion.cast(promotion.constant(each), dtype) for each in (1, 0)))

    return ArrayValue((rows, columns), dtype, at)


@compiles(np.atleast_1d, "a")
def _atleast_1d(call: ArrayCall) -> Operand:
    array = call.array("a")
    return array if array.ndim else _with_shape(call, array, (None,))


@compiles(np.atleast_2d, "a")
def _atleast_2d(call: ArrayCall) -> Operand:
    array = call.array("a")
    return array if array.ndim > 1 else _with_shape(call, array, (None, 0) if array.ndim else (None, None))


@compiles(np.cross, "a", "b")
def _cross(call: ArrayCall) -> Operand:
    """Products of vectors with three components, in the last dimension."""
    left, right = (_in_memory(call, call.array(name)) for name in ("a", "b"))
    for array in (left, right):
        if not array.ndim or constant_of(array.shape[-1]) not in (None, 3):
            raise call.refusal("np.cross of vectors that have no three components", "write out the product")
        call.require_extent(array.shape[-1], 3, "np.cross")

    def turned(array: ArrayValue, places: int) -> ArrayValue:
        def at(subscripts: Subscripts) -> Value:
            return array.at([*subscripts[:-1], divided("%", add(subscripts[-1], integer(places)), integer(3))])

        return ArrayValue((*array.shape[:-1], integer(3)), array.dtype, at)

    def product(values: list[Value]) -> Value:
        first, second, third, fourth = map(promotion.number, values)
        return promotion.binary("-", promotion.binary("*", first, second), promotion.binary("*", third, fourth))

    operands = [turned(left, 1), turned(right, 2), turned(left, 2), turned(right, 1)]
    return elementwise(call.frame, call.node, product, operands)


@compiles(np.take, "a", "indices", "axis")
def _take(call: ArrayCall) -> Operand:
    """``A[:, indices]``; without an axis ``A.ravel()[indices]``."""
    taken: ast.expr | None = call.arguments.get("a")
    if taken is None:  # of the method .take
        assert isinstance(call.node.func, ast.Attribute)
        taken = call.node.func.value
    array = call.array("a")
    axis = call.axis("axis", array.ndim)
    if axis is None and array.ndim != 1:
        taken = ast.Call(ast.Attribute(taken, "ravel", ast.Load()), [], [])
    items: list[ast.expr] = [ast.Slice()] * (axis or 0)
    index = call.argument("indices")
    subscript = ast.Tuple([*items, index], ast.Load()) if items else index
    node = ast.Subscript(taken, subscript, ast.Load())
    return call.evaluate(call.frame, ast.fix_missing_locations(ast.copy_location(node, call.node)))
