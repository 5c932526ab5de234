"""NumPy's functions that are made of others: averages, tests of being near, differences, and their like."""

from __future__ import annotations

import ast
import builtins
from functools import partial
from typing import Any

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.affine_arithmetic import ONE, ZERO, add, subtract
from polytune.frontend.array_expressions.calls import ArrayCall, Handler, compiles, compiles_several, written_out
from polytune.frontend.array_expressions.elementwise import (
    arithmetic,
    as_array,
    chosen,
    computed,
    elementwise,
)
from polytune.frontend.array_expressions.library import library_call
from polytune.frontend.array_expressions.running import accumulated_extrema
from polytune.frontend.array_expressions.sizes import are_equal, extent, lesser, require, shape_text
from polytune.frontend.array_expressions.temporaries import kept
from polytune.frontend.array_expressions.values import ArrayValue, Axis, Operand, Subscripts
from polytune.frontend.array_expressions.views import rearranged
from polytune.frontend.expression import Compare
from polytune.frontend.promotion import Value, constant
from polytune.frontend.scalars import functions

_REDUCED = ("axis", "keepdims")


@compiles(np.amin, "a", "axis", "-out", "keepdims")
def _amin(call: ArrayCall) -> Operand:
    return call.of(np.min, call.operand("a"), *_REDUCED)


@compiles(np.amax, "a", "axis", "-out", "keepdims")
def _amax(call: ArrayCall) -> Operand:
    return call.of(np.max, call.operand("a"), *_REDUCED)


@compiles(np.ptp, "a", "axis", "-out", "keepdims")
def _ptp(call: ArrayCall) -> Operand:
    array = _kept(call, call.array("a"))
    return arithmetic(call.frame, call.node, "-", call.of(np.max, array, *_REDUCED), call.of(np.min, array, *_REDUCED))


@compiles(np.average, "a", "axis", "weights")
def _average(call: ArrayCall) -> Operand:
    frame, node, array = call.frame, call.node, call.array("a")
    if not call.given("weights"):
        return call.of(np.mean, array, "axis")
    weights = _kept(call, call.array("weights"))
    if weights.ndim != array.ndim:
        raise call.refusal("np.average with weights of another shape", "pass weights of the shape of the array")
    for left, right in zip(array.shape, weights.shape, strict=True):
        shapes = [shape_text(frame.kernel, each.shape) for each in (array, weights)]
        text = f"np.average of {shapes[0]} elements with {shapes[1]} weights"
        require(frame, node, Compare("==", left, right), text, (), "pass weights of the shape of the array")
    products = arithmetic(frame, node, "*", array, weights)
    sums = [call.of(np.sum, operand, "axis") for operand in (products, weights)]
    return arithmetic(frame, node, "/", *sums)


def _kept(call: ArrayCall, array: ArrayValue) -> ArrayValue:
    """An array that is read several times, computed once."""
    return array if array.region is not None or not array.shape else kept(call.frame, call.node, array)


@compiles(np.isclose, "a", "b", "rtol", "atol", "equal_nan")
def _isclose(call: ArrayCall) -> ArrayValue | Value:
    relative, absolute = constant(call.constant("rtol", 1e-5)), constant(call.constant("atol", 1e-8))
    nan_is_equal = bool(call.constant("equal_nan", False))

    def near(values: list[Value]) -> Value:
        left, right = (promotion.cast(each, "float64") if each.is_integer else each for each in values)
        distance = functions.apply(np.abs, [promotion.binary("-", left, right)])
        size = promotion.binary("*", relative, functions.apply(np.abs, [right]))
        is_near = promotion.compare("<=", distance, promotion.binary("+", absolute, size))
        finite = functions.apply(np.isfinite, [right])
        tests = [promotion.logical("and", [is_near, finite]), promotion.compare("==", left, right)]
        if nan_is_equal:
            tests.append(promotion.logical("and", [functions.apply(np.isnan, [each]) for each in (left, right)]))
        return promotion.logical("or", tests)

    return elementwise(call.frame, call.node, near, [call.value("a"), call.value("b")])


@compiles(np.allclose, "a", "b", "rtol", "atol", "equal_nan")
def _allclose(call: ArrayCall) -> Operand:
    return call.of(np.all, as_array(computed(call.frame, call.node, _isclose(call))))


