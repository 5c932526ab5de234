"""heat-3d: the heat equation in a cube, explicit, with two arrays in turn."""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def heat_3d(tsteps, A, B):
    n = len(A)
    for _t in range(1, tsteps + 1):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    B[i, j, k] = (
                        0.125 * (A[i + 1, j, k] - 2.0 * A[i, j, k] + A[i - 1, j, k])
                        + 0.125 * (A[i, j + 1, k] - 2.0 * A[i, j, k] + A[i, j - 1, k])
                        + 0.125 * (A[i, j, k + 1] - 2.0 * A[i, j, k] + A[i, j, k - 1])
                        + A[i, j, k]
                    )
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    A[i, j, k] = (
                        0.125 * (B[i + 1, j, k] - 2.0 * B[i, j, k] + B[i - 1, j, k])
                        + 0.125 * (B[i, j + 1, k] - 2.0 * B[i, j, k] + B[i, j - 1, k])
                        + 0.125 * (B[i, j, k + 1] - 2.0 * B[i, j, k] + B[i, j, k - 1])
                        + B[i, j, k]
                    )


def initialise(tsteps: int, n: int) -> Arguments:
    i, j, k = np.ogrid[:n, :n, :n]
    A = (i + j + (n - k)) * 10 / n
    return tsteps, A, A.copy()


def reference(tsteps, A, B):
    for _ in range(tsteps):
        _step(A, B)
        _step(B, A)


def _step(source: np.ndarray, target: np.ndarray) -> None:
    """Write the inner points of ``target``: a quarter of the point, an eighth of each of its six neighbours."""
    neighbours = source[2:, 1:-1, 1:-1] + source[:-2, 1:-1, 1:-1]
    neighbours += source[1:-1, 2:, 1:-1]
    neighbours += source[1:-1, :-2, 1:-1]
    neighbours += source[1:-1, 1:-1, 2:]
    neighbours += source[1:-1, 1:-1, :-2]
    target[1:-1, 1:-1, 1:-1] = 0.125 * neighbours + 0.25 * source[1:-1, 1:-1, 1:-1]


def operations(tsteps: int, n: int) -> int:
    return 30 * tsteps * (n - 2) ** 3


BENCHMARK = Benchmark("heat-3d", heat_3d, initialise, reference, ("A", "B"), operations)
