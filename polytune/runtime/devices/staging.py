"""Copies on the host: by several threads, and through page-locked memory that a device reads while the program runs."""

from __future__ import annotations

import functools
import itertools
import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from polytune.records import dataclass
from polytune.runtime.threads import maximum_threads

__all__ = ["Staging", "StagingPool", "copy"]

_SMALLEST = 1 << 12
_KEPT = 1 << 28


@dataclass(frozen=True)
class Staging:
    """A piece of page-locked memory.

    Attributes:
        bytes: all of it, an array of uint8.
        handle: what keeps it alive, in the backend's terms.
    """

    bytes: np.ndarray
    handle: object

    def packed(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Its beginning as a dense array of a shape and dtype, in C order."""
        return self.bytes[: math.prod(shape) * dtype.itemsize].view(dtype).reshape(shape)


class StagingPool:
    """Page-locked memory of one device, used again and again, because locking pages is slow.  Safe to use from several
    threads."""

    def __init__(self, allocate: Callable[[int], Staging]):
        """
        Args:
            allocate: makes a piece of a given number of bytes.
        """
        self._allocate = allocate
        self._idle: dict[int, list[Staging]] = {}
        self._kept = 0
        self._lock = threading.Lock()

    def take(self, nbytes: int) -> Staging:
        """A piece of at least so many bytes, which nobody else has.

        Raises:
            DeviceMemoryError: the system has no more memory that it can lock.
        """
        size = max(_SMALLEST, 1 << (nbytes - 1).bit_length())
        with self._lock:
            idle = self._idle.get(size)
            if idle:
                self._kept -= size
                return idle.pop()
        return self._allocate(size)

    def give(self, staging: Staging) -> None:
        """Take back a piece that no copy uses any longer."""
        size = staging.bytes.nbytes
        with self._lock:
            if self._kept + size <= _KEPT:
                self._idle.setdefault(size, []).append(staging)
                self._kept += size

    def clear(self) -> None:
        """Let go of all pieces that are not in use."""
        with self._lock:
            self._idle.clear()
            self._kept = 0


_WORTH_SHARING = 1 << 21
_MOST_THREADS = 4
"""One thread reaches a fraction of the memory's bandwidth; a few reach most of it."""


def copy(target: np.ndarray, source: np.ndarray) -> None:
    """Copy all elements between arrays of one shape and dtype, with any strides."""
    threads = min(_MOST_THREADS, maximum_threads())
    if source.nbytes < _WORTH_SHARING or threads == 1:
        np.copyto(target, source)
        return
    axis = int(np.argmax(source.shape))
    bounds = [source.shape[axis] * part // threads for part in range(threads + 1)]
    parts = [(slice(None),) * axis + (slice(*pair),) for pair in itertools.pairwise(bounds)]
    # NumPy lets other threads run while it copies.
    list(_pool().map(lambda part: np.copyto(target[part], source[part]), parts))


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="polytune-copy")
