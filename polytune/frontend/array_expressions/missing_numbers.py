"""Statistics of what is not NaN: loops over all elements, in which each counts or does not."""

from __future__ import annotations

import ast

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.averages import deviation, lost_degrees, type_of_mean
from polytune.frontend.array_expressions.calls import ArrayCall, compiles
from polytune.frontend.array_expressions.elementwise import (
    arithmetic,
    cast_array,
    chosen,
    computed,
    elementwise,
    inverted,
    narrowed,
)
from polytune.frontend.array_expressions.temporaries import kept
from polytune.frontend.array_expressions.values import ArrayValue, Operand
from polytune.frontend.promotion import Value, constant
from polytune.frontend.scalars import functions

_REDUCED = ("axis", "keepdims")


def _in_memory(call: ArrayCall, array: ArrayValue) -> ArrayValue:
    """An array that is read several times, computed once."""
    return array if array.region is not None or not array.shape else kept(call.frame, call.node, array)


def _is_missing(call: ArrayCall, array: ArrayValue) -> Operand:
    """The elements that are NaN, as truth values."""
    return elementwise(call.frame, call.node, lambda values: functions.apply(np.isnan, values), [array])


def _numbers_of(call: ArrayCall, array: ArrayValue, instead: Value) -> Operand:
    """The array with a number in place of NaN."""
    if not promotion.is_inexact(array.dtype):
        return array
    return chosen(call.frame, call.node, _is_missing(call, array), instead, array)


def _counted(call: ArrayCall, array: ArrayValue, dtype: str, *names: str, **given: ast.expr) -> Operand:
    """Return how many elements are not NaN, as numbers of a type.

    Args:
        call: the call.
        array: the elements.
        dtype: the type.
        names: the arguments of the call that say what is reduced.
        given: further ones, by name.
    """
    frame, node = call.frame, call.node
    present = inverted(frame, node, _is_missing(call, array))
    count = computed(frame, node, call.of(np.count_nonzero, present, *names, **given))
    return cast_array(frame, node, count, dtype)


@compiles(np.nansum, "a", "axis", "dtype", "-out", "keepdims")
def _nansum(call: ArrayCall) -> Operand:
    return call.of(np.sum, _numbers_of(call, call.array("a"), constant(0)), *_REDUCED, "dtype")


@compiles(np.nanmean, "a", "axis", "-dtype", "-out", "keepdims")
def _nanmean(call: ArrayCall) -> Operand:
    array = _in_memory(call, call.array("a"))
    if not promotion.is_inexact(array.dtype):
        return call.of(np.mean, array, *_REDUCED)
    total = call.of(np.sum, _numbers_of(call, array, constant(0)), *_REDUCED)
    count = _counted(call, array, promotion.part_type(array.dtype), *_REDUCED)
    return arithmetic(call.frame, call.node, "/", total, count)


def _variance(call: ArrayCall) -> tuple[Operand, str]:
    """The mean of the squared distances of numbers from their mean, in two passes; and the type of the result, where it
    is computed in a wider one."""
    frame, node = call.frame, call.node
    array = _in_memory(call, call.array("a"))
    wanted = type_of_mean(call, array.dtype, may_be_complex=False)
    if array.dtype in promotion.COMPLEX:
        raise call.refusal(f"{call.name} of complex numbers", "take .real and .imag, and add their variances")
    dtype, nothing = promotion.wider(wanted), constant(0)
    values = cast_array(frame, node, array, dtype)
    assert isinstance(values, ArrayValue)
    kept_dimensions = ast.copy_location(ast.Constant(True), node)
    total = call.of(np.sum, _numbers_of(call, values, nothing), "axis", keepdims=kept_dimensions)
    mean = arithmetic(frame, node, "/", total, _counted(call, values, dtype, "axis", keepdims=kept_dimensions))
    distance = computed(frame, node, arithmetic(frame, node, "-", values, computed(frame, node, mean)))
    squares = arithmetic(frame, node, "*", distance, distance)
    own = chosen(frame, node, _is_missing(call, values), nothing, squares)
    degrees = arithmetic(frame, node, "-", _counted(call, values, dtype, *_REDUCED), lost_degrees(call))
    quotient = computed(frame, node, arithmetic(frame, node, "/", call.of(np.sum, own, *_REDUCED), degrees))

    return _of_some(call, quotient, degrees), wanted


@compiles(np.nanvar, "a", "axis", "-dtype", "-out", "ddof", "keepdims")
def _nanvar(call: ArrayCall) -> Operand:
    variance, dtype = _variance(call)
    return narrowed(call.frame, call.node, variance, dtype)


@compiles(np.nanstd, "a", "axis", "-dtype", "-out", "ddof", "keepdims")
def _nanstd(call: ArrayCall) -> Operand:
    return deviation(call, *_variance(call))


def _of_some(call: ArrayCall, found: Operand, count: Operand) -> Operand:
    """The result for what there is of elements; NaN where there are none."""

    def or_missing(parts: list[Value]) -> Value:
        return promotion.select(promotion.compare(">", parts[1], constant(0)), parts[0], constant(np.nan))

    return elementwise(call.frame, call.node, or_missing, [found, count])


def _extremum(call: ArrayCall, function: object, neutral: float) -> Operand:
    """The least or the greatest number; NaN where all elements are."""
    array = _in_memory(call, call.array("a"))
    if not promotion.is_inexact(array.dtype):
        return call.of(function, array, *_REDUCED)
    if array.dtype in promotion.COMPLEX:
        raise call.refusal(f"{call.name} of complex numbers", "they have no order: pass their magnitudes, np.abs(A)")
    found = computed(call.frame, call.node, call.of(function, _numbers_of(call, array, constant(neutral)), *_REDUCED))
    return _of_some(call, found, _counted(call, array, "int64", *_REDUCED))


@compiles(np.nanmin, "a", "axis", "-out", "keepdims")
def _nanmin(call: ArrayCall) -> Operand:
    return _extremum(call, np.min, np.inf)


@compiles(np.nanmax, "a", "axis", "-out", "keepdims")
def _nanmax(call: ArrayCall) -> Operand:
    return _extremum(call, np.max, -np.inf)
