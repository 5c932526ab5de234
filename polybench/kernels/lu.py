"""lu: A = L U without pivoting, L with a diagonal of ones; both factors overwrite A."""

import polytune
from polybench.benchmark import Arguments, Benchmark
from polybench.matrices import lu_in_place, positive_definite


@polytune.kernel
def lu(A):
    n = len(A)
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= A[j, j]
        for j in range(i, n):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]


def initialise(n: int) -> Arguments:
    return (positive_definite(n),)


def reference(A):
    lu_in_place(A)


def operations(n: int) -> int:
    return n * (n - 1) * (4 * n + 1) // 6


BENCHMARK = Benchmark("lu", lu, initialise, reference, ("A",), operations, perturbation=0.0)
