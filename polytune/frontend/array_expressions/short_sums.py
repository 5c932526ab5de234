"""Sums of a few elements, whose number the source or the types of a call say, as expressions.

``((A - B) ** 2).sum(axis=1)`` of points and products with matrices of three rows need no loop and no place to be added
up in, so that what is made of them can be computed where it is used.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from polytune.frontend import promotion
from polytune.frontend.array_expressions.affine_arithmetic import constant_of, integer
from polytune.frontend.array_expressions.elementwise import strong
from polytune.frontend.array_expressions.values import ArrayValue, Operand, Shape, Subscripts, Sum
from polytune.frontend.lowering.frame import KernelWalk
from polytune.frontend.promotion import Value, constant

__all__ = ["few_places", "written_out"]

_MOST_TERMS = 9
"""The most elements of a sum that is written out: those of a matrix of three rows."""


def few_places(extents: Shape) -> list[Subscripts] | None:
    """All subscripts within extents, in order; None where they are not known, or are none or many."""
    known = [constant_of(extent) for extent in extents]
    numbers = [extent for extent in known if extent is not None]
    if len(numbers) < len(known) or not 1 <= math.prod(numbers) <= _MOST_TERMS:
        return None
    return [[integer(place) for place in places] for places in itertools.product(*map(range, numbers))]


def written_out(kernel: KernelWalk, operand: Sum) -> Operand:
    """The sums as expressions, where they have few terms; else the sums.

    Args:
        kernel: what they stand in.
        operand: sums that begin with 0.
    """
    (term,) = operand.terms
    places = few_places(term.extents)
    if places is None:
        return operand
    # 0.0 + -0.0 is 0.0, of which only strict kernels take notice.
    starts_with_zero = kernel.strict and promotion.is_inexact(operand.dtype)

    def at(subscripts: Subscripts) -> Value:
        total: Value | None = constant(0) if starts_with_zero else None
        for place in places:
            value = term.value(subscripts, place)
            total = value if total is None else promotion.binary("+", total, value)
            total = strong(promotion.cast(total, operand.dtype))
        assert total is not None
        return total

    return of_elements(operand.shape, operand.dtype, at)


def of_elements(shape: Shape, dtype: str, at: Callable[[Subscripts], Value]) -> ArrayValue | Value:
    """An array by its elements, each of which takes some operations; a number where it has no dimensions.

    Args:
        shape, dtype, at: those of the array.
    """
    return ArrayValue(shape, dtype, at, is_costly=True) if shape else at(())
