"""The test of numbers in index arrays, before a kernel uses them as subscripts.

Large arrays are tested by a team, in compiled code: each block once, for the least and the greatest number in it, in
vectors.  That goes as fast as the numbers come from memory.  Others are tested by compiled code, too, where calls come
again and again.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numba import njit

from polytune.errors import SourceLocation, SubscriptError
from polytune.runtime.calls.index_blocks import BLOCK, is_outside_by_blocks
from polytune.runtime.calls.index_headers import is_outside_by_header
from polytune.runtime.modules.compilation import keeps_code
from polytune.runtime.teams.context import STATE_LENGTH, attach, integer
from polytune.runtime.teams.context_memory import ContextMemory
from polytune.runtime.teams.entries import entry_of
from polytune.runtime.teams.helpers import compile_team, run_team
from polytune.runtime.teams.team import claim, complete, wait
from polytune.runtime.teams.threads import current_threads

__all__ = ["require_range"]

_FEWEST_FOR_TEAM = 1 << 19
"""Arrays of fewer numbers are tested by the caller, before a team would have begun."""

_CACHE = keeps_code(__file__)
_NUMBERS, _COUNT, _EXTENT, _FOUND = STATE_LENGTH, STATE_LENGTH + 1, STATE_LENGTH + 2, STATE_LENGTH + 3
"""The places of the words of a context: the address of the numbers, how many there are, the extent of the axis, and the
address of what says whether one is out of range."""


def require_range(
    indexes: np.ndarray, extent: int, report: tuple[SourceLocation, tuple[str, ...], tuple[str, ...]]
) -> None:
    """See to it that numbers are subscripts of an axis, from either end.

    Args:
        indexes: the numbers, integers of any type.
        extent: how many elements the axis has.
        report: where they are used, the arrays of which they are subscripts, and the references there.

    Raises:
        SubscriptError: one is below ``-extent``, or not below ``extent``.
    """
    is_outside: bool | None = None
    if indexes.size < _FEWEST_FOR_TEAM:
        is_outside = is_outside_by_header(indexes, extent)
    elif indexes.flags.c_contiguous and indexes.flags.aligned and indexes.dtype.name in _FINDERS:
        is_outside = is_outside_by_team(indexes, extent)
    if is_outside is None:
        is_outside = is_outside_by_blocks(indexes, extent)
    if is_outside:
        raise SubscriptError(*report)


def is_outside_by_team(indexes: np.ndarray, extent: int) -> bool:
    """Return whether a number is out of range, found by as many threads as calls of this thread have.

    Args:
        indexes: int32 or int64 of any shape, contiguous in C order and aligned.
        extent: how many elements the axis has that they are subscripts of.
    """
    found = np.zeros(1, np.int64)
    context = ContextMemory(8 * (_FOUND + 1), (indexes, found))
    words = np.frombuffer(context.memory, np.int64)
    words[_NUMBERS], words[_COUNT], words[_EXTENT] = indexes.ctypes.data, indexes.size, extent
    words[_FOUND] = found.ctypes.data
    workers = max(1, min(current_threads(), math.ceil(indexes.size / BLOCK)))
    run_team(_address(indexes.dtype.name), context, workers)
    return bool(found[0])


@functools.cache
def _address(dtype: str) -> int:
    """The address of the compiled function for numbers of a type."""
    compile_team()
    return entry_of(_FINDERS[dtype], 3)


@njit(cache=_CACHE, nogil=True)
def _find_outside(context, worker, workers, numbers):
    """Say whether one of many numbers is out of range, a block of them as one task."""
    found = attach(context, _FOUND, "int64[::1]", "found", "numbers found")
    count, extent = integer(context, _COUNT), integer(context, _EXTENT)
    tasks = (count + BLOCK - 1) // BLOCK
    task = claim(context, worker, workers, 0, tasks)
    while task < tasks:
        first = task * BLOCK
        least = greatest = numbers[first]
        for k in range(first + 1, min(first + BLOCK, count)):
            least, greatest = min(least, numbers[k]), max(greatest, numbers[k])
        if least < -extent or greatest >= extent:
            found[0] = 1
        complete(context)
        task = claim(context, worker, workers, 0, tasks)
    wait(context, tasks)


@njit(cache=_CACHE, nogil=True)
def find_outside_int64(context, worker, workers):
    """Say, as the work of a team, whether one of many int64 is out of range.

    Args:
        context: int64, the address of the words that this module writes, behind a team's state.
        worker: int64, the number of the worker.
        workers: int64, how many there are.
    """
    _find_outside(context, worker, workers, attach(context, _NUMBERS, "int64[::1]", "numbers", "numbers found"))


@njit(cache=_CACHE, nogil=True)
def find_outside_int32(context, worker, workers):
    """Say, as the work of a team, whether one of many int32 is out of range.

    Args:
        context: int64, the address of the words that this module writes, behind a team's state.
        worker: int64, the number of the worker.
        workers: int64, how many there are.
    """
    _find_outside(context, worker, workers, attach(context, _NUMBERS, "int32[::1]", "numbers", "numbers found"))


_FINDERS = {"int64": find_outside_int64, "int32": find_outside_int32}
