"""Functions that are accepted, with arrays that are unpacked, steps of all kinds, loops over tuples, and arrays
exchanged; ``ACCEPTED`` has those of the modules that are imported for it, too.
"""

# ruff: noqa: B007, B905
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from tests.frontend import (  # noqa: F401  (they register what they have)
    accepted_arguments,
    accepted_bounds,
    accepted_by_numpy,
    accepted_counts,
    accepted_forms,
    accepted_functions,
    accepted_jumps,
    accepted_lists,
    accepted_maps,
    accepted_shorter,
    accepted_subscripts,
    accepted_truth_values,
    accepted_tuples,
    accepted_types,
    accepted_webs,
)
from tests.frontend.acceptance import ACCEPTED, accepted
from tests.frontend.values import matrix, vector

__all__ = ["ACCEPTED"]

# ---- arrays that are unpacked

STEPS = ((0, 1), (1, 0), (0, -1))
FACTORS = (0.5, 2.0, 1.0)


@accepted(lambda: (matrix(5, 3), vector(5)))
def rows_unpacked(A, B):
    for i in range(len(B)):
        x, y, z = A[i]
        B[i] = x + 2.0 * y - z
    for k, (x, y, z) in enumerate(A):
        B[k] += x * z


@accepted(lambda: (vector(9), 2.0, 3, 5), lambda: (vector(9), -2.0, 5, 3))
def choices_unpacked(x, t: float, i: int, j: int):
    low, high = (0.0, t) if t > 0.0 else (t, 0.0)
    (i, j), swapped = ((j, i), 1) if i < j else ((i, j), 0)
    a, b = 0.0, 1.0
    for k in range(len(x)):
        a, b = (b, x[k]) if x[k] > 0.0 else (a + b, b) if x[k] < -1.0 else (b, a)
    return low, high, x[i] - x[j], swapped, a, b


@accepted(lambda: (matrix(5, 2), matrix(5, 2), vector(5)))
def differences_unpacked(A, B, C):
    for i in range(len(C)):
        x, y = A[i] - B[len(C) - 1 - i]
        while x > 0.0:
            u, v = B[i]
            x -= 1.0
            C[i] += u - v
        C[i] += y


@accepted(lambda: (matrix(4, 3),))
def element_of_the_greatest(A):
    best = A[0].argmax()
    column = A[:, best]
    return max(A[1, A[2].argmin()] - 1.0, 0.5), column.sum()


# ---- bounds that count from the end, steps that are no constants


@accepted(lambda: (vector(8), 3), lambda: (vector(8), 8))
def counted_from_the_end(A, k: int):
    total = A[k:].sum() + A[:-k].sum()
    A[-k:] += 1.0
    return total


@accepted(*(lambda k=k: (vector(9), k) for k in (1, 2, 4, 20, -1, -3)))
def steps_of_an_argument(A, k: int):
    for i in range(1, len(A), k):
        A[i] += 10.0
    for i in range(len(A) - 1, -1, -k):
        A[i] *= 2.0
    last = -1
    for i in range(3, 0, k):
        last = i
    return last


@accepted(lambda: (vector(9), np.array([2, 3, 1])))
def steps_of_data(A, steps):
    for step in steps:
        for i in range(0, len(A), step):
            A[i] += step
    size = 1
    while size < len(A):
        for i in range(0, len(A), 2 * size):
            A[i] += size
        size *= 2


# ---- loops over tuples


@accepted(lambda: (matrix(5, 5), matrix(5, 5)))
def tuples_side_by_side(A, B):
    for i in range(1, 4):
        for j in range(1, 4):
            for k, ((di, dj), factor) in enumerate(zip(STEPS, FACTORS), 1):
                B[i, j] += k * factor * A[i + di, j + dj]
    for factor in reversed(FACTORS):
        B[0, 0] = B[0, 0] * 2.0 + factor


@accepted(*(lambda x=x: (matrix(5, 5), x) for x in (-1.0, 0.5, 1.0, 9.0)))
def tuples_left_early(A, x: float):
    count = 0
    for i in range(1, 4):
        for di, dj in STEPS:
            if A[i + di, i + dj] > x:
                break
            if A[i + di, i + dj] < -0.5:
                continue
            count += 1
        else:
            count += 100
    i = 0
    while i < 4:
        for factor in FACTORS:
            if A[i, 0] > factor:
                break
            count += 1
        i += 1
    return count


@accepted(*(lambda x=x: (matrix(5, 5), x) for x in (-1.0, 0.5, 0.75, 9.0)))
def returned_from_a_loop_over_a_tuple(A, x: float):
    for di, dj in STEPS:
        if A[1 + di, 1 + dj] > x:
            return 10 * di + dj, A[di + 1]
        for factor in (1.0, 2.0):
            if A[1, 1] * factor == x:
                return 20 + di, A[dj + 1]
    return -5, A[0]


