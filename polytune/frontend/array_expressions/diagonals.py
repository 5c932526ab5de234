"""Diagonals of matrices, and matrices of diagonals."""

from __future__ import annotations

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.affine_arithmetic import ZERO, add, integer, subtract
from polytune.frontend.array_expressions.calls import ArrayCall, compiles
from polytune.frontend.array_expressions.elementwise import narrowed
from polytune.frontend.array_expressions.reductions import Reduced, sum_type, total
from polytune.frontend.array_expressions.sizes import extent, lesser
from polytune.frontend.array_expressions.values import ArrayValue, Axis, Operand, Subscripts
from polytune.frontend.array_expressions.views import rearranged
from polytune.frontend.expression import Compare
from polytune.frontend.promotion import Value


def _offset(call: ArrayCall, name: str) -> int:
    offset = call.constant(name, 0)
    if not isinstance(offset, int):
        raise call.refusal(f"the diagonal {offset} in {call.name}", "write a constant integer")
    return offset


def _diagonal_of(call: ArrayCall, array: ArrayValue, offset: int) -> ArrayValue:
    """The elements of a matrix whose column is their row plus an offset."""
    if array.ndim != 2:
        raise call.refusal(
            f"{call.name} of an array of {array.ndim} dimensions",
            "loop over the matrices, or over the elements: A[i, i]",
        )
    rows, columns = array.shape
    down, right = integer(max(-offset, 0)), integer(max(offset, 0))
    size = lesser(call.frame, subtract(rows, down), subtract(columns, right))
    size = size if offset == 0 else extent(call.frame, size)
    return rearranged(call.frame.kernel, array, (Axis(down, 0), Axis(right, 0)), (size,))


@compiles(np.trace, "a", "offset")
def _trace(call: ArrayCall) -> Operand:
    array = call.array("a")
    diagonal = _diagonal_of(call, array, _offset(call, "offset"))
    dtype = sum_type(array.dtype)
    return narrowed(call.frame, call.node, total(Reduced(diagonal, (0,), False), promotion.wider(dtype)), dtype)


@compiles(np.diagonal, "a", "offset")
def _diagonal(call: ArrayCall) -> Operand:
    return _diagonal_of(call, call.array("a"), _offset(call, "offset"))


@compiles(np.diag, "v", "k")
def _diag(call: ArrayCall) -> Operand:
    """A diagonal of a matrix, or the matrix that has a vector on one."""
    array, offset = call.array("v"), _offset(call, "k")
    if array.ndim != 1:
        return _diagonal_of(call, array, offset)
    size = add(array.shape[0], integer(abs(offset)))
    down, right = integer(max(-offset, 0)), integer(max(offset, 0))

    def at(subscripts: Subscripts) -> Value:
        row, column = subtract(subscripts[0], down), subtract(subscripts[1], right)
        tests = [Compare("==", row, column)] + (
            [Compare(">=", row, ZERO), Compare(">=", column, ZERO)] if offset else []
        )
        inside = promotion.logical("and", [Value(test, weak=True) for test in tests])
        return promotion.select(inside, array.at((row,)), promotion.constant(0))

    return ArrayValue((size, size), array.dtype, at)
