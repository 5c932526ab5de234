"""New arrays: empty ones, filled ones, copies, and those that are computed from their subscripts."""

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
    normal,
    quotient,
    subtract,
)
from polytune.frontend.array_expressions.calls import ArrayCall, compiles
from polytune.frontend.array_expressions.elementwise import cast_array, computed, strong
from polytune.frontend.array_expressions.shapes import stretched
from polytune.frontend.array_expressions.sizes import extent, require, size_text
from polytune.frontend.array_expressions.temporaries import allocate, assigned, emit, kept, over, perform
from polytune.frontend.array_expressions.values import ArrayValue, Operand, Shape, Subscripts
from polytune.frontend.array_expressions.views import in_memory
from polytune.frontend.expression import Compare, Iterator
from polytune.frontend.program import Node
from polytune.frontend.promotion import Value, constant

NAMES = ("array", "empty", "ndarray", "zeros", "ones", "full", "eye", "identity", "arange", "linspace", "tri")
"""The functions that make arrays of numbers alone."""


def _filled(call: ArrayCall, shape: Shape, dtype: str, value: ArrayValue | Value | None) -> ArrayValue:
    """A new array; without a value its elements are any numbers."""
    frame, node = call.frame, call.node
    for size in shape:
        known = constant_of(size)
        if known is not None and known < 0:
            raise call.refusal(f"the extent {known} of an array", "an extent is 0 or more")
        text = f"the extent {size_text(frame.kernel, size)} of an array is negative"
        require(frame, node, Compare(">=", size, ZERO), text, (f"{text}: ", size), "pass sizes of 0 or more")
    region = allocate(frame, node, shape, dtype)
    if value is not None:
        source = stretched(frame, value, shape) if isinstance(value, ArrayValue) else value

        def body(iterators: tuple[Iterator, ...]) -> Sequence[Node]:
            element = source.at(iterators) if isinstance(source, ArrayValue) else source
            return (perform(frame, node, assigned(frame, region, iterators, element)),)

        emit(frame, node, over(frame, node, shape, body))
    return in_memory(frame.kernel, region, shape, is_new=True)


def _made(call: ArrayCall, value: Value | None) -> Operand:
    return _filled(call, call.shape("shape"), call.dtype("dtype", "float64"), value)


@compiles(np.empty, "shape", "dtype")
def _empty(call: ArrayCall) -> Operand:
    return _made(call, None)


@compiles(np.ndarray, "shape", "dtype")
def _ndarray(call: ArrayCall) -> Operand:
    return _made(call, None)


@compiles(np.zeros, "shape", "dtype")
def _zeros(call: ArrayCall) -> Operand:
    return _made(call, constant(0))


@compiles(np.ones, "shape", "dtype")
def _ones(call: ArrayCall) -> Operand:
    return _made(call, constant(1))


@compiles(np.full, "shape", "fill_value", "dtype")
def _full(call: ArrayCall) -> Operand:
    value = call.value("fill_value")
    return _filled(call, call.shape("shape"), call.dtype("dtype", value.dtype), value)


def _like(call: ArrayCall, value: ArrayValue | Value | None) -> Operand:
    model = call.array("a")
    shape = call.shape("shape") if call.given("shape") else model.shape
    return _filled(call, shape, call.dtype("dtype", model.dtype), value)


@compiles(np.empty_like, "a", "dtype", "order", "subok", "shape")
def _empty_like(call: ArrayCall) -> Operand:
    return _like(call, None)


@compiles(np.zeros_like, "a", "dtype", "order", "subok", "shape")
def _zeros_like(call: ArrayCall) -> Operand:
    return _like(call, constant(0))


@compiles(np.ones_like, "a", "dtype", "order", "subok", "shape")
def _ones_like(call: ArrayCall) -> Operand:
    return _like(call, constant(1))


@compiles(np.full_like, "a", "fill_value", "dtype", "order", "subok", "shape")
def _full_like(call: ArrayCall) -> Operand:
    return _like(call, call.value("fill_value"))


@compiles(np.copy, "a", "order")
def _copy(call: ArrayCall) -> Operand:
    return kept(call.frame, call.node, call.array("a"), "copy")


@compiles(np.array, "a", "dtype", "copy")
def _array(call: ArrayCall) -> Operand:
    if "a" in call.arguments and isinstance(call.arguments["a"], ast.List | ast.Tuple):
        return _listed(call, call.arguments["a"])
    return _converted_copy(call)


def _listed(call: ArrayCall, node: ast.List | ast.Tuple) -> Operand:
    """``np.array([[a, b], [c, d]])``, of numbers that are written out."""
    rows = [each.elts if isinstance(each, ast.List | ast.Tuple) else None for each in node.elts]
    lengths = {None if row is None else len(row) for row in rows}
    if len(lengths) != 1:
        raise call.refusal("a list of lists of different lengths, or of nothing", "write np.empty((n, m))")
    columns = lengths.pop()
    cells = node.elts if columns is None else [cell for row in rows for cell in row or ()]
    values = [promotion.number(_number(call, cell)) for cell in cells]
    kind = promotion.kind_of(values[0]) if values else promotion.ScalarKind("float64", True)
    for value in values:
        kind = promotion.join(kind, promotion.kind_of(value))
    frame, syntax = call.frame, call.node
    shape = (integer(len(node.elts)),) if columns is None else (integer(len(node.elts)), integer(columns))
    region = allocate(frame, syntax, shape, call.dtype("dtype", kind.dtype))
    for place, value in enumerate(values):
        subscripts = [integer(place)] if columns is None else [integer(part) for part in divmod(place, columns)]
        emit(frame, syntax, (perform(frame, syntax, assigned(frame, region, subscripts, value)),))
    return in_memory(frame.kernel, region, shape, is_new=True)


