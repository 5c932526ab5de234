"""The limits of the machine, measured in the same turns as the kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from benchmarks.timing import Sample
from polybench.benchmark import Arguments

PRODUCT_SIZE = 1536
"""Rows and columns of the matrices that BLAS multiplies: large enough for its full speed."""

TRIAD_BYTES = 1 << 28
"""The bytes that the triad moves: more than caches hold."""

_LEAST_READ = 1 << 16
"""Arrays of fewer bytes are not read: starting the threads takes longer."""

PRODUCTS = {"float64": "dgemm", "float32": "sgemm"}
"""The limits of arithmetic, by dtype."""

TRIAD, READ, STREAMS = "triad", "read", "streams"


@numba.njit(fastmath=True)
def _sum(values: Any) -> Any:
    """One after the other, as a plain loop reads them."""
    total = values.dtype.type(0)
    for value in values:
        total += value
    return total


@numba.njit(fastmath=True)
def _sum_of_streams(values: Any) -> Any:
    """Sum from eight places at once: some processors fetch a part of what they could for a single stream."""
    zero = values.dtype.type(0)
    t0, t1, t2, t3, t4, t5, t6, t7 = zero, zero, zero, zero, zero, zero, zero, zero
    n = values.size // 8
    s0, s1, s2, s3 = values[:n], values[n : 2 * n], values[2 * n : 3 * n], values[3 * n : 4 * n]
    s4, s5, s6, s7 = values[4 * n : 5 * n], values[5 * n : 6 * n], values[6 * n : 7 * n], values[7 * n : 8 * n]
    for i in range(n):
        t0 += s0[i]
        t1 += s1[i]
        t2 += s2[i]
        t3 += s3[i]
        t4 += s4[i]
        t5 += s5[i]
        t6 += s6[i]
        t7 += s7[i]
    return t0 + t1 + t2 + t3 + t4 + t5 + t6 + t7 + _sum(values[8 * n :])


@numba.njit(parallel=True)
def _read(values: Any, parts: int) -> Any:
    """The sum of all elements, which reads them and writes nothing; each thread has a block of them."""
    totals = np.zeros(parts, values.dtype)
    for part in numba.prange(parts):
        totals[part] = _sum(values[part * values.size // parts : (part + 1) * values.size // parts])
    return totals.sum()


@numba.njit(parallel=True)
def _read_streams(values: Any, parts: int) -> Any:
    """The same by eight streams a thread."""
    totals = np.zeros(parts, values.dtype)
    for part in numba.prange(parts):
        totals[part] = _sum_of_streams(values[part * values.size // parts : (part + 1) * values.size // parts])
    return totals.sum()


@numba.njit(parallel=True, fastmath=True)
def _triad(a: Any, b: Any, c: Any, factor: float) -> None:
    for i in numba.prange(a.size):
        a[i] = b[i] + factor * c[i]


@dataclass(frozen=True)
class Rate:
    """A limit: how many operations or bytes a second, from repeated measurements."""

    seconds: Sample
    amount: float

    @property
    def median(self) -> float:
        return self.amount / self.seconds.median


@dataclass(frozen=True)
class Probe:
    """One call that does nothing but what is to be measured, and how many operations or bytes that is."""

    call: Callable[..., Any]
    amount: float


def probes(arguments: Arguments) -> dict[str, Probe]:
    """The functions that measure the limits, by name; each is called with the arguments of a kernel.

    ``dgemm`` and ``sgemm`` are NumPy's products of square matrices, counted as two operations for each multiplication;
    ``triad`` is ``a = b + s * c`` on arrays that no cache holds, counted as three accesses for each element; ``read``
    adds up the arrays of a call, one after the other, in a plain loop, and ``streams`` in the way that is fastest.

    Args:
        arguments: those of the kernel beside which they are measured.
    """
    found: dict[str, Probe] = {}
    for dtype, name in PRODUCTS.items():
        left = np.random.default_rng(0).random((PRODUCT_SIZE, PRODUCT_SIZE)).astype(dtype)
        right, out = left.T.copy(), np.empty_like(left)
        found[name] = Probe(lambda *_, a=left, b=right, c=out: np.dot(a, b, out=c), 2.0 * PRODUCT_SIZE**3)
    a, b, c = (np.full(TRIAD_BYTES // 24, 1.0 + number) for number in range(3))
    found[TRIAD] = Probe(lambda *_: _triad(a, b, c, 0.5), float(24 * a.size))
    amount = float(sum(value.nbytes for value in _large(arguments)))
    if amount:
        parts = numba.get_num_threads()
        for name, read in ((READ, _read), (STREAMS, _read_streams)):
            found[name] = Probe(lambda *given, read=read: [read(v, parts) for v in _large(given)], amount)
    return found


def _large(arguments: Arguments) -> list[np.ndarray]:
    """The elements of those arrays that are worth being read by several threads."""
    arrays = [value for value in arguments if isinstance(value, np.ndarray) and value.nbytes >= _LEAST_READ]
    return [array.reshape(-1) for array in arrays]


def rates(measured: Mapping[str, Sample], probed: Mapping[str, Probe]) -> dict[str, Rate]:
    """The limits, from the seconds of the probes."""
    return {name: Rate(measured[name], probe.amount) for name, probe in probed.items() if name in measured}
