"""Layouts of arguments: all that they are but for where arrays lie and what numbers are.  Compiled code compares those
of a call with a layout in a fraction of a microsecond, and writes their addresses and floats into the call's context.

Nearly all that the checks of a call look at is in the headers of its arrays: their types, shapes and strides, what
their elements are, and their flags (writeable among them).  What is left is where they are: whether they overlap.
NumPy's C interface fixes the layout of a header (``PyArrayObject_fields``), which compiled code so can read, and that
of tuples and floats is known of each version of Python.  Where they are not as expected, which is tried out once, no
arguments are said to be alike.
"""

from __future__ import annotations

import functools
import sys
import sysconfig
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import types
from numba.extending import intrinsic, register_jitable

from polytune.runtime.modules.compilation import keeps_code
from polytune.runtime.small_calls.rows import word
from polytune.runtime.teams.entries import Entry
from polytune.runtime.teams.local_arrays import LINE
from polytune.runtime.teams.team import STATE_LENGTH, reset

__all__ = [
    "DIFFERS",
    "FITS",
    "MAY_OVERLAP",
    "ArgumentLayout",
    "address_writers",
    "can_compare",
    "fingerprint",
]

DIFFERS, FITS, MAY_OVERLAP = 0, 1, 2
"""The relations of arguments to a layout: unlike it; like it; and besides close enough for a written array to overlap
with another one."""

# The words of the headers of objects, of which the first is the count of references.
_TYPE, _LENGTH = 1, 2
_ITEMS = tuple.__basicsize__ // 8
_NUMBER = float.__basicsize__ // 8 - 1
DATA, RANK, SHAPE, _STRIDES, _ELEMENTS, FLAGS = 2, 3, 4, 5, 7, 8
LOWER = 0xFFFFFFFF  # of a word that holds 32 bits and padding
_COMPARED_FLAGS = LOWER ^ 4  # all but whether the memory is the array's own, which is of no account

# The words of an argument in a layout: how many these are, its type, what it is, where in a context its address or its
# value goes, in bytes, and of an array what its header says, the bytes that it reaches from and to, seen from the
# address of its data, whether it is written, its shape and its strides.
_SIZE, _OWN_TYPE, _KIND, _PLACE = 0, 1, 2, 3
_OWN_ELEMENTS, _OWN_FLAGS, _OWN_RANK, _LOW, _HIGH, _IS_WRITTEN, _FIXED = 4, 5, 6, 7, 8, 9, 10
_OTHER, _FLOAT, _ARRAY = 0, 1, 2

_WORD = ir.IntType(64)


