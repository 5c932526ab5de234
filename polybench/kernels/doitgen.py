"""doitgen: A[r, q, :] = A[r, q, :] C4 for every r and q, the kernel of a multiresolution analysis.

The suite takes the scratch vector as an argument; here it is local.  NumPy has its long name in this file, because
``np`` is the suite's name of a size.
"""

import numpy

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def doitgen(A, C4):
    nr, nq, np = A.shape
    total = numpy.empty(np)
    for r in range(nr):
        for q in range(nq):
            for p in range(np):
                total[p] = 0.0
                for s in range(np):
                    total[p] += A[r, q, s] * C4[s, p]
            for p in range(np):
                A[r, q, p] = total[p]


def initialise(nq: int, nr: int, np: int) -> Arguments:
    i, j, k = numpy.ogrid[:nr, :nq, :np]
    A = (i * j + k) % np / np
    i, j = numpy.ogrid[:np, :np]
    C4 = i * j % np / np
    return A, C4


def reference(A, C4):
    A[:] = A @ C4


def operations(nq: int, nr: int, np: int) -> int:
    return 2 * nr * nq * np**2


BENCHMARK = Benchmark("doitgen", doitgen, initialise, reference, ("A",), operations)
