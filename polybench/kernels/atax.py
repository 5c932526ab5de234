"""atax: y = A^T (A x), by way of tmp = A x."""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def atax(A, x, y, tmp):
    m, n = A.shape
    for i in range(n):
        y[i] = 0.0
    for i in range(m):
        tmp[i] = 0.0
        for j in range(n):
            tmp[i] = tmp[i] + A[i, j] * x[j]
        for j in range(n):
            y[j] = y[j] + A[i, j] * tmp[i]


def initialise(m: int, n: int) -> Arguments:
    i, j = np.ogrid[:m, :n]
    A = (i + j) % n / (5 * m)
    x = 1 + np.arange(n) / n
    return A, x, np.zeros(n), np.zeros(m)


def reference(A, x, y, tmp):
    tmp[:] = A @ x
    y[:] = tmp @ A


def operations(m: int, n: int) -> int:
    return 4 * m * n


BENCHMARK = Benchmark("atax", atax, initialise, reference, ("y", "tmp"), operations)