def first_above(A, x):
    for k, factor in enumerate(FACTORS):
        if A[k] * factor > x:
            return k + factor
    return -1.0


@accepted(*(lambda x=x: (vector(), x) for x in (-1.0, 1.0, 2.0, 9.0)))
def returned_to_a_caller_from_such_a_loop(A, x: float):
    return first_above(A, x), first_above(A, x + 1.0)


# ---- names of arrays that take the place of one another


@accepted(lambda: (vector(), 3), lambda: (vector(), 0))
def argument_replaced(cells, steps: int):
    for _ in range(steps):
        new = np.zeros_like(cells)
        new[1:-1] = cells[:-2] + cells[2:]
        cells = new
    return cells.sum(), cells


@accepted(lambda: (vector(), vector()[::-1].copy(), 3), lambda: (vector(), vector() + 1.0, 0))
def two_steps_back(now, before, steps: int):
    for _ in range(steps):
        after = np.zeros_like(now)
        after[1:-1] = 2.0 * now[1:-1] - before[1:-1] + 0.5 * (now[2:] + now[:-2])
        before = now
        now = after
    return now


@accepted(*(lambda k=k: (vector(), k) for k in (0, 1, 2, 5)))
def arrays_exchanged(X, steps: int):
    A, B = X.copy(), X * 2.0
    for t in range(steps):
        B[1:-1] = A[:-2] + t
        A, B = B, A
    return A, B


@accepted(*(lambda k=k: (vector(), k) for k in (0, 1, 4)))
def three_arrays_exchanged(X, steps: int):
    A, B, C = X.copy(), X * 2.0, X * 4.0
    for t in range(steps):
        A[0] += t
        A, B, C = C, A, B
    if steps > 2:
        A, B = B, A
    return A, B, C


@accepted(lambda: (vector(), 4))
def replaced_in_a_while(x, steps: int):
    while steps > 0:
        x = 0.5 * x + 1.0
        steps -= 1
    return x


@accepted(lambda: (matrix(4, 3),))
def covariance_of_columns(A):
    return np.cov(A, rowvar=False), np.cov(A, bias=True), np.cov(A, ddof=0)


@accepted(lambda: (matrix(4, 3), matrix(3, 5), vector(3)))
def products_of_truth_values(A, B, x):
    both = (A > 0.0) @ (B > 1.0)
    counts = (A > 0.0) @ (B > 1.0).astype(np.int32)
    return both, counts, (A > 0.0) @ x, np.dot(x > 0.0, x < 1.0), np.dot(x > 9.0, x < 1.0)


@accepted(lambda: (matrix(4, 3), np.array([2, 0, -1, 2]), matrix(4, 3)))
def rows_by_an_index(A, index, B):
    for i in range(len(index)):
        B[i, :] = A[index[i], :] * 2.0
        B[i, 0] += A[index[i], 1:].sum()
    for i in range(len(index)):
        A[index[i], :] += B[i]


@accepted(*(lambda limit=limit: (vector(), limit) for limit in (0.0, 1.0, 100.0)))
def until_it_changes_little(x, limit: float):
    change = 0.0
    for _ in range(5):
        old = x
        x = 0.5 * x + 1.0
        change = np.max(np.abs(x - old))
        if change < limit:
            break
    return x, change


# ---- loops over arrays without a name, which are computed once


@accepted(lambda: (vector(), np.array([3, 0, 2, 1]), vector()))
def elements_selected_before_the_loop(A, index, B):
    for i, x in enumerate(A[index]):
        A[index[2]] = 100.0
        B[i] = x


@accepted(lambda: (vector(), vector()))
def part_that_changes_in_the_loop(A, B):
    for i, x in enumerate(A[1:]):
        A[3] = 100.0
        B[i] = x


@accepted(lambda: (vector(), vector()))
def result_of_a_function(A, B):
    for i, x in enumerate(np.sqrt(np.abs(A))):
        A[-1] = 7.0
        B[i] += x


@accepted(lambda: (vector(), vector()))
def the_least_elements(A, B):
    total = 0.0
    for k in np.argsort(A)[:3]:
        A[k] = 9.0
        total += B[k]
    return total


@accepted(lambda: (matrix(), vector()))
def columns_backwards(A, B):
    for i, (column, x) in enumerate(zip(A.T, reversed(np.sort(B)))):
        B[i] = column[0] * x
        A[i, i] = column[1]


@accepted(lambda: (matrix(), vector()))
def row_of_a_number_that_changes(A, B):
    i = 0
    while i < 3:
        for x in A[i, np.array([0, 2])]:
            B[i] += x
            i += 1


@accepted(lambda: (matrix(), vector()))
def row_of_an_array_that_is_replaced(A, B):
    for i, x in enumerate(A[1]):
        A = A + 1.0
        B[i] = x
    B[0] += A[1, 1]