@compiles(np.array_equal, "a1", "a2", "equal_nan")
def _array_equal(call: ArrayCall) -> Operand:
    """Return whether all elements are equal, and the shapes, which each call decides."""
    frame, node = call.frame, call.node
    left, right = call.array("a1"), call.array("a2")
    if left.ndim != right.ndim:
        return constant(False)
    same = [
        promotion.compare("==", Value(one, weak=True), Value(other, weak=True))
        for one, other in zip(left.shape, right.shape, strict=True)
        if not are_equal(frame, one, other)
    ]
    nan_is_equal = bool(call.constant("equal_nan", False))

    def are_same(values: list[Value]) -> Value:
        tests = [promotion.compare("==", *(promotion.number(each) for each in values))]
        if nan_is_equal:
            tests.append(promotion.logical("and", [functions.apply(np.isnan, [each]) for each in values]))
        return promotion.logical("or", tests) if len(tests) > 1 else tests[0]

    # Elements that only one of the arrays has are not compared.
    shape = tuple(lesser(frame, one, other) for one, other in zip(left.shape, right.shape, strict=True))
    parts = [ArrayValue(shape, side.dtype, side.at, is_costly=side.is_costly) for side in (left, right)]
    found = computed(frame, node, call.of(np.all, as_array(elementwise(frame, node, are_same, parts))))
    assert isinstance(found, Value)
    return promotion.logical("and", [*same, promotion.truth(found)]) if same else found


@compiles(np.nan_to_num, "x", "copy", "nan", "posinf", "neginf")
def _nan_to_num(call: ArrayCall) -> Operand:
    array = call.value("x")
    if not call.constant("copy", True):
        raise call.refusal(f"{call.name} with copy=False, which changes its argument", f"write A[:] = {call.name}(A)")
    if not promotion.is_inexact(array.dtype):
        return elementwise(call.frame, call.node, lambda values: values[0], [array])
    if array.dtype in promotion.COMPLEX:
        raise call.refusal("np.nan_to_num of complex numbers", "do it for .real and .imag")
    limits = np.finfo(array.dtype)
    nan, most = call.constant("nan", 0.0), call.constant("posinf", float(limits.max))
    least = call.constant("neginf", float(limits.min))

    def replaced(values: list[Value]) -> Value:
        (value,) = values
        above = promotion.select(promotion.compare("==", value, constant(np.inf)), constant(most), value)
        below = promotion.select(promotion.compare("==", value, constant(-np.inf)), constant(least), above)
        return promotion.select(functions.apply(np.isnan, [value]), constant(nan), below)

    return elementwise(call.frame, call.node, replaced, [array])


@compiles(np.select, "condlist", "choicelist", "default")
def _select(call: ArrayCall) -> Operand:
    tests, choices = (call.argument(name) for name in ("condlist", "choicelist"))
    if not isinstance(tests, ast.List | ast.Tuple) or not isinstance(choices, ast.List | ast.Tuple):
        raise call.refusal("np.select of something other than lists", "write the lists: np.select([m], [A], 0.0)")
    if len(tests.elts) != len(choices.elts):
        raise call.refusal("np.select with lists of different lengths", "write a choice for each condition")
    values = [call.evaluate(call.frame, node) for node in (*tests.elts, *choices.elts)]
    last = call.evaluate(call.frame, call.arguments["default"]) if call.given("default") else constant(0)
    count = len(tests.elts)
    found: Operand = last
    for test, choice in zip(reversed(values[:count]), reversed(values[count:]), strict=True):
        found = chosen(call.frame, call.node, test, choice, found)
    return found


@compiles(np.clip, "a", "a_min", "a_max", "-out", "=min", "=max")
def _clip(call: ArrayCall) -> Operand:
    """``np.minimum(high, np.maximum(x, low))``; None is no bound."""
    found: Operand = call.value("a")
    for function, names in ((np.maximum, ("a_min", "min")), (np.minimum, ("a_max", "max"))):
        for name in names:
            if call.given(name):
                operands = [found, call.value(name)]
                found = elementwise(call.frame, call.node, partial(functions.apply, function), operands)
    return found


@compiles(np.round, "a", "decimals")
def _round(call: ArrayCall) -> Operand:
    decimals = call.constant("decimals", 0)
    if not isinstance(decimals, int) or abs(decimals) > 15:
        raise call.refusal(f"{call.name} to {decimals} decimals", "write a constant integer, of 15 at most")
    array = call.value("a")
    if array.dtype in promotion.COMPLEX or (decimals < 0 and not promotion.is_inexact(array.dtype)):
        raise call.refusal(f"{call.name} of elements of {array.dtype}", "convert them: A.astype(np.float64)")
    scale = constant(10.0 ** abs(decimals))
    first, last = ("*", "/") if decimals > 0 else ("/", "*")

    def rounded(values: list[Value]) -> Value:
        (value,) = map(promotion.number, values)
        if not decimals or value.is_integer:
            return functions.apply(np.round, [value])
        return promotion.binary(last, functions.apply(np.round, [promotion.binary(first, value, scale)]), scale)

    return elementwise(call.frame, call.node, rounded, [array])


