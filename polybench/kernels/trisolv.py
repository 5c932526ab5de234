"""trisolv: solve L x = b with L lower triangular."""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def trisolv(L, x, b):
    n = len(x)
    for i in range(n):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] = x[i] / L[i, i]


def initialise(n: int) -> Arguments:
    i, j = np.ogrid[:n, :n]
    L = np.tril((i + n - j + 1) * 2 / n)
    return L, np.full(n, -999.0), np.arange(n, dtype=np.float64)


def reference(L, x, b):
    x[:] = np.linalg.solve(np.tril(L), b)


def operations(n: int) -> int:
    return n * n


BENCHMARK = Benchmark("trisolv", trisolv, initialise, reference, ("x",), operations, perturbation=0.0)
