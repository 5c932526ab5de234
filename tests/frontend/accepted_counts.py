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


@accepted(lambda: (vector(9), np.array([0.5, np.nan, 1.0])), lambda: (vector(2), np.array([0.5, np.nan, 1.0])))
def selection_beside_parts_of_another_array(x, y):
    kernel = y[~np.isnan(y)]
    length = kernel.shape[0]
    best = np.inf
    for i in range(len(x) - length + 1):
        distance = np.sum((x[i : i + length] - 2.0 * kernel) ** 2)
        if distance < best:
            best = distance
    return best


@accepted(lambda: (vector(9), np.array([0.5, np.nan, 1.0, -2.0, 0.0, 1.0, 1.0, 2.0, np.nan])))
def selections_by_one_mask(x, y):
    seen = ~(np.isnan(x) | np.isnan(y))
    a = x[seen]
    b = y[seen]
    covariance = np.sum((a - a.mean()) * (b - b.mean())) / len(a)
    seen[0] = False
    c = x[seen]
    return covariance, a + b, c, len(a) - len(c)


ROWS = (lambda: (matrix(6, 3), 0.3), lambda: (matrix(6, 3), 99.0), lambda: (np.zeros((0, 3)), 0.0))


@accepted(*ROWS)
def masks_of_rows(A, limit: float):
    above = A[:, 0] > limit
    B = A[above]
    total = 0.0
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            total += B[i, j] * i
    columns = A.sum(axis=0) > limit
    picked = A[above, :], A[above, 1], A[:, columns], A[above, 1:]
    A[above] = 2.0
    A[~above, 1] += 1.0
    A[above, 2] = np.arange(above.sum())
    return B, total, B.sum(axis=0), B.shape, picked


@accepted(lambda: (vector(9), vector(9)[::-1].copy()), lambda: (np.zeros(0), np.zeros(0)))
def values_for_a_mask(x, y):
    below = x < 0.6
    x[below] = y[: below.sum()]
    x[x > 1.0] += y[y < 0.0].sum()
    return x


@accepted(*NONE_AND_SOME)
def arrays_of_counted_sizes(A, limit: float):
    count = 0
    for i in range(len(A)):
        if A[i] > limit:
            count += 1
    values = np.empty(count)
    rows = np.zeros((count, 3), dtype=np.int32)
    place = 0
    for i in range(len(A)):
        if A[i] > limit:
            values[place] = A[i]
            rows[place, 1] = i
            place += 1
    sums = np.zeros(np.sum(limit < A)), np.ones(np.count_nonzero(limit < A))
    return values, rows, sums, np.arange(count), np.full(count, limit), np.linspace(0.0, 1.0, count)


@accepted(lambda: (np.array([3, 0, 2]), vector(3)), lambda: (np.array([0, 0, 0]), vector(3)))
def arrays_of_sizes_in_arrays(k, x):
    total = 0.0
    for i in range(len(k)):
        part = np.zeros(k[i])
        for j in range(k[i]):
            part[j] = x[i] * j
        total += part.sum()
    bins = np.zeros((k.max() + 1, 2))
    for i in range(len(k)):
        bins[k[i], 0] += x[i]
        bins[k[i], 1] += 1
    return total, bins, np.repeat(x, k), np.bincount(k), np.bincount(k, weights=x), np.unique(k, return_inverse=True)[1]


@accepted(lambda: (vector(9),), lambda: (vector(1),))
def sizes_that_change_in_loops(x):
    n = len(x)
    while n > 1:
        half = n // 2
        step = np.empty(n)
        for i in range(half):
            step[i] = x[2 * i] + x[2 * i + 1]
            step[half + i] = x[2 * i] - x[2 * i + 1]
        for i in range(2 * half):
            x[i] = step[i]
        n = half
    size = 1
    total = 0.0
    for i in range(len(x)):
        ones = np.ones(size)
        total += ones.sum()
        if x[i] > 0:
            size += 1
    while size < 40:
        total += np.ones(size).sum()
        size *= 2
    return x, total, size


@accepted(lambda: (matrix(4, 3),), lambda: (matrix(4, 3).T,), lambda: (matrix(1, 1),))
def flat_elements(A):
    total = 0.0
    for k, x in enumerate(A.flat):
        total += k * x
    for x in A.flat:
        if x > 0:
            continue
        total += x
    first, last = A.flat[0], A.flat[-1]
    part = A.flat[1:-1:2] * 2.0
    A.flat[len(A) - 1] = 9.0
    A.flat[:: A.shape[1] + 1] += 1.0
    B = np.empty_like(A)
    B.flat = first
    return total, first, last, part, B, A.flat[:2]


@accepted(lambda: (matrix(4, 4),))
def tuples_of_subscripts(A):
    upper = np.triu_indices(len(A), 1)
    above = A[upper]
    positive = np.nonzero(A > 0)
    A[positive] *= 2.0
    A[np.tril_indices(len(A), -1)] = 0.0
    return above, A[np.triu_indices(4)], A[positive], len(upper[0])


@accepted(lambda: (vector(6),), lambda: (np.zeros(0),))
def reductions_of_what_may_be_empty(x):
    most = np.max(x) if len(x) > 0 else 0.0
    if len(x) > 0 and np.mean(x) > 0:
        most += 1
    return most
