"""Minimum and maximum in compiled code, with Python's meaning and no cost at compile time.

Numba's own ``min`` and ``max`` of floats propagate NaN by their own rules; these are ``b if b < a else a`` and
``b if b > a else a``, as Python's, which is what the interpreted kernel does.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

__all__ = ["greatest", "least"]


def _select(builder: ir.IRBuilder, number: types.Type, relation: str, first: ir.Value, second: ir.Value) -> ir.Value:
    """``second if second <relation> first else first``."""
    if isinstance(number, types.Float):
        better = builder.fcmp_ordered(relation, second, first)
    else:
        better = builder.icmp_signed(relation, second, first)
    return builder.select(better, second, first)


def _common(first: types.Type, second: types.Type, name: str) -> types.Type:
    first, second = types.unliteral(first), types.unliteral(second)
    if isinstance(first, types.Integer) and isinstance(second, types.Integer):
        return types.int64 if types.int64 in (first, second) or first != second else first
    if first == second and isinstance(first, types.Float):
        return first
    raise TypingError(f"{name} takes two integers or two floats of one type, not {first} and {second}")


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
