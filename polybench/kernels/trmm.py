"""trmm: B = alpha A^T B, with A lower triangular and a diagonal of ones that is not read."""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def trmm(alpha, A, B):
    m, n = B.shape
    for i in range(m):
        for j in range(n):
            for k in range(i + 1, m):
                B[i, j] += A[k, i] * B[k, j]
            B[i, j] = alpha * B[i, j]


def initialise(m: int, n: int) -> Arguments:
    i, j = np.ogrid[:m, :m]
    A = np.tril((i + j) % m / m, -1) + np.eye(m)
    i, j = np.ogrid[:m, :n]
    B = (n + (i - j)) % n / n
    return 1.5, A, B


def reference(alpha, A, B):
    unit = np.tril(A, -1) + np.eye(len(A))
    B[:] = alpha * unit.T @ B


def operations(m: int, n: int) -> int:
    return m * m * n


BENCHMARK = Benchmark("trmm", trmm, initialise, reference, ("B",), operations)
