"""ludcmp: solve A x = b by an LU factorisation without pivoting, then L y = b and U x = y."""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark
from polybench.matrices import lu_in_place, positive_definite


@polytune.kernel
def ludcmp(A, b, x, y):
    n = len(b)
    for i in range(n):
        for j in range(i):
            w = A[i, j]
            for k in range(j):
                w -= A[i, k] * A[k, j]
            A[i, j] = w / A[j, j]
        for j in range(i, n):
            w = A[i, j]
            for k in range(i):
                w -= A[i, k] * A[k, j]
            A[i, j] = w
    for i in range(n):
        w = b[i]
        for j in range(i):
            w -= A[i, j] * y[j]
        y[i] = w
    for i in range(n - 1, -1, -1):
        w = y[i]
        for j in range(i + 1, n):
            w -= A[i, j] * x[j]
        x[i] = w / A[i, i]


def initialise(n: int) -> Arguments:
    b = np.arange(1, n + 1) / n / 2.0 + 4
    return positive_definite(n), b, np.zeros(n), np.zeros(n)


def reference(A, b, x, y):
    lu_in_place(A)
    y[:] = np.linalg.solve(np.tril(A, -1) + np.eye(len(b)), b)
    x[:] = np.linalg.solve(np.triu(A), y)


def operations(n: int) -> int:
    return n * (n - 1) * (4 * n + 1) // 6 + n * (2 * n - 1)


BENCHMARK = Benchmark("ludcmp", ludcmp, initialise, reference, ("A", "x", "y"), operations, perturbation=0.0)
