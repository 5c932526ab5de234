"""Running sums and products along an axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.calls import ArrayCall, compiles
from polytune.frontend.array_expressions.rearrangements import reshaped
from polytune.frontend.array_expressions.reductions import sum_type
from polytune.frontend.array_expressions.temporaries import allocate, emit, over, perform, scalar
from polytune.frontend.array_expressions.values import Operand
from polytune.frontend.array_expressions.views import element_of, in_memory
from polytune.frontend.expression import Assign, Iterator
from polytune.frontend.program import Node
from polytune.frontend.promotion import Value, constant


def _accumulated(call: ArrayCall, symbol: str) -> Operand:
    """``np.cumsum`` and ``np.cumprod``: along one axis, or of all elements as one row."""
    frame, node = call.frame, call.node
    array = call.array("a")
    axis = call.axis("axis", array.ndim)
    if not array.ndim:
        raise call.refusal(f"{call.name} of a number", "pass an array")
    if axis is None and array.ndim > 1:
        array = reshaped(call, array, [None])
    along = axis or 0
    dtype = call.dtype("dtype", sum_type(array.dtype))
    region = allocate(frame, node, array.shape, dtype)
    others = tuple(extent for place, extent in enumerate(array.shape) if place != along)

    def body(iterators: tuple[Iterator, ...]) -> Sequence[Node]:
        running = scalar(frame, node, dtype, "running")

        def inner(single: tuple[Iterator, ...]) -> Sequence[Node]:
            subscripts = (*iterators[:along], single[0], *iterators[along:])
            element = promotion.cast(promotion.number(array.at(subscripts)), dtype)
            value = promotion.binary(symbol, Value(running), element)
            return (
                perform(frame, node, Assign(running, promotion.convert(value, dtype))),
                perform(frame, node, Assign(element_of(frame.kernel, region, subscripts), running)),
            )

        first = promotion.convert(constant(0 if symbol == "+" else 1), dtype)
        return (perform(frame, node, Assign(running, first)), *over(frame, node, (array.shape[along],), inner))

    emit(frame, node, over(frame, node, others, body))
    return in_memory(frame.kernel, region, array.shape, is_new=True)


@compiles(np.cumsum, "a", "axis", "dtype", "-out")
def _cumsum(call: ArrayCall) -> Operand:
    return _accumulated(call, "+")


@compiles(np.cumprod, "a", "axis", "dtype", "-out")
def _cumprod(call: ArrayCall) -> Operand:
    return _accumulated(call, "*")
