"""2mm: D = alpha A B C + beta D, by way of tmp = alpha A B."""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def mm2(alpha, beta, tmp, A, B, C, D):
    ni, nj = tmp.shape
    nk, nl = A.shape[1], D.shape[1]
    for i in range(ni):
        for j in range(nj):
            tmp[i, j] = 0.0
            for k in range(nk):
                tmp[i, j] += alpha * A[i, k] * B[k, j]
    for i in range(ni):
        for j in range(nl):
            D[i, j] *= beta
            for k in range(nj):
                D[i, j] += tmp[i, k] * C[k, j]


def initialise(ni: int, nj: int, nk: int, nl: int) -> Arguments:
    i, j = np.ogrid[:ni, :nk]
    A = (i * j + 1) % ni / ni
    i, j = np.ogrid[:nk, :nj]
    B = i * (j + 1) % nj / nj
    i, j = np.ogrid[:nj, :nl]
    C = (i * (j + 3) + 1) % nl / nl
    i, j = np.ogrid[:ni, :nl]
    D = i * (j + 2) % nk / nk
    return 1.5, 1.2, np.zeros((ni, nj)), A, B, C, D


def reference(alpha, beta, tmp, A, B, C, D):
    tmp[:] = alpha * A @ B
    D[:] = tmp @ C + beta * D


def operations(ni: int, nj: int, nk: int, nl: int) -> int:
    return 2 * ni * nj * nk + ni * nk + 2 * ni * nl * nj + ni * nl


BENCHMARK = Benchmark("2mm", mm2, initialise, reference, ("tmp", "D"), operations)
