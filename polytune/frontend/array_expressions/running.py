"""Running sums, products and extrema along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.calls import ArrayCall, compiles
from polytune.frontend.array_expressions.extrema import neutral_of_extremum
from polytune.frontend.array_expressions.rearrangements import reshaped
from polytune.frontend.array_expressions.reductions import sum_type
from polytune.frontend.array_expressions.temporaries import allocate, emit, over, perform, scalar
from polytune.frontend.array_expressions.values import ArrayValue, Operand
from polytune.frontend.array_expressions.views import element_of, in_memory
from polytune.frontend.expression import Assign, Iterator
from polytune.frontend.program import Node
from polytune.frontend.promotion import Value, constant
from polytune.frontend.scalars import functions


def _accumulated(call: ArrayCall, symbol: str) -> Operand:
    """``np.cumsum`` and ``np.cumprod``: along one axis, or of all elements as one row."""
    array = call.array("a")
    axis = call.axis("axis", array.ndim)
    if not array.ndim:
        raise call.refusal(f"{call.name} of a number", "pass an array")
    if axis is None and array.ndim > 1:
        array = reshaped(call, array, [None])
    dtype = call.dtype("dtype", sum_type(array.dtype))
    neutral = constant(0 if symbol == "+" else 1)
    return _running(call, array, axis or 0, dtype, neutral, partial(promotion.binary, symbol))


def accumulated_extrema(call: ArrayCall, ufunc: np.ufunc) -> Operand:
    """``np.minimum.accumulate`` and ``np.maximum.accumulate`` of integers and floats, along one axis."""
    array = call.array("array")
    neutral = neutral_of_extremum(array.dtype, is_least=ufunc is np.minimum)

    def update(running: Value, element: Value) -> Value:
        return functions.apply(ufunc, [running, element])

    return _running(call, array, call.axis("axis", array.ndim, 0) or 0, array.dtype, neutral, update)


def _running(
    call: ArrayCall, array: ArrayValue, along: int, dtype: str, neutral: Value, update: Callable[[Value, Value], Value]
) -> Operand:
    """An array of what a variable is after each element along an axis.

    Args:
        call: the call.
        array: the elements.
        along: the axis.
        dtype: the type of the variable, and of the result.
        neutral: what it begins with.
        update: gives what it becomes by an element, of that type.
    """
    frame, node = call.frame, call.node
    region = allocate(frame, node, array.shape, dtype)
    others = tuple(extent for place, extent in enumerate(array.shape) if place != along)

    def body(iterators: tuple[Iterator, ...]) -> Sequence[Node]:
        running = scalar(frame, node, dtype, "running")

        def inner(single: tuple[Iterator, ...]) -> Sequence[Node]:
            subscripts = (*iterators[:along], single[0], *iterators[along:])
            element = promotion.cast(promotion.number(array.at(subscripts)), dtype)
            value = update(Value(running), element)
            return (
                perform(frame, node, Assign(running, promotion.convert(value, dtype))),
                perform(frame, node, Assign(element_of(frame.kernel, region, subscripts), running)),
            )

        first = promotion.convert(neutral, dtype)
        return (perform(frame, node, Assign(running, first)), *over(frame, node, (array.shape[along],), inner))

    emit(frame, node, over(frame, node, others, body))
    return in_memory(frame.kernel, region, array.shape, is_new=True)


@compiles(np.cumsum, "a", "axis", "dtype", "-out")
def _cumsum(call: ArrayCall) -> Operand:
    return _accumulated(call, "+")


@compiles(np.cumprod, "a", "axis", "dtype", "-out")
def _cumprod(call: ArrayCall) -> Operand:
    return _accumulated(call, "*")
