"""Functions that are accepted, in which arrays have as many elements as the data say."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from tests.frontend.acceptance import accepted
from tests.frontend.values import matrix, vector

NONE_AND_SOME = (lambda: (vector(6), 9.0), lambda: (vector(6), 0.4), lambda: (np.zeros(0), 0.4))


@accepted(*NONE_AND_SOME)
def places_of_what_is_true(A, limit: float):
    i = np.flatnonzero(limit < A)
    (j,) = np.nonzero(limit >= A)
    A[i] = A[i] * 2.0 + 1.0
    total = 0.0
    for k in np.where(limit < A)[0]:
        total += A[k] * k
    for k in range(len(j)):
        A[j[k]] -= 1.0
    return i, j + 1, len(i), i.size + j.shape[0], A[j], total


@accepted(*NONE_AND_SOME)
def selected_by_a_mask(A, limit: float):
    B = A[limit < A]
    A[:] = 0.0
    total = 0.0
    for place, x in enumerate(B):
        total += place * x
    return B, 2.0 * B, len(B), B.shape[0], total, B.sum(), np.sort(B), np.compress(limit > A, A)


@accepted(lambda: (vector(6), 0.4), lambda: (vector(3), 0.0))
def first_and_last_of_what_is_selected(A, limit: float):
    B = A[limit < A]
    return B[0], B[-1], B[len(B) - 1], np.median(B), B[1:], B[:2], np.dot(B, B), B[np.argmax(B)]


@accepted(lambda: (matrix(4, 3), 0.3))
def places_in_matrices(A, limit: float):
    i, j = np.nonzero(limit < A)
    return i, j, A[i, j], np.argwhere(limit < A), A[limit < A], np.where(limit < A)[1]


@accepted(lambda: (np.array([3, 1, 3, 0, 1, 3]), vector(6)), lambda: (np.array([2]), vector(1)))
def counted_values(k, w):
    values, counts = np.unique(k, return_counts=True)
    found, first = np.unique(w, return_index=True)
    share = counts / len(k)
    sums = np.bincount(k, weights=w, minlength=len(w) + 3)
    return values, share, values[np.argmax(counts)], found, first, sums[0], np.bincount(k, minlength=4)


@accepted(lambda: (vector(6),))
def counts_in_a_loop(A):
    total = 0
    for step in range(3):
        found = np.flatnonzero(step < A)
        total += found.sum() + len(found)
        A[found] -= 1.0
    return total


@accepted(lambda: (matrix(4, 4), 3), lambda: (matrix(1, 1), 1), lambda: (matrix(5, 5), 2))
def triangles(A, m: int):
    i, j = np.triu_indices(A.shape[0], 1)
    k, n = np.tril_indices(len(A))
    total = 0.0
    for place in range(len(k)):
        total += A[k[place], n[place]] * place
    A[i, j] = 0.0
    below, left = np.tril_indices(len(A), -1)
    wide, high = np.triu_indices(m, k=-1, m=m + 2)
    return i, j, k, A[below, left], total, wide, high
