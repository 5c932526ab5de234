"""gemm-batched: many products of small matrices, C[b] = A[b] B[b]."""

import numpy as np

import polytune
from gallery.datasets import CATALOGUE
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def gemm_batched(A, B, C):
    for b in range(C.shape[0]):
        for i in range(C.shape[1]):
            for j in range(C.shape[2]):
                total = 0.0
                for k in range(A.shape[2]):
                    total += A[b, i, k] * B[b, k, j]
                C[b, i, j] = total


def initialise(batch: int, n: int) -> Arguments:
    b, i, k = np.ogrid[:batch, :n, :n]
    A = (b + 2 * i + 3 * k) % 13 / 13.0
    B = (5 * b + i * k) % 9 / 9.0
    return A, B, np.zeros((batch, n, n))


def reference(A, B, C):
    C[:] = np.matmul(A, B)


def operations(batch: int, n: int) -> int:
    return 2 * batch * n**3


BENCHMARK = Benchmark("gemm-batched", gemm_batched, initialise, reference, ("C",), operations, catalogue=CATALOGUE)
