"""cholesky: A = L L^T for a symmetric positive definite A; L overwrites its lower triangle."""

import math

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark
from polybench.matrices import positive_definite


@polytune.kernel
def cholesky(A):
    n = len(A)
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = math.sqrt(A[i, i])


def initialise(n: int) -> Arguments:
    return (positive_definite(n),)


def reference(A):
    lower = np.tril_indices(len(A))
    A[lower] = np.linalg.cholesky(A)[lower]


def operations(n: int) -> int:
    return n * (n + 1) * (2 * n + 1) // 6


BENCHMARK = Benchmark("cholesky", cholesky, initialise, reference, ("A",), operations, perturbation=0.0)
