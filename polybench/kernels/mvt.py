"""mvt: x1 = x1 + A y1 and x2 = x2 + A^T y2."""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def mvt(x1, x2, y1, y2, A):
    n = len(x1)
    for i in range(n):
        for j in range(n):
            x1[i] = x1[i] + A[i, j] * y1[j]
    for i in range(n):
        for j in range(n):
            x2[i] = x2[i] + A[j, i] * y2[j]


def initialise(n: int) -> Arguments:
    i, j = np.ogrid[:n, :n]
    A = i * j % n / n
    x1, x2, y1, y2 = ((np.arange(n) + offset) % n / n for offset in (0, 1, 3, 4))
    return x1, x2, y1, y2, A


def reference(x1, x2, y1, y2, A):
    x1 += A @ y1
    x2 += y2 @ A


def operations(n: int) -> int:
    return 4 * n * n


BENCHMARK = Benchmark("mvt", mvt, initialise, reference, ("x1", "x2"), operations)
