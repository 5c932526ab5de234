"""Functions that are accepted, with arguments of NumPy's functions that say how they compute."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from tests.frontend.acceptance import accepted
from tests.frontend.values import matrix


@accepted(
    lambda: (matrix(5, 4), 0),
    lambda: (matrix(5, 4), 1),
    lambda: (matrix(5, 4), 5),
    lambda: (matrix(5, 4).astype(np.float32), np.int64(1)),
    lambda: (np.arange(12).reshape(3, 4), 1),
    lambda: (matrix(5, 4), 0.5),
)
def degrees_of_freedom(A, lost):
    A = A * 1
    return A.std(0, ddof=lost), np.var(A, ddof=lost), np.nanstd(A, axis=1, ddof=lost), np.nanvar(A, ddof=lost)


@accepted(lambda: (matrix(5, 4), 0), lambda: (matrix(5, 4), 1))
def covariances(A, lost):
    return np.round(np.cov(A, ddof=lost), 9)


@accepted(lambda: (5,), lambda: (1,))
def methods_of_new_arrays(n):
    return np.logspace(0, 2, 5).astype(np.int32), np.hanning(n).sum(), np.fft.fftfreq(n).max()


@accepted(lambda: (matrix(5, 4),), lambda: (matrix(5, 4).T,), lambda: (np.zeros((0, 3)),))
def orders_of_elements(A):
    along = A.flatten("F")
    along[:1] += 1.0
    return (
        along,
        A.ravel(order="F"),
        np.ravel(A, "C"),
        A.flatten(order="C"),
        np.size(A, 0),
        np.size(A, axis=-1),
        np.size(A),
    )


@accepted(lambda: (matrix(2, 3),), lambda: (matrix(2, 3).astype(np.float32),))
def arrays_without_dimensions(A):
    x = np.array(3.0)
    total = np.array(A.sum())
    return float(x), int(total), A * float(total), bool(np.array(A[0, 0] > 0.0))
