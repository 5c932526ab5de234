"""Functions with subscripts that count from the end."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from tests.frontend.acceptance import accepted
from tests.frontend.values import matrix, vector


@accepted(lambda: (vector(7), vector(7)))
def neighbours_on_a_ring(x, y):
    for i in range(len(x)):
        y[i] = x[i] - x[i - 1] + x[i - 2]


@accepted(lambda: (vector(7),))
def ring_in_place(x):
    for i in range(len(x)):
        x[i - 1] = x[i] + 1.0


@accepted(lambda: (vector(7), vector(7)))
def reversed_elements(x, y):
    n = len(x)
    for i in range(n):
        y[-1 - i] = 2.0 * x[~i] + x[i - n]


@accepted(lambda: (matrix(5, 6), matrix(5, 6)))
def in_two_dimensions(A, B):
    for i in range(A.shape[0]):
        row = A[i]
        for j in range(A.shape[1]):
            B[i, j] = A[i - 1, j - 2] + A[-1 - i, -j - 1] * row[j - 1]


@accepted(lambda: (matrix(6, 4),))
def last_rows(A):
    for k in range(1, 4):
        A[-k] += A[k - 1] * k


@accepted(lambda: (vector(9), 3))
def the_last_but_some(x, k):
    for i in range(k, len(x)):
        x[i] += x[i - k] * x[-k]


@accepted(lambda: (vector(9),))
def in_a_loop_that_ends_by_data(x):
    total = 0.0
    i = 0
    while i < 5 and x[-1 - i] > 0.0:
        total += x[i - 1]
        i += 1
    return total


@accepted(lambda: (np.zeros(0),))
def of_nothing(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i - 1]
    return total


@accepted(lambda: (np.zeros(4), matrix(9, 4)))
def slices_cut_off_at_the_end(first, C):
    for i, row in enumerate(C):
        first[:i] = row[:i]
    return i


@accepted(
    lambda: (vector(5), vector(7), np.array([1, 9])),
    lambda: (vector(7), vector(5), np.array([-3, -1])),
    lambda: (vector(5), vector(5), np.array([4, 2])),
    lambda: (vector(5), vector(8), np.array([4, 6])),
)
def sums_of_slices_by_data(x, y, bounds):
    first, last = bounds[0], bounds[1]
    total = 0.0
    if first >= 4 or last < 0 or len(x) == len(y):
        total = np.sum(x[first:last] * y[first:last])  # also where one extent is 1
    x[first:last] += 1.0
    y[last::-2] = 3.0
    y[:first:-1] = x[-1]
    return total + x[:first].sum()


@accepted(lambda: (np.ones(5), np.arange(5.0)))
def places_of_what_is_positive(A, B):
    found = np.flatnonzero(A > 0.0)
    B[:] = A * found


# ---- steps of slices that are no constants


@accepted(lambda: (40,), lambda: (2,))
def multiples_crossed_out(n):
    is_prime = np.ones(n, dtype=np.bool_)
    is_prime[:2] = False
    for i in range(2, n):
        if is_prime[i]:
            is_prime[i * i :: i] = False
    return is_prime


@accepted(
    *(
        lambda k=k, first=first, last=last: (vector(9), vector(9), k, first, last)
        for k, first, last in ((1, 2, 7), (2, 0, 9), (4, -3, 20), (20, -30, -1), (-1, 7, 2), (-3, 8, -30), (-4, -1, 1))
    )
)
def slices_by_a_step_of_either_sign(A, B, k: int, first: int, last: int):
    A[first:last:k] = B[first:last:k] + 1.0
    A[::k] *= 2.0
    part = B[first::k]
    total = part.sum() + B[:last:k].sum()
    if len(part) > 1:
        part[1] = 7.0
    return total, len(part), A[::k]


@accepted(lambda: (matrix(9, 7), 3, np.array([2, -3, 5])), lambda: (matrix(9, 7), -2, np.array([-1])))
def columns_by_a_step(A, k, steps):
    A[1::2, ::k] = 0.0
    row = A[:, ::k][2]
    for i in range(1, A.shape[0]):
        A[::i, 0] += 1.0
    for step in steps:
        A[0, ::step] += A[0, ::step].sum()
    return row * 2.0, A[[1, 3], ::k]


# ---- slices as objects


def taken(A, part):
    return A[part].sum()


@accepted(lambda: (matrix(6, 5), np.array([1, 3, 6]), 2))
def slices_as_objects(A, first, n):
    interior = slice(1, -1)
    every = np.s_[::2]
    A[interior, 0] = 7.0
    total = A[:, interior][every].sum() + A[slice(n), slice(None, None, -1)].sum() + A[np.s_[n:]][0, 0]
    for i in range(2):
        rows = slice(first[i], first[i + 1])
        first[i] = 0
        A[rows] += 1.0
        total += A[rows, i].sum() + taken(A[0], rows)
        while total > 1e3:
            part = slice(int(total) % 3, None)
            total -= A[part].sum() * 1e3 + part.start
    return total, interior.start + n


# ---- rings and dimensions that are split, which are affine


@accepted(lambda: (matrix(5, 4), matrix(5, 4)), lambda: (matrix(1, 2), matrix(1, 2)), lambda: (matrix(0, 3),) * 2)
def a_torus(A, B):
    n, m = A.shape
    for i in range(n):
        below = (i + 1) % n
        for j in range(m):
            B[(i - 1) % n, j] += A[below, (j - 1) % m] - A[i, (j + 1) % m]


@accepted(lambda: (vector(7), 7), lambda: (vector(7), 3), lambda: (vector(9), 4))
def a_ring_walked_backwards(x, n):
    total = 0.0
    for i in range(n - 1, -1, -1):
        x[(n - 1 - i) % n] += 1.0
        x[(i - n) % n] *= 2.0
        total += x[(i + n) % n] * ((i + 1) % n)
        k = 0
        while k < n and x[k] < 4.0:
            total += x[(k + 1) % n]
            k += 1
    return total


@accepted(lambda: (vector(7), 3), lambda: (vector(9), 1), lambda: (vector(9), 9))
def a_ring_that_is_gone_round_more_often(x, n):
    for i in range(len(x)):
        x[i] += x[(i + 1) % n] + x[(i + 5) % n]


@accepted(
    *(
        lambda shape=shape: (np.arange(float(shape[0] * shape[1] * shape[2])).reshape(shape),)
        for shape in ((2, 4, 6), (1, 2, 2), (2, 0, 4), (0, 4, 4))
    )
)
def dimensions_split_and_joined(x):
    b, h, w = x.shape
    blocks = x.reshape(b, h // 2, 2, w // 2, 2)
    rows = x.reshape(b * h, w) + 1.0
    return blocks.sum(axis=(2, 4)), rows, x.reshape(b, h * w) * 2.0, x.reshape(b, 1, h, w // 2, 2)[:, 0, :, :, 1]


@accepted(lambda: (matrix(4, 6),), lambda: (matrix(2, 2),))
def changed_in_another_shape(x):
    n, m = x.shape
    pairs = x.reshape(n // 2, 2, m)
    pairs[:, 0] += pairs[:, 1]


@accepted(lambda: (matrix(4, 5), np.array([1, 4, 0, 2])), lambda: (np.zeros((0, 3)), np.zeros(0, dtype=np.int64)))
def ranges_as_subscripts(A, columns):
    n = len(A)
    chosen = A[range(n), columns]
    A[range(n), columns] -= 1.0
    A[:, range(1, 3)] *= 2.0
    return chosen, A[range(1, n)], A[range(len(columns)), columns].sum()


BACK = np.array([[0, 0], [3, 0]])


@accepted(
    lambda: (vector(5), np.array([0, 2, 2, 1]), vector(4)),
    lambda: (vector(5), BACK, matrix(2, 2)),
    lambda: (vector(5), BACK, 1.0),
    lambda: (matrix(4, 4), np.array([0, 2, 2, 1]), vector(4)),
    lambda: (matrix(4, 3), np.array([0, 2, 2, 1]), matrix(4, 3)),
    lambda: (matrix(4, 3), BACK, np.arange(12.0).reshape(2, 2, 3)),
    lambda: (matrix(4, 3), BACK, vector(3)),
)
def updates_of_all_shapes(A, index, x):
    np.add.at(A, index, x)
    np.subtract.at(A, index - 1, 0.5)
    np.maximum.at(A, [0, 1], 2.0)


@accepted(lambda: (matrix(4, 4), np.array([0, 2, 2, 1]), vector(4)), lambda: (matrix(4, 4), BACK, matrix(2, 2)))
def updates_through_two_arrays(A, index, x):
    A = A.copy()
    np.add.at(A, (index, index[::-1]), 2.0 * x)
    np.add.at(A, (np.array([0, 0]), [1, 1]), 1)
    return A
