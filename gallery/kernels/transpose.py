"""transpose: B = A^T, out of place."""

import numpy as np

import polytune
from gallery.datasets import CATALOGUE
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def transpose(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[j, i] = A[i, j]


def initialise(m: int, n: int) -> Arguments:
    i, j = np.ogrid[:m, :n]
    return 1.0 * i * n + j, np.zeros((n, m))


def reference(A, B):
    B[:] = A.T


def operations(m: int, n: int) -> int:
    """None: what it does is to move elements."""
    return 0


BENCHMARK = Benchmark(
    "transpose", transpose, initialise, reference, ("B",), operations, tolerance=0.0, catalogue=CATALOGUE
)
