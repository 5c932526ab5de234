"""gemver: a rank-2 update of A, then two products with it: x = beta A^T y + z and w = alpha A x."""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def gemver(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    n = len(x)
    for i in range(n):
        for j in range(n):
            A[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
    for i in range(n):
        for j in range(n):
            x[i] = x[i] + beta * A[j, i] * y[j]
    for i in range(n):
        x[i] = x[i] + z[i]
    for i in range(n):
        for j in range(n):
            w[i] = w[i] + alpha * A[i, j] * x[j]


def initialise(n: int) -> Arguments:
    i, j = np.ogrid[:n, :n]
    A = i * j % n / n
    u1 = np.arange(n, dtype=np.float64)
    share = (u1 + 1) / n
    u2, v1, v2, y, z = (share / divisor for divisor in (2.0, 4.0, 6.0, 8.0, 9.0))
    return 1.5, 1.2, A, u1, v1, u2, v2, np.zeros(n), np.zeros(n), y, z


def reference(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    A += np.outer(u1, v1) + np.outer(u2, v2)
    x += beta * (y @ A) + z
    w += alpha * (A @ x)


def operations(n: int) -> int:
    return 8 * n * n + 3 * n


BENCHMARK = Benchmark("gemver", gemver, initialise, reference, ("A", "w", "x"), operations)
