"""Means along axes, variances and standard deviations."""

from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.calls import ArrayCall, compiles
from polytune.frontend.array_expressions.elementwise import (
    arithmetic,
    cast_array,
    chosen,
    computed,
    elementwise,
    narrowed,
)
from polytune.frontend.array_expressions.reductions import COMMON, Reduced, reduced_operand, total
from polytune.frontend.array_expressions.short_sums import written_out
from polytune.frontend.array_expressions.slices import is_none
from polytune.frontend.array_expressions.temporaries import kept
from polytune.frontend.array_expressions.values import ArrayValue, Operand
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.promotion import Value, constant
from polytune.frontend.scalars import functions
from polytune.frontend.scalars.complex_numbers import squared_magnitude


def _count(frame: Frame, node: ast.AST, reduced: Reduced, dtype: str) -> Value:
    """Return how many elements each result is made of, as a number of a type."""
    count: Value = constant(1)
    for extent in reduced.unmasked_extents:
        count = promotion.binary("*", count, Value(extent, weak=True))
    if reduced.selection is not None:
        mask = reduced.selection.mask
        selected = computed(frame, node, total(Reduced(mask, range(mask.ndim), False), "int64"))
        assert isinstance(selected, Value)
        count = promotion.binary("*", selected, count)
    return promotion.cast(count, dtype)


def mean_of(frame: Frame, node: ast.AST, reduced: Reduced, dtype: str) -> Operand:
    """Means of elements, as numbers of a type.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        reduced: the array, with what is reduced of it.
        dtype: the type of the means.
    """
    count = _count(frame, node, reduced, dtype)
    return arithmetic(frame, node, "/", written_out(frame.kernel, total(reduced, dtype)), count)


def type_of_mean(call: ArrayCall, elements: str, *, may_be_complex: bool = True) -> str:
    """The type of means of elements of a type, or of their squared distances, and of what is computed on the way.

    Args:
        call: the call, which may name a type.
        elements: the type of the elements.
        may_be_complex: whether a complex type may be named.
    """
    if not call.given("dtype"):
        return elements if promotion.is_inexact(elements) else "float64"
    dtype = call.dtype("dtype", elements)
    is_real = dtype not in promotion.COMPLEX
    if not promotion.is_inexact(dtype) or (elements in promotion.COMPLEX if is_real else not may_be_complex):
        raise call.frame.source.refusal(
            call.node,
            f"{call.name} of elements of {elements} with dtype={dtype}",
            "means are computed as floating-point numbers, and as complex ones where the elements are complex",
            f"leave dtype out, and convert the result: np.{dtype}(...) of a number, .astype(np.{dtype}) of an array",
        )
    return dtype


@compiles(np.mean, *COMMON)
def _mean(call: ArrayCall) -> Operand:
    reduced = reduced_operand(call, constant(0))
    dtype = type_of_mean(call, reduced.array.dtype)
    return narrowed(call.frame, call.node, mean_of(call.frame, call.node, reduced, promotion.wider(dtype)), dtype)


def lost_degrees(call: ArrayCall, default: int = 0) -> Value:
    """The ``ddof`` of a call, which may be known only while the kernel runs.

    Args:
        call: the call.
        default: what holds where it is not given.

    Raises:
        UnsupportedSourceError: it is an array.
    """
    if not call.given("ddof") or is_none(call.argument("ddof")):
        return constant(default)
    found = call.value("ddof")
    if not isinstance(found, Value):
        raise call.refusal(f"{call.name} with an array as ddof", "pass a number")
    return replace(promotion.number(found), weak=True)


def _variance(call: ArrayCall) -> tuple[Operand, str]:
    """The mean of the squared distances from the mean, as NumPy computes it, in two passes; and the type of the result,
    where it is computed in a wider one."""
    frame, node = call.frame, call.node
    nothing = constant(0)
    reduced = reduced_operand(call, nothing)
    array, selection = reduced.array, reduced.selection
    if array.is_costly:
        array = kept(frame, node, array)
        reduced = Reduced(array, reduced.axes, reduced.keepdims, selection)
    wanted = type_of_mean(call, array.dtype, may_be_complex=False)
    dtype = promotion.wider(wanted)
    freedom = lost_degrees(call)
    spread = Reduced(array, reduced.axes, True, selection)
    mean = computed(frame, node, mean_of(frame, node, spread, dtype))
    distance = computed(frame, node, arithmetic(frame, node, "-", cast_array(frame, node, array, dtype), mean))
    assert isinstance(distance, ArrayValue)
    squares = elementwise(frame, node, lambda values: squared_magnitude(values[0]), [distance])
    if selection is not None:
        squares = chosen(frame, node, selection.whole_mask(), squares, nothing)
    assert isinstance(squares, ArrayValue)
    dtype = promotion.part_type(dtype)
    count = _count(frame, node, reduced, dtype)
    totals = written_out(frame.kernel, total(Reduced(squares, reduced.axes, reduced.keepdims, selection), dtype))
    count = functions.apply(np.maximum, [promotion.binary("-", count, promotion.cast(freedom, dtype)), constant(0)])
    return arithmetic(frame, node, "/", totals, count), promotion.part_type(wanted)


@compiles(np.var, "a", "axis", "dtype", "-out", "ddof", "keepdims")
def _var(call: ArrayCall) -> Operand:
    variance, dtype = _variance(call)
    return narrowed(call.frame, call.node, variance, dtype)


@compiles(np.std, "a", "axis", "dtype", "-out", "ddof", "keepdims")
def _std(call: ArrayCall) -> Operand:
    return deviation(call, *_variance(call))


def deviation(call: ArrayCall, variance: Operand, dtype: str) -> Operand:
    """Return the standard deviation that belongs to a variance.

    Args:
        call: the call that it is the result of.
        variance: the variance, which may be of a wider type.
        dtype: the type of the result.
    """
    root = elementwise(call.frame, call.node, lambda values: functions.apply(np.sqrt, values), [variance])
    return narrowed(call.frame, call.node, root, dtype)
