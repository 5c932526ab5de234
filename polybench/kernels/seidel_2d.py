"""seidel-2d: a nine-point average in a plane, in place, so that a point sees new values above and to its left."""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def seidel_2d(tsteps, A):
    n = len(A)
    for _t in range(tsteps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = (
                    A[i - 1, j - 1]
                    + A[i - 1, j]
                    + A[i - 1, j + 1]
                    + A[i, j - 1]
                    + A[i, j]
                    + A[i, j + 1]
                    + A[i + 1, j - 1]
                    + A[i + 1, j]
                    + A[i + 1, j + 1]
                ) / 9.0


def initialise(tsteps: int, n: int) -> Arguments:
    i, j = np.ogrid[:n, :n]
    return tsteps, (i * (j + 2) + 2) / n


def reference(tsteps, A):
    for _ in range(tsteps):
        for i in range(1, len(A) - 1):
            outside = A[i - 1] + A[i + 1]
            known = outside[:-2] + outside[1:-1] + outside[2:] + A[i, 1:-1] + A[i, 2:]
            known[0] += A[i, 0]
            A[i, 1:-1] = _decaying_sum(known / 9, 1 / 9)


def _decaying_sum(values: np.ndarray, decay: float) -> np.ndarray:
    """The solution of ``x[j] = values[j] + decay * x[j-1]``, which is ``values[j] + decay values[j-1] + ...``.

    Its geometric series is the product of 1 + d, 1 + d^2, 1 + d^4, ..., each a shifted sum; powers of the decay below
    rounding are left out.
    """
    total, distance, weight = values.copy(), 1, decay
    while distance < len(total) and weight > 1e-18:
        total[distance:] += weight * total[:-distance]
        distance, weight = 2 * distance, weight * weight
    return total


def operations(tsteps: int, n: int) -> int:
    return 9 * tsteps * (n - 2) ** 2


BENCHMARK = Benchmark("seidel-2d", seidel_2d, initialise, reference, ("A",), operations)
