"""Matrices that several benchmarks start from, and the factorisation that two references share."""

from __future__ import annotations

import numpy as np


def positive_definite(n: int) -> np.ndarray:
    """The symmetric positive definite matrix that the suite factorises, float64[n, n].

    It is ``L @ L.T`` where L is lower triangular with ``1 - j / n`` in column j below a diagonal of ones.
    """
    factor = np.tril(np.broadcast_to(1 - np.arange(n) / n, (n, n)), -1)
    np.fill_diagonal(factor, 1.0)
    return factor @ factor.T


def lu_in_place(A: np.ndarray) -> None:
    """Overwrite A, float64[n, n], by the factors of ``A = L @ U``, L with a diagonal of ones; no pivoting.

    Crout's order: one row of U and one column of L a step, each a matrix-vector product
    (Golub and Van Loan, Matrix Computations, section 3.2).
    """
    for k in range(len(A)):
        A[k, k:] -= A[k, :k] @ A[:k, k:]
        A[k + 1 :, k] = (A[k + 1 :, k] - A[k + 1 :, :k] @ A[:k, k]) / A[k, k]
