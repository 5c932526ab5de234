"""durbin: the Levinson-Durbin recursion for the Yule-Walker equations T y = -r.

T is the symmetric Toeplitz matrix with ones on its diagonal and r[0], r[1], ... beside it
(Golub and Van Loan, Matrix Computations, section 4.7).  With the suite's r it is indefinite and ill-conditioned: two
correct programs agree in about nine digits.
"""

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark


@polytune.kernel
def durbin(r, y):
    n = len(r)
    z = np.empty(n)
    y[0] = -r[0]
    beta = 1.0
    alpha = -r[0]
    for k in range(1, n):
        beta = (1.0 - alpha * alpha) * beta
        total = 0.0
        for i in range(k):
            total += r[k - i - 1] * y[i]
        alpha = -(r[k] + total) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha


def initialise(n: int) -> Arguments:
    return n + 1.0 - np.arange(n), np.zeros(n)


def reference(r, y):
    first_row = np.concatenate(([1.0], r[:-1]))
    distance = np.abs(np.subtract.outer(np.arange(len(r)), np.arange(len(r))))
    y[:] = np.linalg.solve(first_row[distance], -r)


def operations(n: int) -> int:
    return 2 * n * (n - 1) + 5 * (n - 1)


BENCHMARK = Benchmark("durbin", durbin, initialise, reference, ("y",), operations, tolerance=1e-6, perturbation=0.0)
