"""jacobi-2d: a five-point average in a plane, with two arrays in turn."""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def jacobi_2d(tsteps, A, B):
    n = len(A)
    for _t in range(tsteps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, 1 + j] + A[1 + i, j] + A[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, 1 + j] + B[1 + i, j] + B[i - 1, j])


def initialise(tsteps: int, n: int) -> Arguments:
    i, j = np.ogrid[:n, :n]
    return tsteps, (i * (j + 2) + 2) / n, (i * (j + 3) + 3) / n


def reference(tsteps, A, B):
    for _ in range(tsteps):
        _step(A, B)
        _step(B, A)


def _step(source: np.ndarray, target: np.ndarray) -> None:
    rows = source[:-2, 1:-1] + source[1:-1, 1:-1] + source[2:, 1:-1]
    target[1:-1, 1:-1] = 0.2 * (rows + source[1:-1, :-2] + source[1:-1, 2:])


def operations(tsteps: int, n: int) -> int:
    return 10 * tsteps * (n - 2) ** 2


BENCHMARK = Benchmark("jacobi-2d", jacobi_2d, initialise, reference, ("A", "B"), operations)
