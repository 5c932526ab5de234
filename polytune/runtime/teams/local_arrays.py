"""Memory of a kernel's local arrays and results, kept from call to call, that begins where a cache line does.

The system hands out large blocks one page at a time, each when it is touched first and filled with zeros: for an array
of 35 MB that can take longer than the kernel that uses it.  So what a call no longer needs is kept, and the next call,
of this kernel or of another one, begins with pages that are there.  The memory of a result comes back when the caller
has no array in it any more, be it the result or a view of it.

What is kept is bounded: the blocks that were not used for the longest time go first.  Small arrays are left to the
allocator, which keeps such blocks itself.

NumPy's arrays begin 16 or 32 bytes behind a multiple of 64, so that every vector of 64 bytes lies in two cache lines,
and takes twice as long to load or store.  Where all accesses go to the first cache, that is most of the time.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterable
from typing import Any

import numpy as np

from polytune.forking import renew_lock_at_fork

__all__ = ["LINE", "PAGE", "SMALLEST", "LocalArrays", "local_array", "local_arrays", "result_array"]

SMALLEST = 2**20
"""Bytes of the smallest array whose memory is kept."""

_SHARE = 16  # of the machine's memory, one part in so many is kept at most
_UNKNOWN = 2**28  # bytes, where the machine does not say how much memory it has
_WASTE = 2  # a block serves an array that needs at least one part in so many of it
LINE = 64
"""Bytes of a cache line."""
PAGE = 4096
"""Bytes of the smallest array that begins where a cache line does: to see to it takes about two microseconds."""


class LocalArrays:
    """Blocks of memory that wait for the next call; any thread may take one.

    Args:
        limit: how many bytes wait at most.
    """

    def __init__(self, limit: int):
        self._limit = limit
        self._lock = threading.Lock()
        renew_lock_at_fork(self)
        self._waiting: list[np.ndarray] = []  # the one that waits for the longest time first

    def result(self, shape: tuple[int, ...], dtype: Any, *, zeroed: bool = False) -> np.ndarray:
        """A new contiguous array that the caller of a kernel has as long as he likes, in memory that waited if some is
        large enough.

        Args:
            shape: its shape.
            dtype: its type.
            zeroed: whether its elements are 0; otherwise they may be anything.
        """
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if size < SMALLEST:
            return _new_array(shape, dtype, zeroed=zeroed)
        block = self._taken(size + LINE)
        is_new = block is None
        if block is None:
            block = (np.zeros if zeroed else np.empty)(size + LINE, np.uint8)
        found = np.asarray(_Lent(self, block, shape, dtype))
        if zeroed and not is_new:
            found.fill(0)
        return found

    @property
    def kept(self) -> int:
        """Return how many bytes wait."""
        with self._lock:
            return sum(block.nbytes for block in self._waiting)

    def array(self, shape: tuple[int, ...], dtype: Any, *, zeroed: bool = False) -> np.ndarray:
        """A new contiguous array, in memory that waited if some is large enough.

        Args:
            shape: its shape.
            dtype: its type.
            zeroed: whether its elements are 0; otherwise they may be anything.
        """
        size = math.prod(shape) * np.dtype(dtype).itemsize
        block = self._taken(size + LINE) if size >= SMALLEST else None
        if block is None:
            return _new_array(shape, dtype, zeroed=zeroed)
        found = _placed(block, shape, dtype, size)
        if zeroed:
            found.fill(0)
        return found

    def give_back(self, arrays: Iterable[np.ndarray]) -> None:
        """Keep the memory of arrays from :meth:`array` that nobody uses any more; other arrays are left alone."""
        blocks = [array.base for array in arrays if isinstance(array.base, np.ndarray) and array.nbytes >= SMALLEST]
        if not blocks:
            return
        with self._lock:
            self._keep(blocks)

    def take_back(self, block: np.ndarray) -> None:
        """Keep a block that was lent, unless somebody else is at what waits: where a garbage collection ends the life
        of a result, that may be this thread, which must not wait for itself."""
        if self._lock.acquire(blocking=False):
            try:
                self._keep([block])
            finally:
                self._lock.release()

    def _keep(self, blocks: Iterable[np.ndarray]) -> None:
        self._waiting += blocks
        excess = sum(block.nbytes for block in self._waiting) - self._limit
        while excess > 0:
            excess -= self._waiting.pop(0).nbytes

    def _taken(self, size: int) -> np.ndarray | None:
        """The smallest block that suffices, unless most of it would lie idle; of several the one used last."""
        with self._lock:
            fitting = [
                (block.nbytes, -place)
                for place, block in enumerate(self._waiting)
                if size <= block.nbytes <= _WASTE * size
            ]
            return self._waiting.pop(-min(fitting)[1]) if fitting else None


class _Lent:
    """A block as an array, for ``np.asarray``; it comes back when no array in it is left.

    Args:
        memory: where it comes back to.
        block: the block.
        shape: the array's shape.
        dtype: its type.
    """

    __slots__ = ("__array_interface__", "_block", "_memory")

    def __init__(self, memory: LocalArrays, block: np.ndarray, shape: tuple[int, ...], dtype: Any):
        self._memory, self._block = memory, block
        address = block.__array_interface__["data"][0]
        self.__array_interface__ = {
            "data": (address + -address % LINE, False),
            "typestr": np.dtype(dtype).str,
            "shape": shape,
            "version": 3,
        }

    def __del__(self) -> None:
        self._memory.take_back(self._block)


def _new_array(shape: tuple[int, ...], dtype: Any, *, zeroed: bool) -> np.ndarray:
    """An array in memory that is new."""
    make = np.zeros if zeroed else np.empty
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < PAGE:
        return make(shape, dtype)
    return _placed(make(size + LINE, np.uint8), shape, dtype, size)


def _placed(block: np.ndarray, shape: tuple[int, ...], dtype: Any, size: int) -> np.ndarray:
    """An array of so many bytes in a block, where a cache line begins."""
    start = -block.ctypes.data % LINE
    array: np.ndarray = block[start : start + size].view(dtype).reshape(shape)
    return array


def _limit() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // _SHARE
    except (AttributeError, ValueError, OSError):
        return _UNKNOWN


local_arrays = LocalArrays(_limit())
"""Those of this process."""


def local_array(shape: tuple[int, ...], dtype: Any, *, zeroed: bool = False) -> np.ndarray:
    """A local array of a kernel's call, see :meth:`LocalArrays.array`.

    Args:
        shape: its shape.
        dtype: NumPy's type of its elements.
        zeroed: whether its elements are 0; otherwise they may be anything.
    """
    return local_arrays.array(shape, dtype, zeroed=zeroed)


def result_array(shape: tuple[int, ...], dtype: Any, *, zeroed: bool = False) -> np.ndarray:
    """An array that a kernel's call returns, see :meth:`LocalArrays.result`.

    Args:
        shape: its shape.
        dtype: NumPy's type of its elements.
        zeroed: whether its elements are 0; otherwise they may be anything.
    """
    return local_arrays.result(shape, dtype, zeroed=zeroed)
