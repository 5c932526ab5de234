"""The test whether an iteration of a loop comes after its end, in code that workers share."""

from __future__ import annotations

from numba.core import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from polytune.runtime.intrinsics.memory import View, annotate, element_address

__all__ = ["has_ended"]


@intrinsic
def has_ended(typing_context, flag, number):
    """``flag[0] != 0 and flag[0] <= number``, of one look at the flag, which others may be setting.

    Args:
        flag: a view of int64: at 0, which iteration has ended the loop, from 1; 0 where none has.
        number: how many iterations come before this one.
    """
    if (
        not isinstance(flag, View)
        or flag.dtype != types.int64
        or flag.ndim != 1
        or not isinstance(number, types.Integer)
    ):
        raise TypingError(f"has_ended() takes a view of int64 and an integer, not {flag} and {number}")

    def emit(context, builder, sig, args):
        word = context.get_value_type(types.int64)
        address = element_address(context, builder, flag, types.int64, args[0], word(0))
        seen = builder.load_atomic(address, "monotonic", 8, typ=word)
        annotate(builder.module, seen, flag)
        behind = context.cast(builder, args[1], number, types.int64)
        is_set = builder.icmp_signed("!=", seen, word(0))
        return builder.and_(is_set, builder.icmp_signed("<=", seen, behind))

    return types.boolean(flag, number), emit