@intrinsic
def _put(typing_context, address, value):
    """Write a word at an address."""

    def emit(context, builder, sig, args):
        builder.store(args[1], builder.inttoptr(args[0], _WORD.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), emit


@register_jitable
def _is_like(array, own):
    """Compare the header of an array with the words of an argument, all but where its elements are."""
    rank = word(own, _OWN_RANK)
    if (
        word(array, _ELEMENTS) != word(own, _OWN_ELEMENTS)
        or word(array, FLAGS) & _COMPARED_FLAGS != word(own, _OWN_FLAGS)
        or word(array, RANK) & LOWER != rank
    ):
        return False
    shape = word(array, SHAPE)
    strides = word(array, _STRIDES)
    for axis in range(rank):
        if word(shape, axis) != word(own, _FIXED + axis) or word(strides, axis) != word(own, _FIXED + rank + axis):
            return False
    return True


@register_jitable
def _may_overlap(layout, arguments, own, k):
    """Return whether the bytes that an array reaches, by its words and its place among the arguments, are close to
    another one's."""
    data = word(word(arguments, _ITEMS + k), DATA)
    if word(own, _LOW) >= word(own, _HIGH):
        return False
    other = layout + 8
    for j in range(word(layout, 0)):
        if j != k and word(other, _KIND) == _ARRAY:
            beside = word(word(arguments, _ITEMS + j), DATA)
            if (
                word(other, _LOW) < word(other, _HIGH)
                and data + word(own, _LOW) < beside + word(other, _HIGH)
                and beside + word(other, _LOW) < data + word(own, _HIGH)
            ):
                return True
        other += 8 * word(other, _SIZE)
    return False


@njit(nogil=True, cache=keeps_code(__file__))
def _fit(layout, arguments, context):
    """Compare arguments with a layout, and write what changes from call to call into a context.

    Args:
        layout: the address of its words: how many arguments there are, then the words of each.
        arguments: the address of a tuple.
        context: the address of a context, whose team's state is made as new; 0 for none.

    Returns:
        `DIFFERS`, `FITS` or `MAY_OVERLAP`; unless it is the first, the context is that of a call of these arguments.
    """
    count = word(layout, 0)
    if word(arguments, _LENGTH) != count:
        return DIFFERS
    own = layout + 8
    for k in range(count):
        value = word(arguments, _ITEMS + k)
        if word(value, _TYPE) != word(own, _OWN_TYPE):
            return DIFFERS
        if word(own, _KIND) == _ARRAY and not _is_like(value, own):
            return DIFFERS
        own += 8 * word(own, _SIZE)
    if context == 0:
        return FITS
    found = FITS
    own = layout + 8
    for k in range(count):
        value = word(arguments, _ITEMS + k)
        if word(own, _KIND) == _FLOAT:
            _put(context + word(own, _PLACE), word(value, _NUMBER))
        elif word(own, _KIND) == _ARRAY:
            _put(context + word(own, _PLACE), word(value, DATA))
            if word(own, _IS_WRITTEN) != 0 and found == FITS and _may_overlap(layout, arguments, own, k):
                found = MAY_OVERLAP
        own += 8 * word(own, _SIZE)
    reset(context)
    return found


@njit(nogil=True, cache=keeps_code(__file__))
def _fingerprint(arguments, array, memory_map):
    """Compute a number from the types of arguments and the headers of the arrays among them.

    Args:
        arguments: the address of a tuple.
        array, memory_map: the addresses of the types of arrays.
    """
    count = word(arguments, _LENGTH)
    found = count
    for k in range(count):
        value = word(arguments, _ITEMS + k)
        kind = word(value, _TYPE)
        found = (found << 7 | (found >> 57) & 127) ^ kind
        if kind != array and kind != memory_map:
            continue
        rank = word(value, RANK) & LOWER
        flags = word(value, FLAGS) & _COMPARED_FLAGS
        found = (found << 7 | (found >> 57) & 127) ^ word(value, _ELEMENTS) ^ (flags << 32) ^ rank
        shape = word(value, SHAPE)
        strides = word(value, _STRIDES)
        for axis in range(rank):
            found = (found << 7 | (found >> 57) & 127) ^ word(shape, axis)
            found = (found << 7 | (found >> 57) & 127) ^ word(strides, axis)
    return found


@njit(nogil=True, cache=keeps_code(__file__))
def _write_address(array, place):
    """Write where an array's elements are to an address."""
    _put(place, word(array, DATA))


@njit(nogil=True, cache=keeps_code(__file__))
def _write_line(array, place):
    """Write where the first cache line begins in an array's elements to an address.

    Returns:
        How many bytes of the array lie before it.
    """
    data = word(array, DATA)
    start = -data & (LINE - 1)
    _put(place, data + start)
    return start


_FIT = Entry(_fit, 3, returns=True, is_short=True)
_FINGERPRINT = Entry(_fingerprint, 3, returns=True, is_short=True)
_WRITE_ADDRESS = Entry(_write_address, 2, is_short=True)
_WRITE_LINE = Entry(_write_line, 2, returns=True, is_short=True)


def fingerprint(arguments: tuple[Any, ...]) -> int:
    """Return a number that is the same for arguments of the same types, whose arrays have the same headers but for
    their addresses; others may have the same, too."""
    return int(_FINGERPRINT(id(arguments), id(np.ndarray), id(np.memmap)))


def address_writers() -> tuple[Callable[[int, int], Any], Callable[[int, int], int]]:
    """Two functions that write where the elements of an array are, whose ``id`` they are given, into the memory at an
    address, where `can_compare` allows it: where they begin, and where the first cache line begins in them; the second
    returns how many bytes of the array lie before that."""
    return _WRITE_ADDRESS.ready(), _WRITE_LINE.ready()


class ArgumentLayout:
    """The types of arguments, and what the headers of plain arrays and memory maps among them say.

    Args:
        arguments: of which no array is kept alive.
        places: where in a context the addresses of arrays go, and the values of floats, in bytes; by the argument's
            position.  All that is there for other numbers stays as it is.
        written: the positions of the arrays that are written.
    """

    def __init__(self, arguments: tuple[Any, ...], places: Mapping[int, int], written: Collection[int]):
        words = [len(arguments)]
        self._kept: list[Any] = []  # another type could take the place of one that is gone
        for position, value in enumerate(arguments):
            self._kept.append(type(value))
            if type(value) not in (np.ndarray, np.memmap):
                is_float = type(value) is float and position in places
                words += [_FIXED, id(type(value)), _FLOAT if is_float else _OTHER, places.get(position, 0)]
                words += [0] * (_FIXED - 4)
                continue
            self._kept.append(value.dtype)
            low, high = _reach(value)
            words += [_FIXED + 2 * value.ndim, id(type(value)), _ARRAY, places[position]]
            words += [id(value.dtype), value.flags.num & _COMPARED_FLAGS, value.ndim, low, high, position in written]
            words += [*value.shape, *value.strides]
        self._words = np.array(words, np.int64)
        self._address = self._words.ctypes.data

    @property
    def compared_by(self) -> tuple[Callable[..., int], int]:
        """Return what `fit` calls, made ready: a function of an address, which is the second, of the address of a tuple
        of arguments and of a context's."""
        return _FIT.ready(), self._address

    def fit(self, arguments: tuple[Any, ...], context: int = 0) -> int:
        """Compare a call's arguments, and write what changes from call to call into its context.

        Args:
            arguments: of any types.
            context: the context's address; all else in it is as for the arguments that the layout was made of.  Where
                it is 0, nothing is written, and arrays may overlap.

        Returns:
            `DIFFERS`, `FITS` or `MAY_OVERLAP`.
        """
        return int(_FIT(self._address, id(arguments), context))


def _reach(array: np.ndarray) -> tuple[int, int]:
    """Return how many bytes before the address of its data an array begins, as a negative number, and how many behind
    that it ends; twice 0 where it is empty."""
    if array.size == 0:
        return 0, 0
    steps = [stride * (extent - 1) for stride, extent in zip(array.strides, array.shape, strict=True)]
    return sum(step for step in steps if step < 0), sum(step for step in steps if step > 0) + array.itemsize


@functools.cache
def can_compare() -> bool:
    """Return whether headers of objects are where this file takes them to be."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED") or sys.maxsize < 2**32:
        return False
    whole = np.arange(24.0).reshape(2, 3, 4)
    plain = np.arange(5, dtype=np.int32)
    state = STATE_LENGTH
    context = np.zeros(state + 8, np.int64)
    given = (whole, 2.5, whole[::-1, 1:, ::2].T, plain)
    layout = ArgumentLayout(given, {k: 8 * (state + k) for k in range(4)}, {3})

    def fits(arguments: tuple[Any, ...], wanted: int) -> bool:
        if layout.fit(arguments, context.ctypes.data) != wanted:
            return False
        first, factor, second, third = arguments
        found = context[state : state + 4]
        return wanted == DIFFERS or (
            [found[0], found[2], found[3]] == [each.__array_interface__["data"][0] for each in (first, second, third)]
            and found[1:2].view(np.float64)[0] == factor
        )

    other = whole.copy()
    others = (other, -1.5, other[::-1, 1:, ::2].T, plain)
    close = (whole, 0.5, whole[::-1, 1:, ::2].T, whole.view(np.int32).reshape(-1)[:5])
    unlike = [(*given[:3], plain[:4]), (whole, 2, *given[2:]), (whole.T, *given[1:]), given[:3]]
    if not (fits(given, FITS) and fits(others, FITS) and fits(close, MAY_OVERLAP)):
        return False
    if not all(layout.fit(each, context.ctypes.data) == DIFFERS for each in unlike):
        return False
    if fingerprint(given) != fingerprint(others):
        return False
    address_writers()[0](id(other), context[-1:].ctypes.data)
    if context[-1] != other.ctypes.data:
        return False
    plain.flags.writeable = False
    return layout.fit(given, context.ctypes.data) == DIFFERS
