"""New arrays: empty ones, filled ones, copies, and those that are computed from their subscripts."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.affine_arithmetic import (
    ONE,
    ZERO,
    add,
    integer,
    normal,
    quotient,
    subtract,
)
from polytune.frontend.array_expressions.calls import ArrayCall, compiles
from polytune.frontend.array_expressions.comprehension import comprehension
from polytune.frontend.array_expressions.elementwise import as_array, cast_array, computed, strong
from polytune.frontend.array_expressions.readers import Evaluate
from polytune.frontend.array_expressions.shapes import agree, stretched
from polytune.frontend.array_expressions.sizes import extent, require_range
from polytune.frontend.array_expressions.slices import is_none
from polytune.frontend.array_expressions.temporaries import allocate, assigned, emit, kept, over, perform
from polytune.frontend.array_expressions.values import ArrayValue, Operand, Shape, Subscripts
from polytune.frontend.array_expressions.views import in_memory
from polytune.frontend.expression import Compare, Expression, Iterator
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.program import Node
from polytune.frontend.promotion import Value, constant
from polytune.syntax_trees import all_nodes

NAMES = (
    *("array", "empty", "ndarray", "zeros", "ones", "full", "eye", "identity", "arange", "linspace", "tri"),
    *("logspace", "geomspace", "bartlett", "hanning", "hamming", "blackman", "kaiser", "fftfreq", "rfftfreq"),
)
"""The functions that make arrays of numbers alone."""


def _filled(call: ArrayCall, shape: Shape, dtype: str, value: ArrayValue | Value | None) -> ArrayValue:
    """A new array; without a value its elements are any numbers."""
    frame, node = call.frame, call.node
    region = allocate(frame, node, shape, dtype)
    if value is not None:
        require_range(frame, node, value, dtype)
        source = stretched(frame, value, shape) if isinstance(value, ArrayValue) else value

        def body(iterators: tuple[Iterator, ...]) -> Sequence[Node]:
            element = source.at(iterators) if isinstance(source, ArrayValue) else source
            return (perform(frame, node, assigned(frame, region, iterators, element)),)

        emit(frame, node, over(frame, node, shape, body))
    else:
        made = frame.kernel.arrays[region.array]
        frame.kernel.arrays[region.array] = replace(made, renewed=frame.iterators)
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


@compiles(np.array, "a", "dtype", "=copy")
def _array(call: ArrayCall) -> Operand:
    if "a" in call.arguments and isinstance(call.arguments["a"], ast.List | ast.Tuple):
        return _listed(call, call.arguments["a"])
    if "a" in call.arguments and isinstance(call.arguments["a"], ast.ListComp):
        elements = comprehension(call.frame, call.arguments["a"], call.evaluate)
        return elements if not call.given("dtype") else _converted(call, elements)
    array = _array_of(call)
    return array if _is_itself(call, array) else _converted(call, array)


def _array_of(call: ArrayCall) -> ArrayValue:
    """The argument as an array; a number is one that the type asked for can hold."""
    value = call.value("a")
    require_range(call.frame, call.node, value, call.dtype("dtype", value.dtype))
    return as_array(value)


def _is_itself(call: ArrayCall, array: ArrayValue) -> bool:
    """Return whether NumPy gives an array itself, as it is told to copy only what it has to convert."""
    is_told = "copy" in call.arguments and (is_none(call.arguments["copy"]) or not call.constant("copy", True))
    return is_told and call.dtype("dtype", array.dtype) == array.dtype


def _listed(call: ArrayCall, node: ast.List | ast.Tuple) -> Operand:
    """``np.array([[a, b], [c, d]])``, of numbers or arrays that are written out."""
    return display(call.frame, node, call.evaluate, call.dtype("dtype", "") or None)


def display(frame: Frame, node: ast.List | ast.Tuple, evaluate: Evaluate, dtype: str | None = None) -> ArrayValue:
    """The array of what a list has, or a list of lists: numbers, or arrays of one shape.

    Args:
        frame: where it stands.
        node: the list.
        evaluate: reads an expression.
        dtype: the type of the elements; None for the one that all of them can be converted to.

    Raises:
        UnsupportedSourceError: lists in it are of different lengths, or it has numbers and arrays.
    """
    lengths, cells = _cells(frame, node)
    values = [computed(frame, cell, evaluate(frame, cell)) for cell in cells]
    arrays = [as_array(value) for value in values]
    ranks = {array.ndim for array in arrays}
    if len(ranks) > 1:
        raise frame.source.refusal(
            node,
            "a list of arrays of different numbers of dimensions",
            "they make no array",
            "use np.concatenate for arrays one after the other, or np.stack for arrays of one shape",
        )
    first = arrays[0].shape if arrays else ()
    for array in arrays:
        for left, right in zip(first, array.shape, strict=True):
            agree(frame, node, left, right, (first, array.shape), "arrays in one list,")
    shape = (*(integer(length) for length in lengths), *first)
    if dtype is None:
        dtype = _common_type(values)
    for cell, value in zip(cells, values, strict=True):
        require_range(frame, cell, value, dtype)
    region = allocate(frame, node, shape, dtype)
    for place, array in enumerate(arrays):
        outer = [integer(int(part)) for part in np.unravel_index(place, lengths)]
        source = as_array(computed(frame, node, cast_array(frame, node, array, dtype))) if first else array

        def body(
            iterators: tuple[Iterator, ...], source: ArrayValue = source, outer: Sequence[Expression] = outer
        ) -> Sequence[Node]:
            return (perform(frame, node, assigned(frame, region, [*outer, *iterators], source.at(iterators))),)

        emit(frame, node, over(frame, node, first, body))
    return in_memory(frame.kernel, region, shape, is_new=True)


def _common_type(values: Sequence[ArrayValue | Value]) -> str:
    """The type of an array of these elements, or of the elements of these arrays."""
    # Python's numbers do not take the type of others here, as they do in arithmetic.
    return np.result_type(*(np.dtype(value.dtype) for value in values)).name if values else "float64"


def _cells(frame: Frame, node: ast.List | ast.Tuple) -> tuple[tuple[int, ...], list[ast.expr]]:
    """The shape of a list of lists, and what is in it, in order."""
    if not any(isinstance(each, ast.List | ast.Tuple) for each in node.elts):
        return (len(node.elts),), list(node.elts)
    inner = [_cells(frame, each) for each in node.elts if isinstance(each, ast.List | ast.Tuple)]
    if len(inner) < len(node.elts) or len({lengths for lengths, _ in inner}) > 1:
        raise frame.source.refusal(
            node,
            "a list of lists of different lengths",
            "they make no array",
            "write np.zeros((n, m)), and assign its parts",
        )
    return (len(inner), *inner[0][0]), [cell for _, cells in inner for cell in cells]


@compiles(np.asarray, "a", "dtype")
@compiles(np.ascontiguousarray, "a", "dtype")
def _asarray(call: ArrayCall) -> Operand:
    array = _array_of(call)
    return array if call.dtype("dtype", array.dtype) == array.dtype else _converted(call, array)


def _converted(call: ArrayCall, array: ArrayValue) -> Operand:
    converted = cast_array(call.frame, call.node, array, call.dtype("dtype", array.dtype))
    assert isinstance(converted, ArrayValue)
    return kept(call.frame, call.node, converted, "copy")


@compiles(np.astype, "a", "dtype", "=copy")
def _astype(call: ArrayCall) -> Operand:
    """``A.astype(dtype)``, not computed before it is needed; a name for it gets a copy."""
    array = call.value("a")
    call.argument("dtype")
    if isinstance(array, ArrayValue) and _is_itself(call, array):
        return array
    converted = cast_array(call.frame, call.node, array, call.dtype("dtype", array.dtype))
    if isinstance(converted, ArrayValue) and converted.region is not None:
        return kept(call.frame, call.node, converted, "copy")
    return converted


@compiles(np.eye, "N", "M", "k", "dtype")
def _eye(call: ArrayCall) -> Operand:
    rows = call.size(call.argument("N"))
    columns = call.size(call.argument("M")) if call.given("M") else rows
    diagonal = call.constant("k", 0)

    def at(subscripts: Subscripts) -> Value:
        test = Compare("==", add(subscripts[0], integer(diagonal)), subscripts[1])
        return promotion.select(Value(test, weak=True), constant(1), constant(0))

    shape = (rows, columns)
    return _filled(call, shape, call.dtype("dtype", "float64"), ArrayValue(shape, "int64", at))


@compiles(np.identity, "N", "dtype")
def _identity(call: ArrayCall) -> Operand:
    return _eye(call)


@compiles(np.arange, "start", "stop", "step", "dtype")
def _arange(call: ArrayCall) -> Operand:
    """``np.arange`` of integers, with a constant step, or of constants."""
    frame = call.frame
    if (numbers := _floats(call)) is not None:
        return _arange_of_constants(call, numbers)
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
    given = [call.argument(name) for name in ("start", "stop", "step") if call.given(name)]
    # NumPy's numbers of both signs and of 64 bits without one have floats in common.
    is_large = any(call.evaluate(frame, each).dtype == "uint64" for each in given)
    dtype = call.dtype("dtype", "float64" if is_large else "int64")

    def at(subscripts: Subscripts) -> Value:
        return strong(promotion.cast(Value(add(first, subscripts[0], step), weak=True), dtype))

    return ArrayValue((size,), dtype, at)


_ARITHMETIC = (ast.Constant, ast.Name, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop, ast.expr_context)
"""The nodes of expressions for which no statement is needed."""


def _floats(call: ArrayCall) -> dict[str, float] | None:
    """The start, the stop and the step of ``np.arange`` where one of them is a float; None where none is.

    Raises:
        UnsupportedSourceError: one is a float, and another one is not known before the kernel runs.
    """
    nodes = {name: call.arguments[name] for name in ("start", "stop", "step") if call.given(name)}
    plain = {name: all(isinstance(part, _ARITHMETIC) for part in all_nodes(node)) for name, node in nodes.items()}
    values = {name: call.value(name) for name in nodes if plain[name]}
    if not any(isinstance(value, Value) and value.dtype == "float64" for value in values.values()):
        return None
    numbers = {name: value.constant for name, value in values.items() if isinstance(value, Value)}
    if len(numbers) < len(nodes) or any(number is None for number in numbers.values()):
        raise call.refusal(
            "np.arange of floats that are not all constants, whose rounding decides how many there are",
            "compute the elements: start + step * np.arange(n), with an integer n",
        )
    return numbers


def _arange_of_constants(call: ArrayCall, numbers: dict[str, float]) -> ArrayValue:
    """``np.arange`` of constants among which there are floats: ``start``, ``start + step``, and then ``start + i *
    difference`` with the difference of these two, as NumPy has it.

    Args:
        call: the call.
        numbers: its arguments.

    Raises:
        UnsupportedSourceError: they do not say how many elements there are.
    """
    start, stop = (numbers["start"], numbers["stop"]) if "stop" in numbers else (0, numbers["start"])
    step = numbers.get("step", 1)
    try:
        count = max(0, math.ceil((stop - start) / step))
    except (ZeroDivisionError, OverflowError, ValueError):
        what = f"np.arange({start}, {stop}, {step})"
        raise call.refusal(what, "use finite numbers and a step other than 0") from None
    first, second = float(start), float(start + step)
    dtype = call.dtype("dtype", "float64")
    if dtype != "float64":
        raise call.refusal(f"np.arange of floats as {dtype}", f"write np.arange(...).astype(np.{dtype})")

    def at(subscripts: Subscripts) -> Value:
        place = promotion.cast(Value(subscripts[0], weak=True), "float64")
        value = promotion.binary("+", constant(first), promotion.binary("*", place, constant(second - first)))
        if first + (second - first) != second:
            is_second = Value(Compare("==", subscripts[0], ONE), weak=True)
            value = promotion.select(is_second, constant(second), value)
        return strong(value)

    return ArrayValue((extent(call.frame, integer(count)),), "float64", at)


@compiles(np.linspace, "start", "stop", "num", "endpoint", "-retstep", "dtype")
def _linspace(call: ArrayCall) -> Operand:
    """``start + i * ((stop - start) / (num - 1))``, and ``stop`` itself at the end."""
    start, stop = call.value("start"), call.value("stop")
    if not (isinstance(start, Value) and isinstance(stop, Value)):
        raise call.refusal("np.linspace between arrays", "compute the elements: start + step * np.arange(n)")
    size = call.size(call.arguments["num"]) if call.given("num") else integer(50)
    shape = (size,)
    endpoint = bool(call.constant("endpoint", True))
    kind = promotion.join(*(promotion.kind_of(promotion.number(value)) for value in (start, stop)))
    inner = kind.dtype if promotion.is_inexact(kind.dtype) and kind.dtype not in promotion.COMPLEX else "float64"
    first, last = (promotion.cast(promotion.number(value), inner) for value in (start, stop))
    intervals = Value(normal(subtract(size, ONE)) if endpoint else size, weak=True)
    distance = promotion.binary("-", last, first)
    step = promotion.binary("/", distance, promotion.cast(intervals, inner))
    dtype = call.dtype("dtype", inner)

    def at(subscripts: Subscripts) -> Value:
        count = promotion.cast(Value(subscripts[0], weak=True), inner)
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
        if dtype in promotion.INTEGERS:
            value = promotion.call("floor", [value], python=False)
        return strong(promotion.cast(value, dtype))

    return ArrayValue(shape, dtype, at)
