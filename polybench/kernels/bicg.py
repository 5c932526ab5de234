"""bicg: the two products of the biconjugate gradient method, s = A^T r and q = A p."""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def bicg(A, s, q, p, r):
    n, m = A.shape
    for i in range(m):
        s[i] = 0.0
    for i in range(n):
        q[i] = 0.0
        for j in range(m):
            s[j] = s[j] + r[i] * A[i, j]
            q[i] = q[i] + A[i, j] * p[j]


def initialise(m: int, n: int) -> Arguments:
    i, j = np.ogrid[:n, :m]
    A = i * (j + 1) % n / n
    return A, np.zeros(m), np.zeros(n), np.arange(m) / m, np.arange(n) / n


def reference(A, s, q, p, r):
    s[:] = r @ A
    q[:] = A @ p


def operations(m: int, n: int) -> int:
    return 4 * m * n


BENCHMARK = Benchmark("bicg", bicg, initialise, reference, ("s", "q"), operations)
