"""gemm: C = alpha A B + beta C."""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def gemm(alpha, beta, C, A, B):
    ni, nj = C.shape
    nk = A.shape[1]
    for i in range(ni):
        for j in range(nj):
            C[i, j] *= beta
        for k in range(nk):
            for j in range(nj):
                C[i, j] += alpha * A[i, k] * B[k, j]


def initialise(ni: int, nj: int, nk: int) -> Arguments:
    i, j = np.ogrid[:ni, :nj]
    C = (i * j + 1) % ni / ni
    i, j = np.ogrid[:ni, :nk]
    A = i * (j + 1) % nk / nk
    i, j = np.ogrid[:nk, :nj]
    B = i * (j + 2) % nj / nj
    return 1.5, 1.2, C, A, B


def reference(alpha, beta, C, A, B):
    C[:] = alpha * A @ B + beta * C


def operations(ni: int, nj: int, nk: int) -> int:
    return 2 * ni * nj * nk + ni * nj + ni * nk


BENCHMARK = Benchmark("gemm", gemm, initialise, reference, ("C",), operations)