compiles(np.around, "a", "decimals")(_round)


@compiles(np.size, "a", "axis")
def _size(call: ArrayCall) -> Operand:
    size: Value = constant(1)
    array = call.array("a")
    axis = call.axis("axis", array.ndim)
    for each in array.shape if axis is None else array.shape[axis : axis + 1]:
        size = promotion.binary("*", size, Value(each, weak=True))
    return size


@compiles(np.ndim, "a")
def _ndim(call: ArrayCall) -> Operand:
    return constant(call.array("a").ndim)


_REDUCTIONS: dict[np.ufunc, Any] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.minimum: np.min,
    np.maximum: np.max,
    np.logical_and: np.all,
    np.logical_or: np.any,
}
_ACCUMULATIONS: dict[np.ufunc, Any] = {np.add: np.cumsum, np.multiply: np.cumprod}


def _accumulated_extrema(ufunc: np.ufunc, call: ArrayCall) -> Operand:
    array = call.array("array")
    if array.ndim and array.dtype != "bool" and array.dtype not in promotion.COMPLEX:
        return accumulated_extrema(call, ufunc)
    axis = call.axis("axis", array.ndim, 0)
    text = f"numpy.{ufunc.__name__}.accumulate * axis={axis}"
    return library_call(call.frame, call.node, text, [array], [(array.shape, array.dtype)])[0]


def method_along_axis(ufunc: np.ufunc, name: str) -> tuple[tuple[str, ...], Handler] | None:
    """The parameters of ``ufunc.reduce`` or ``ufunc.accumulate``, and what compiles calls of it; None where nothing
    does.  They go along the first axis where none is named.

    Args:
        ufunc: NumPy's function of elements.
        name: the method's.
    """
    if name == "accumulate" and ufunc in (np.minimum, np.maximum):
        return ("array", "axis"), partial(_accumulated_extrema, ufunc)
    function = (_REDUCTIONS if name == "reduce" else _ACCUMULATIONS).get(ufunc)
    if function is None:
        return None

    def handler(call: ArrayCall) -> Operand:
        first = {} if "axis" in call.arguments else {"axis": ast.copy_location(ast.Constant(0), call.node)}
        return call.of(function, call.operand("array"), *_REDUCED, **first)

    return ("array", "axis", "keepdims") if name == "reduce" else ("array", "axis"), handler


# Python's functions of all elements of an array of one dimension, or of its rows


def _of_rows(call: ArrayCall, function: object, *, rows: bool, **given: ast.expr) -> Operand:
    array = call.array("iterable")
    if not array.ndim or (array.ndim > 1 and not rows):
        raise call.refusal(f"{call.name} of an array of {array.ndim} dimensions", "use NumPy's function of that name")
    return call.of(function, array, axis=ast.copy_location(ast.Constant(0), call.node), **given)


@compiles(builtins.sum, "iterable")
def _python_sum(call: ArrayCall) -> Operand:
    """``0 + A[0] + A[1] + ...``, in the type of the elements; of a list, in the type that they take in arithmetic."""
    node = written_out(call.frame, call.argument("iterable")) if call.receiver is None else call.node
    if isinstance(node, ast.List | ast.Tuple) and not any(isinstance(each, ast.Starred) for each in node.elts):
        total: ast.expr = ast.Constant(0)
        for each in node.elts:
            total = ast.BinOp(total, ast.Add(), each)
        return call.evaluate(call.frame, ast.fix_missing_locations(ast.copy_location(total, node)))
    elements = call.array("iterable")
    dtype = np.result_type(elements.dtype, 0)  # not the wider integers that NumPy's sum has
    name = ast.Constant(dtype.name)
    return _of_rows(call, np.sum, rows=True, dtype=ast.copy_location(name, call.node))


@compiles(builtins.any, "iterable")
def _python_any(call: ArrayCall) -> Operand:
    return _of_rows(call, np.any, rows=False)


@compiles(builtins.all, "iterable")
def _python_all(call: ArrayCall) -> Operand:
    return _of_rows(call, np.all, rows=False)


# Neighbours along an axis


