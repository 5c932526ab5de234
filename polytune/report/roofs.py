"""The roofs of this machine: the arithmetic and the memory traffic that simple programs reach on all of its cores."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from polytune.records import dataclass
from polytune.runtime.machine import machine
from polytune.runtime.teams.threads import maximum_threads

__all__ = ["Roofs", "roofs"]

_PRODUCTS = (192, 256, 512, 1024)  # rows and columns of the matrices that are multiplied
_LEAST_BYTES, _MOST_BYTES = 1 << 26, 1 << 28  # in the arrays that are streamed
_SECONDS = 0.15  # for each measurement


@dataclass(frozen=True)
class Roofs:
    """The greatest rates that were measured.

    Attributes:
        operations: operations a second in NumPy's product of matrices; None for types that it has no BLAS for.
        bandwidth: bytes a second between memory and processor, in a sum of two arrays that are larger than what
            caches hold for this process.
    """

    operations: float | None
    bandwidth: float

    def at(self, intensity: float) -> float:
        """The most operations a second for so many operations per byte."""
        return min(intensity * self.bandwidth, float("inf") if self.operations is None else self.operations)


def roofs(dtype: str) -> Roofs:
    """The roofs for elements of a type; measured once in a process, in some tenths of a second."""
    return Roofs(_product_rate(dtype) if dtype in ("float32", "float64") else None, _bandwidth())


def _shortest(work: Callable[[], Any]) -> float:
    """Seconds of the fastest of many runs, after one that does not count."""
    work()
    seconds: list[float] = []
    while not seconds or sum(seconds) < _SECONDS:
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return max(min(seconds), 1e-9)


@cache
def _product_rate(dtype: str) -> float:
    """Return the best of products of several sizes: where others keep the machine busy, long ones wait for them."""
    return max(2 * size**3 / _shortest(_product(size, dtype)) for size in _PRODUCTS)


def _product(size: int, dtype: str) -> Callable[[], Any]:
    left = np.ones((size, size), dtype)
    right, out = left.copy(), left.copy()
    return lambda: np.dot(left, right, out=out)


@cache
def _bandwidth() -> float:
    workers = maximum_threads()
    size = min(max(4 * workers * machine().caches[-1].share, _LEAST_BYTES), _MOST_BYTES)
    added, target = (np.ones(size // 16) for _ in range(2))
    pieces = list(zip(np.array_split(added, workers), np.array_split(target, workers), strict=True))
    with ThreadPoolExecutor(workers) as pool:
        seconds = _shortest(lambda: list(pool.map(lambda piece: np.add(piece[0], piece[1], out=piece[1]), pieces)))
    return (added.nbytes + 2 * target.nbytes) / seconds  # one is read, the other is read and written
