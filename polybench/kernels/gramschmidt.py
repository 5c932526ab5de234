"""gramschmidt: A = Q R by the modified Gram-Schmidt process; A is left with the residual columns.

The suite's A has more columns than rows, and its leading columns are dependent before that.  From the first dependent
column on, the process normalises rounding errors, or divides zero by zero; two correct programs differ there, and
``error`` compares what is determined.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

import polytune
from polybench.benchmark import Arguments, Benchmark, norm_wise_error


@polytune.kernel
def gramschmidt(A, R, Q):
    m, n = A.shape
    for k in range(n):
        nrm = 0.0
        for i in range(m):
            nrm += A[i, k] * A[i, k]
        R[k, k] = math.sqrt(nrm)
        for i in range(m):
            Q[i, k] = A[i, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = 0.0
            for i in range(m):
                R[k, j] += Q[i, k] * A[i, j]
            for i in range(m):
                A[i, j] = A[i, j] - Q[i, k] * R[k, j]


def initialise(m: int, n: int) -> Arguments:
    i, j = np.ogrid[:m, :n]
    A = (i * j % m / m) * 100 + 10
    return A, np.zeros((n, n)), np.zeros((m, n))


def reference(A, R, Q):
    for k in range(A.shape[1]):
        R[k, k] = np.linalg.norm(A[:, k])
        with np.errstate(invalid="ignore"):
            Q[:, k] = A[:, k] / R[k, k]
        R[k, k + 1 :] = Q[:, k] @ A[:, k + 1 :]
        A[:, k + 1 :] -= np.outer(Q[:, k], R[k, k + 1 :])


def error(initial: Mapping[str, Any], expected: Mapping[str, Any], actual: Mapping[str, Any]) -> float:
    """The largest of: the difference from the reference as far as it is determined, how far the columns of Q are from
    length one, how far Q R is from the initial A, and the residual A from Q times R's diagonal.

    The last three hold for every column, dependent or not, unless a residual is exactly zero.
    """
    diagonal = np.diag(expected["R"])
    with np.errstate(invalid="ignore"):
        dependent = np.flatnonzero(~(diagonal >= 1e-8 * diagonal[0]))
    determined = dependent[0] if len(dependent) else len(diagonal)
    finite = np.isfinite(actual["Q"]).all() and np.isfinite(actual["R"]).all()
    columns = len(diagonal) if finite else determined
    A, Q, R = actual["A"][:, :columns], actual["Q"][:, :columns], actual["R"][:columns, :columns]
    return max(
        norm_wise_error(expected["Q"][:, :determined], actual["Q"][:, :determined]),
        norm_wise_error(expected["R"][:determined], np.triu(actual["R"])[:determined]),
        norm_wise_error(np.tril(initial["R"], -1), np.tril(actual["R"], -1)),
        norm_wise_error(np.ones(columns), np.linalg.norm(Q, axis=0)),
        norm_wise_error(initial["A"][:, :columns], Q @ np.triu(R)),
        norm_wise_error(A, Q * np.diag(R)),
    )


def operations(m: int, n: int) -> int:
    return 2 * m * n * (n - 1) + n * (3 * m + 1)


BENCHMARK = Benchmark("gramschmidt", gramschmidt, initialise, reference, ("A", "R", "Q"), operations, error=error)