def _number(call: ArrayCall, node: ast.expr) -> Value:
    value = computed(call.frame, node, call.evaluate(call.frame, node))
    if isinstance(value, ArrayValue):
        raise call.refusal("a list of arrays", "write np.stack((A, B)), or np.concatenate")
    return value


@compiles(np.asarray, "a", "dtype")
@compiles(np.ascontiguousarray, "a", "dtype")
def _asarray(call: ArrayCall) -> Operand:
    array = call.array("a")
    return array if call.dtype("dtype", array.dtype) == array.dtype else _converted_copy(call)


def _converted_copy(call: ArrayCall) -> Operand:
    array = call.array("a")
    converted = cast_array(call.frame, call.node, array, call.dtype("dtype", array.dtype))
    assert isinstance(converted, ArrayValue)
    return kept(call.frame, call.node, converted, "copy")


@compiles(np.astype, "a", "dtype", "copy")
def _astype(call: ArrayCall) -> Operand:
    """``A.astype(dtype)``, not computed before it is needed; a name for it gets a copy."""
    array = call.value("a")
    call.argument("dtype")
    converted = cast_array(call.frame, call.node, array, call.dtype("dtype", array.dtype))
    if isinstance(converted, ArrayValue) and converted.region is not None:
        return kept(call.frame, call.node, converted, "copy")
    return converted


@compiles(np.eye, "N", "M", "k", "dtype")
def _eye(call: ArrayCall) -> Operand:
    rows = call.extent(call.argument("N"))
    columns = call.extent(call.argument("M")) if call.given("M") else rows
    diagonal = call.constant("k", 0)

    def at(subscripts: Subscripts) -> Value:
        test = Compare("==", add(subscripts[0], integer(diagonal)), subscripts[1])
        return promotion.select(Value(test, weak=True), constant(1), constant(0))

    shape = tuple(extent(call.frame, size) for size in (rows, columns))
    return _filled(call, shape, call.dtype("dtype", "float64"), ArrayValue(shape, "int64", at))


@compiles(np.identity, "N", "dtype")
def _identity(call: ArrayCall) -> Operand:
    return _eye(call)


@compiles(np.arange, "start", "stop", "step", "dtype")
def _arange(call: ArrayCall) -> Operand:
    """``np.arange`` of integers, with a constant step."""
    frame = call.frame
    if call.given("stop"):
        start, stop = call.argument("start"), call.argument("stop")
        first = call.extent(start)
    else:
        stop, first = call.argument("start"), ZERO
    last, step = call.extent(stop), call.constant("step", 1)
    if not isinstance(step, int) or step == 0:
        raise call.refusal(f"the step {step} of np.arange", "use a constant integer other than 0, or np.linspace")
    distance = subtract(last, first) if step > 0 else subtract(first, last)
    size = extent(frame, quotient(add(distance, integer(abs(step) - 1)), abs(step)))
    dtype = call.dtype("dtype", "int64")

    def at(subscripts: Subscripts) -> Value:
        return strong(promotion.cast(Value(add(first, subscripts[0], step), weak=True), dtype))

    return ArrayValue((size,), dtype, at)


@compiles(np.linspace, "start", "stop", "num", "endpoint", "dtype")
def _linspace(call: ArrayCall) -> Operand:
    """``start + i * ((stop - start) / (num - 1))``, and ``stop`` itself at the end."""
    start, stop = call.value("start"), call.value("stop")
    if not (isinstance(start, Value) and isinstance(stop, Value)):
        raise call.refusal("np.linspace between arrays", "compute the elements: start + step * np.arange(n)")
    size = call.extent(call.arguments["num"]) if call.given("num") else integer(50)
    shape = (extent(call.frame, size),)
    endpoint = bool(call.constant("endpoint", True))
    first, last = (promotion.cast(promotion.number(value), "float64") for value in (start, stop))
    intervals = Value(normal(subtract(size, ONE)) if endpoint else size, weak=True)
    distance = promotion.binary("-", last, first)
    step = promotion.binary("/", distance, promotion.cast(intervals, "float64"))

    def at(subscripts: Subscripts) -> Value:
        count = promotion.cast(Value(subscripts[0], weak=True), "float64")
        value = promotion.binary("+", promotion.binary("*", count, step), first)
        is_first = Value(Compare("==", subscripts[0], ZERO), weak=True)
        value = promotion.select(is_first, first, value)
        if endpoint:
            at_end = promotion.logical(
                "and",
                [
                    Value(Compare("==", subscripts[0], subtract(size, ONE)), weak=True),
                    Value(Compare(">", subscripts[0], ZERO), weak=True),
                ],
            )
            value = promotion.select(at_end, last, value)
        return strong(promotion.cast(value, call.dtype("dtype", "float64")))

    return ArrayValue(shape, call.dtype("dtype", "float64"), at)
