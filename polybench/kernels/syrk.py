"""syrk: C = alpha A A^T + beta C, on the lower triangle of C."""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def syrk(alpha, beta, C, A):
    n, m = A.shape
    for i in range(n):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(m):
            for j in range(i + 1):
                C[i, j] += alpha * A[i, k] * A[j, k]


def initialise(m: int, n: int) -> Arguments:
    i, j = np.ogrid[:n, :m]
    A = (i * j + 1) % n / n
    i, j = np.ogrid[:n, :n]
    C = (i * j + 2) % m / m
    return 1.5, 1.2, C, A


def reference(alpha, beta, C, A):
    lower = np.tril_indices(len(C))
    C[lower] = (alpha * A @ A.T + beta * C)[lower]


def operations(m: int, n: int) -> int:
    return (2 * m + 1) * n * (n + 1) // 2 + n * m


BENCHMARK = Benchmark("syrk", syrk, initialise, reference, ("C",), operations)
