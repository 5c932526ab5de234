"""symm: C = alpha A B + beta C, with A symmetric and only its lower triangle stored."""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def symm(alpha, beta, C, A, B):
    m, n = C.shape
    for i in range(m):
        for j in range(n):
            temp2 = 0.0
            for k in range(i):
                C[k, j] += alpha * B[i, j] * A[i, k]
                temp2 += B[k, j] * A[i, k]
            C[i, j] = beta * C[i, j] + alpha * B[i, j] * A[i, i] + alpha * temp2


def initialise(m: int, n: int) -> Arguments:
    i, j = np.ogrid[:m, :n]
    C = (i + j) % 100 / m
    B = (n + i - j) % 100 / m
    i, j = np.ogrid[:m, :m]
    # A value that would show in the result stands where nothing may be read.
    A = np.where(j <= i, (i + j) % 100 / m, -999.0)
    return 1.5, 1.2, C, A, B


def reference(alpha, beta, C, A, B):
    symmetric = np.tril(A) + np.tril(A, -1).T
    C[:] = alpha * symmetric @ B + beta * C


def operations(m: int, n: int) -> int:
    return 2 * m * (m - 1) * n + 6 * m * n


BENCHMARK = Benchmark("symm", symm, initialise, reference, ("C",), operations)
