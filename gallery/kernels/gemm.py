"""gemm: C = alpha A B + beta C, element by element."""

import numpy as np

import polytune
from gallery.datasets import CATALOGUE
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def gemm(alpha, A, B, beta, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            total = 0.0
            for k in range(A.shape[1]):
                total += A[i, k] * B[k, j]
            C[i, j] = alpha * total + beta * C[i, j]


def initialise(ni: int, nj: int, nk: int) -> Arguments:
    i, k = np.ogrid[:ni, :nk]
    A = np.sin(i + 2.0 * k)
    k, j = np.ogrid[:nk, :nj]
    B = np.cos(3.0 * k - j)
    i, j = np.ogrid[:ni, :nj]
    C = (i + j) % 3 / 3.0
    return 0.5, A, B, 2.0, C


def reference(alpha, A, B, beta, C):
    C[:] = alpha * (A @ B) + beta * C


def operations(ni: int, nj: int, nk: int) -> int:
    return 2 * ni * nj * nk + 3 * ni * nj


BENCHMARK = Benchmark("gemm", gemm, initialise, reference, ("C",), operations, catalogue=CATALOGUE)
