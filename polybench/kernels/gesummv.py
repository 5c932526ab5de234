"""gesummv: y = alpha A x + beta B x."""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def gesummv(alpha, beta, A, B, tmp, x, y):
    n = len(x)
    for i in range(n):
        tmp[i] = 0.0
        y[i] = 0.0
        for j in range(n):
            tmp[i] = A[i, j] * x[j] + tmp[i]
            y[i] = B[i, j] * x[j] + y[i]
        y[i] = alpha * tmp[i] + beta * y[i]


def initialise(n: int) -> Arguments:
    i, j = np.ogrid[:n, :n]
    A = (i * j + 1) % n / n
    B = (i * j + 2) % n / n
    return 1.5, 1.2, A, B, np.zeros(n), np.arange(n) / n, np.zeros(n)


def reference(alpha, beta, A, B, tmp, x, y):
    tmp[:] = A @ x
    y[:] = alpha * tmp + beta * (B @ x)


def operations(n: int) -> int:
    return 4 * n * n + 3 * n


BENCHMARK = Benchmark("gesummv", gesummv, initialise, reference, ("tmp", "y"), operations)
