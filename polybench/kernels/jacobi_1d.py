"""jacobi-1d: a three-point average along a line, with two arrays in turn."""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def jacobi_1d(tsteps, A, B):
    n = len(A)
    for _t in range(tsteps):
        for i in range(1, n - 1):
            B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1])
        for i in range(1, n - 1):
            A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1])


def initialise(tsteps: int, n: int) -> Arguments:
    i = np.arange(n)
    return tsteps, (i + 2) / n, (i + 3) / n


def reference(tsteps, A, B):
    for _ in range(tsteps):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])


def operations(tsteps: int, n: int) -> int:
    return 6 * tsteps * (n - 2)


BENCHMARK = Benchmark("jacobi-1d", jacobi_1d, initialise, reference, ("A", "B"), operations)
