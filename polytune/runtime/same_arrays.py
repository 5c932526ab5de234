"""A test that arrays are exactly what they were, in a fraction of a microsecond.

All that the checks of a call look at is in the header of an array: its type, where its elements are, its shape and its
strides, what its elements are, and its flags (writeable among them).  NumPy's C interface fixes the layout of that
header (``PyArrayObject_fields``), which compiled code so can read.  Where headers are not as expected, which is tried
out once, nothing is said to be the same.
"""

from __future__ import annotations

import functools
import sys
import sysconfig
from collections.abc import Sequence

import numpy as np
from numba import njit

from polytune.runtime.compilation import keeps_code
from polytune.runtime.entries import Entry
from polytune.runtime.team import load_acquire

__all__ = ["ArrayRecord", "can_compare"]

# The words of an object's header, of which the first is its count of references, and the length of an entry's start.
_TYPE, _DATA, _RANK, _SHAPE, _STRIDES, _ELEMENTS, _FLAGS = 1, 2, 3, 4, 5, 7, 8
_LOWER = 0xFFFFFFFF  # of a word that holds 32 bits and padding
_FIXED = 6


@njit(cache=keeps_code(__file__))
def _are_same(record):
    """Return whether all arrays of a record are as it says; its words are an array's address, type, elements, address
    of the data, flags and rank, its shape and its strides, and all that for each array, after the number of arrays."""
    at = 1
    for _ in range(load_acquire(record, 0)):
        array = load_acquire(record, at)
        rank = load_acquire(record, at + 5)
        if (
            load_acquire(array, _TYPE) != load_acquire(record, at + 1)
            or load_acquire(array, _ELEMENTS) != load_acquire(record, at + 2)
            or load_acquire(array, _DATA) != load_acquire(record, at + 3)
            or load_acquire(array, _FLAGS) & _LOWER != load_acquire(record, at + 4)
            or load_acquire(array, _RANK) & _LOWER != rank
        ):
            return 0
        shape = load_acquire(array, _SHAPE)
        strides = load_acquire(array, _STRIDES)
        for axis in range(rank):
            if load_acquire(shape, axis) != load_acquire(record, at + _FIXED + axis) or load_acquire(
                strides, axis
            ) != load_acquire(record, at + _FIXED + rank + axis):
                return 0
        at += _FIXED + 2 * rank
    return 1


_COMPARE = Entry(_are_same, 1, returns=True)


class ArrayRecord:
    """A record of what some arrays are like now.

    Args:
        arrays: plain arrays or memory maps; they are not kept alive.
    """

    def __init__(self, arrays: Sequence[np.ndarray]):
        words = [len(arrays)]
        for array in arrays:
            address, _ = array.__array_interface__["data"]
            words += [id(array), id(type(array)), id(array.dtype), address, array.flags.num, array.ndim]
            words += [*array.shape, *array.strides]
        # Another type of elements could take the place of one that is gone.
        self._elements = [array.dtype for array in arrays]
        self._words = np.array(words, np.int64)
        self._address = self._words.ctypes.data

    def holds(self) -> bool:
        """Return whether the arrays are what they were.  To be asked while objects with their identities exist, which
        need not be the same ones."""
        return bool(_COMPARE(self._address))


@functools.cache
def can_compare() -> bool:
    """Return whether headers of arrays are where this file takes them to be."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED") or sys.maxsize < 2**32:
        return False
    whole = np.arange(24.0).reshape(2, 3, 4)
    arrays = [whole, whole[::-1, 1:, ::2].T, np.arange(5, dtype=np.int32)]
    record = ArrayRecord(arrays)
    if not record.holds():
        return False
    arrays[2].flags.writeable = False
    if record.holds():
        return False
    arrays[2].flags.writeable = True
    return record.holds()
