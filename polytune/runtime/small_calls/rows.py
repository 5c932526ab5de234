"""The arrays that a row of words describes, in compiled code.

An array is its address, the number of its type, its rank, its extents, and its strides in bytes.
"""

from __future__ import annotations

from llvmlite import ir
from numba import njit
from numba.core import types
from numba.extending import intrinsic

__all__ = ["REPORT", "after", "element", "extent", "load", "store", "word"]

REPORT = 3
"""Words of a call before its results: a number, where failure is reported."""

_WORD = ir.IntType(64)


@intrinsic
def word(typing_context, address, place):
    """One of the words at an address."""

    def emit(context, builder, sig, args):
        words = builder.inttoptr(args[0], _WORD.as_pointer())
        return builder.load(builder.gep(words, [args[1]], source_etype=_WORD), align=8, typ=_WORD)

    return types.int64(types.int64, types.int64), emit


@intrinsic
def load(typing_context, address, like):
    """The number at an address, of the type that another one has."""

    def emit(context, builder, sig, args):
        kind = context.get_data_type(like)
        pointer = builder.inttoptr(args[0], kind.as_pointer())
        return context.unpack_value(builder, like, pointer)

    return like(types.int64, like), emit


@intrinsic
def store(typing_context, address, value):
    """Write a number to an address."""

    def emit(context, builder, sig, args):
        pointer = builder.inttoptr(args[0], context.get_data_type(value).as_pointer())
        context.pack_value(builder, value, args[1], pointer)
        return context.get_dummy_value()

    return types.void(types.int64, value), emit


@njit
def after(row, at):
    """The place where the array begins that follows one."""
    return at + 3 + 2 * word(row, at + 2)


@njit
def extent(row, at, axis):
    """An extent of an array; 1 along axes that it does not have.

    Args:
        row: the address of the words.
        at: the place where the array begins.
        axis: counted from the front.
    """
    return word(row, at + 3 + axis) if axis < word(row, at + 2) else 1


@njit
def element(row, at, first, second):
    """The address of an element of an array of two dimensions or fewer.

    Args:
        row: the address of the words.
        at: the place where the array begins.
        first, second: the subscripts; of no meaning along axes that it does not have.
    """
    address, rank = word(row, at), word(row, at + 2)
    if rank > 0:
        address += first * word(row, at + 3 + rank)
    if rank > 1:
        address += second * word(row, at + 4 + rank)
    return address
