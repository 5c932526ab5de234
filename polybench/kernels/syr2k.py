"""syr2k: C = alpha (A B^T + B A^T) + beta C, on the lower triangle of C."""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def syr2k(alpha, beta, C, A, B):
    n, m = A.shape
    for i in range(n):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(m):
            for j in range(i + 1):
                C[i, j] += A[j, k] * alpha * B[i, k] + B[j, k] * alpha * A[i, k]


def initialise(m: int, n: int) -> Arguments:
    i, j = np.ogrid[:n, :m]
    A = (i * j + 1) % n / n
    B = (i * j + 2) % m / m
    i, j = np.ogrid[:n, :n]
    C = (i * j + 3) % n / m
    return 1.5, 1.2, C, A, B


def reference(alpha, beta, C, A, B):
    product = A @ B.T
    lower = np.tril_indices(len(C))
    C[lower] = (alpha * (product + product.T) + beta * C)[lower]


def operations(m: int, n: int) -> int:
    return (4 * m + 1) * n * (n + 1) // 2 + 2 * n * m


BENCHMARK = Benchmark("syr2k", syr2k, initialise, reference, ("C",), operations)
