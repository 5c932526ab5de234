"""3mm: G = (A B) (C D), by way of E = A B and F = C D."""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def mm3(E, A, B, F, C, D, G):
    ni, nj = E.shape
    nk, nm, nl = A.shape[1], C.shape[1], D.shape[1]
    for i in range(ni):
        for j in range(nj):
            E[i, j] = 0.0
            for k in range(nk):
                E[i, j] += A[i, k] * B[k, j]
    for i in range(nj):
        for j in range(nl):
            F[i, j] = 0.0
            for k in range(nm):
                F[i, j] += C[i, k] * D[k, j]
    for i in range(ni):
        for j in range(nl):
            G[i, j] = 0.0
            for k in range(nj):
                G[i, j] += E[i, k] * F[k, j]


def initialise(ni: int, nj: int, nk: int, nl: int, nm: int) -> Arguments:
    i, j = np.ogrid[:ni, :nk]
    A = (i * j + 1) % ni / (5 * ni)
    i, j = np.ogrid[:nk, :nj]
    B = (i * (j + 1) + 2) % nj / (5 * nj)
    i, j = np.ogrid[:nj, :nm]
    C = i * (j + 3) % nl / (5 * nl)
    i, j = np.ogrid[:nm, :nl]
    D = (i * (j + 2) + 2) % nk / (5 * nk)
    return np.zeros((ni, nj)), A, B, np.zeros((nj, nl)), C, D, np.zeros((ni, nl))


def reference(E, A, B, F, C, D, G):
    E[:] = A @ B
    F[:] = C @ D
    G[:] = E @ F


def operations(ni: int, nj: int, nk: int, nl: int, nm: int) -> int:
    return 2 * (ni * nj * nk + nj * nl * nm + ni * nl * nj)


BENCHMARK = Benchmark("3mm", mm3, initialise, reference, ("E", "F", "G"), operations)
