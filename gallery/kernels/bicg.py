"""bicg: q = A p and s = A^T r, the two products of a step of the biconjugate gradient method, in one sweep over A."""

import numpy as np

import polytune
from gallery.datasets import CATALOGUE
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def bicg(A, p, r, q, s):
    m, n = A.shape
    for j in range(n):
        s[j] = 0.0
    for i in range(m):
        q[i] = 0.0
        for j in range(n):
            q[i] += A[i, j] * p[j]
            s[j] += A[i, j] * r[i]


def initialise(m: int, n: int) -> Arguments:
    i, j = np.ogrid[:m, :n]
    A = np.cos(0.1 * i + 0.3 * j)
    p = 1.0 / (1 + np.arange(n))
    r = np.arange(m) % 7 / 7.0
    return A, p, r, np.zeros(m), np.zeros(n)


def reference(A, p, r, q, s):
    q[:] = A @ p
    s[:] = r @ A


def operations(m: int, n: int) -> int:
    return 4 * m * n


BENCHMARK = Benchmark("bicg", bicg, initialise, reference, ("q", "s"), operations, catalogue=CATALOGUE)
