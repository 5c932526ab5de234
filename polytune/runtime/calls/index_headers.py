"""The test of numbers in index arrays by compiled code that finds them by the header of the array.

NumPy takes some microseconds to find the least and the greatest of a few numbers, as long as many a kernel that uses
them.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import types
from numba.extending import intrinsic

from polytune.runtime.calls.argument_layout import DATA, FLAGS, LOWER, RANK, SHAPE, can_compare
from polytune.runtime.intrinsics.arithmetic import greatest, least
from polytune.runtime.modules.compilation import keeps_code
from polytune.runtime.small_calls.rows import word
from polytune.runtime.teams.entries import Entry

__all__ = ["is_outside_by_header", "prepare_header_tests"]

_PLAIN = 0x101
"""The flags of an array whose elements follow one another in C order and are aligned."""

_INSIDE, _OUTSIDE, _UNKNOWN = 0, 1, 2


@intrinsic
def _half_word(typing_context, address, place):
    """One of the int32 at an address, as an int64."""

    def emit(context, builder, sig, args):
        kind = ir.IntType(32)
        numbers = builder.inttoptr(args[0], kind.as_pointer())
        number = builder.load(builder.gep(numbers, [args[1]], source_etype=kind), align=4, typ=kind)
        return builder.sext(number, ir.IntType(64))

    return types.int64(types.int64, types.int64), emit


@njit(nogil=True, cache=keeps_code(__file__))
def _find_outside(array, extent, size):
    """Say whether one of the numbers in an array is out of range.

    Args:
        array: the address of its header.
        extent: how many elements the axis has that they are subscripts of.
        size: the bytes of each, which is an int64 or an int32.

    Returns:
        `_INSIDE`, `_OUTSIDE`, or `_UNKNOWN` where they do not follow one another.
    """
    if word(array, FLAGS) & _PLAIN != _PLAIN:
        return _UNKNOWN
    shape = word(array, SHAPE)
    count = 1
    for axis in range(word(array, RANK) & LOWER):
        count *= word(shape, axis)
    numbers = word(array, DATA)
    low = 0
    high = -1
    if size == 8:
        for k in range(count):
            low = least(low, word(numbers, k))
            high = greatest(high, word(numbers, k))
    else:
        for k in range(count):
            low = least(low, _half_word(numbers, k))
            high = greatest(high, _half_word(numbers, k))
    return _OUTSIDE if low < -extent or high >= extent else _INSIDE


_FIND = Entry(_find_outside, 3, returns=True, is_short=True, optimise=True)
_SIZES = {np.dtype(np.int64): 8, np.dtype(np.int32): 4}


def prepare_header_tests() -> None:
    """Have ready what `is_outside_by_header` calls, where headers of objects are as they are taken to be."""
    if can_compare():
        _FIND.ready()


def is_outside_by_header(indexes: np.ndarray, extent: int) -> bool | None:
    """Return whether a number is out of range; None where that has to be found otherwise: the test is not ready, or not
    made for such an array.

    Args:
        indexes: integers of any type and shape, of a plain array.
        extent: how many elements the axis has that they are subscripts of.
    """
    size = _SIZES.get(indexes.dtype)
    if size is None or _FIND.call is None:
        return None
    found = _FIND.call(id(indexes), extent, size)
    return None if found == _UNKNOWN else found == _OUTSIDE
