"""Minimum, maximum and index division in compiled code, with Python's meaning and next to no cost at compile time.

Numba's own ``min`` and ``max`` of floats propagate NaN by their own rules; these are ``b if b < a else a`` and
``b if b > a else a``, as Python's, which is what the interpreted kernel does; of vectors, lane by lane.
Numba compiles a function of its own for the integer division of Python; ``quotient`` and ``remainder`` are a few
instructions in place, for divisors that are known to be positive, as all are in index arithmetic.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from polytune.runtime.vectors import Vector

__all__ = ["greatest", "least", "quotient", "remainder"]


def _select(builder: ir.IRBuilder, number: types.Type, relation: str, first: ir.Value, second: ir.Value) -> ir.Value:
    """``second if second <relation> first else first``."""
    if isinstance(getattr(number, "dtype", number), types.Float):
        better = builder.fcmp_ordered(relation, second, first)
    else:
        better = builder.icmp_signed(relation, second, first)
    return builder.select(better, second, first)


def _common(first: types.Type, second: types.Type, name: str) -> types.Type:
    first, second = types.unliteral(first), types.unliteral(second)
    if isinstance(first, types.Integer) and isinstance(second, types.Integer):
        return types.int64 if types.int64 in (first, second) or first != second else first
    if first == second and isinstance(first, types.Float | Vector):
        return first
    raise TypingError(f"{name} takes two integers or two floats or vectors of one type, not {first} and {second}")


@intrinsic
def least(typing_context, first, second):
    """``second if second < first else first``."""
    common = _common(first, second, "least")

    def emit(context, builder, sig, args):
        values = [context.cast(builder, arg, given, common) for arg, given in zip(args, sig.args, strict=True)]
        return _select(builder, common, "<", *values)

    return common(first, second), emit


@intrinsic
def greatest(typing_context, first, second):
    """``second if second > first else first``."""
    common = _common(first, second, "greatest")

    def emit(context, builder, sig, args):
        values = [context.cast(builder, arg, given, common) for arg, given in zip(args, sig.args, strict=True)]
        return _select(builder, common, ">", *values)

    return common(first, second), emit


def _floor_division(builder: ir.IRBuilder, dividend: ir.Value, divisor: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Quotient and remainder with ``0 <= remainder < divisor``, for a positive divisor."""
    zero = dividend.type(0)
    truncated, rest = builder.sdiv(dividend, divisor), builder.srem(dividend, divisor)
    negative = builder.icmp_signed("<", rest, zero)
    quotient = builder.sub(truncated, builder.zext(negative, dividend.type))
    return quotient, builder.select(negative, builder.add(rest, divisor), rest)


def _index_division(name: str, part: int):
    def typed(typing_context, dividend, divisor):
        if not (isinstance(dividend, types.Integer) and isinstance(divisor, types.Integer)):
            raise TypingError(f"{name} divides integers, not {dividend} by {divisor}")

        def emit(context, builder, sig, args):
            values = [context.cast(builder, arg, given, types.int64) for arg, given in zip(args, sig.args, strict=True)]
            return _floor_division(builder, *values)[part]

        return types.int64(dividend, divisor), emit

    return typed


@intrinsic
def quotient(typing_context, dividend, divisor):
    """``dividend // divisor`` of integers, for a positive divisor."""
    return _index_division("quotient", 0)(typing_context, dividend, divisor)


@intrinsic
def remainder(typing_context, dividend, divisor):
    """``dividend % divisor`` of integers, for a positive divisor."""
    return _index_division("remainder", 1)(typing_context, dividend, divisor)
