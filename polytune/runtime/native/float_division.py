"""Python's ``//`` and ``%`` of floats, with the digits of Python's and Numba's own."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba.core import types

from polytune.runtime.native.kinds import NativeValue
from polytune.runtime.native.operations import MATHEMATICS, MATHEMATICS_OF_TWO

__all__ = ["float_division"]


def float_division(
    builder: ir.IRBuilder, kind: types.Float, left: ir.Value, right: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """Write quotient and remainder; of a division by 0 they are NumPy's, an infinity or NaN, and NaN.

    There is no branch in it: what is around it may be computed several numbers at a time.

    Args:
        builder: where the code goes.
        kind: the type of both numbers.
        left, right: floats.
    """
    zero, negative_zero, one, half = (ir.Constant(left.type, each) for each in (0.0, -0.0, 1.0, 0.5))
    # C's remainder has the sign of the dividend, and is exact.
    of_c = MATHEMATICS_OF_TWO[np.fmod](builder, NativeValue(kind, left), NativeValue(kind, right)).code
    quotient = builder.fdiv(builder.fsub(left, of_c), right)
    is_rest = builder.fcmp_unordered("!=", of_c, zero)
    is_below = builder.fcmp_ordered("<", right, zero)
    is_turned = builder.and_(is_rest, builder.xor(is_below, builder.fcmp_ordered("<", of_c, zero)))
    nothing = builder.select(is_below, negative_zero, zero)
    remainder = builder.select(is_turned, builder.fadd(of_c, right), builder.select(is_rest, of_c, nothing))
    quotient = builder.select(is_turned, builder.fsub(quotient, one), quotient)
    # It is close to an integer, and that is wanted; of 0 with the sign of what it was before it was rounded.
    floor = MATHEMATICS[np.floor](builder, NativeValue(kind, quotient)).code
    is_less = builder.fcmp_ordered(">", builder.fsub(quotient, floor), half)
    nearest = builder.select(is_less, builder.fadd(floor, one), floor)
    signed = builder.fdiv(builder.fmul(builder.fmul(quotient, quotient), left), right)
    whole = builder.select(builder.fcmp_ordered("!=", quotient, zero), nearest, signed)
    by_zero = builder.fcmp_ordered("==", right, zero)
    return (
        builder.select(by_zero, builder.fdiv(left, right), whole),
        builder.select(by_zero, of_c, remainder),
    )