def _shifted(call: ArrayCall, array: ArrayValue, axis: int) -> tuple[ArrayValue, ArrayValue]:
    """The array without its first elements along an axis, and without its last ones."""
    shape = list(array.shape)
    shape[axis] = extent(call.frame, subtract(array.shape[axis], ONE))
    sides = []
    for offset in (ONE, ZERO):
        axes = [Axis(offset if place == axis else ZERO, place) for place in range(array.ndim)]
        sides.append(rearranged(call.frame.kernel, array, axes, tuple(shape)))
    return sides[0], sides[1]


@compiles(np.trapezoid, "y", "x", "dx", "axis")
def _trapezoid(call: ArrayCall) -> Operand:
    frame, node = call.frame, call.node
    heights = _kept(call, call.array("y"))
    axis = call.axis("axis", heights.ndim, -1) or 0
    widths: Operand = call.value("dx") if call.given("dx") else constant(1.0)
    if call.given("x"):
        places = _kept(call, call.array("x"))
        if places.ndim != 1:
            raise call.refusal("np.trapezoid with places of several dimensions", "pass places of one dimension")
        widths = arithmetic(frame, node, "-", *_shifted(call, places, 0))
        assert isinstance(widths, ArrayValue)
        after = heights.ndim - 1 - axis
        axes = [Axis(ZERO, 0)]
        widths = rearranged(frame.kernel, widths, axes, (widths.shape[0], *(ONE,) * after))
    pairs = arithmetic(frame, node, "+", *_shifted(call, heights, axis))
    areas = arithmetic(frame, node, "/", arithmetic(frame, node, "*", widths, pairs), constant(2.0))
    return call.of(np.sum, areas, axis=ast.copy_location(ast.Constant(axis), node))


@compiles_several(np.gradient, "f", "=axis", "*spacings")
def _gradients(call: ArrayCall) -> list[Operand | None] | None:
    """One for each dimension, where no single one is named; None for those along one."""
    array = _kept(call, call.array("f"))
    axes = call.constant("axis", tuple(range(array.ndim)))
    if not isinstance(axes, tuple) or array.ndim == 1:
        return None
    given = call.arguments.get("spacings")
    nodes = given.elts if isinstance(given, ast.Tuple) else [given] * len(axes)
    if len(nodes) != len(axes) or any(not -array.ndim <= axis < array.ndim for axis in axes):
        raise call.refusal(
            f"np.gradient with {len(nodes)} spacings along {len(axes)} of {array.ndim} dimensions",
            "pass one spacing, or one for each dimension",
        )
    spacings = [constant(1.0) if node is None else _number(call, node) for node in nodes]
    return [_differences(call, array, axis % array.ndim, each) for axis, each in zip(axes, spacings, strict=True)]


@compiles(np.gradient, "f", "=axis", "*spacings")
def _gradient(call: ArrayCall) -> Operand:
    array = _kept(call, call.array("f"))
    given = call.arguments.get("spacings")
    spacing = constant(1.0) if given is None else _number(call, given)
    return _differences(call, array, call.axis("axis", array.ndim, 0) or 0, spacing)


def _number(call: ArrayCall, node: ast.expr) -> ArrayValue | Value:
    return computed(call.frame, node, call.evaluate(call.frame, node))


def _differences(call: ArrayCall, array: ArrayValue, place: int, spacing: ArrayValue | Value) -> ArrayValue:
    """Central differences along an axis, and one-sided ones at the ends."""
    frame, node = call.frame, call.node
    if isinstance(spacing, ArrayValue):
        raise call.refusal("np.gradient with a spacing for each element", "pass one number")
    size = array.shape[place]
    text = f"np.gradient of {shape_text(frame.kernel, array.shape)} elements"
    require(frame, node, Compare(">=", size, add(ONE, ONE)), text, (), "pass two elements or more along the axis")
    dtype = array.dtype if promotion.is_inexact(array.dtype) else "float64"
    last = subtract(size, ONE)

    def at(subscripts: Subscripts) -> Value:
        index = subscripts[place]

        def difference(first: int, second: int) -> Value:
            sides = []
            for offset in (first, second):
                moved = list(subscripts)
                moved[place] = add(index, ONE, offset)
                sides.append(promotion.cast(promotion.number(array.at(moved)), dtype))
            return promotion.binary("-", *sides)

        twice = promotion.binary("*", constant(2.0), spacing)
        inner = promotion.binary("/", difference(1, -1), twice)
        at_end = promotion.binary("/", difference(0, -1), spacing)
        at_start = promotion.binary("/", difference(1, 0), spacing)
        right = promotion.select(Value(Compare("<", index, last), weak=True), inner, at_end)
        return promotion.cast(promotion.select(Value(Compare("<=", index, ZERO), weak=True), at_start, right), dtype)

    return ArrayValue(array.shape, dtype, at, is_costly=True)
