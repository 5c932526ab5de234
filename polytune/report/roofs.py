"""The roofs of this machine: the arithmetic and the memory traffic that simple programs reach on all of its cores."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from polytune.runtime.threads import maximum_threads

__all__ = ["Roofs", "roofs"]

_PRODUCT = 1024  # rows and columns of the matrices that are multiplied
_STREAM_BYTES = 3 << 25  # in the arrays that are streamed: more than caches hold
_REPEATS = 12
_SECONDS = 0.5  # after which there are no more repeats


@dataclass(frozen=True)
class Roofs:
    """The greatest rates that were measured.

    Attributes:
        operations: operations a second in NumPy's product of matrices; None for types that it has no BLAS for.
        bandwidth: bytes a second between memory and processor, in a sum of two arrays that no cache holds.
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
    """Seconds of the fastest of some runs, after one that does not count: others may keep the machine busy."""
    work()
    seconds: list[float] = []
    while len(seconds) < _REPEATS and sum(seconds) < _SECONDS:
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return max(min(seconds), 1e-9)


@cache
def _product_rate(dtype: str) -> float:
    left = np.ones((_PRODUCT, _PRODUCT), dtype)
    right, out = left.copy(), left.copy()
    return 2 * _PRODUCT**3 / _shortest(lambda: np.dot(left, right, out=out))


@cache
def _bandwidth() -> float:
    workers = maximum_threads()
    added, target = (np.ones(_STREAM_BYTES // 16) for _ in range(2))
    pieces = list(zip(np.array_split(added, workers), np.array_split(target, workers), strict=True))
    with ThreadPoolExecutor(workers) as pool:
        seconds = _shortest(lambda: list(pool.map(lambda piece: np.add(piece[0], piece[1], out=piece[1]), pieces)))
    return (added.nbytes + 2 * target.nbytes) / seconds  # one is read, the other is read and written
