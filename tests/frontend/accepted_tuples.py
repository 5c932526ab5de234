"""Functions with tuples of arrays, None and text, and with numbers of all types as conditions."""

# ruff: noqa: F821, F841, UP037
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from tests.frontend.acceptance import accepted
from tests.frontend.values import VECTOR, matrix, vector


@accepted(lambda: (matrix(4, 3), vector(4)), lambda: (matrix(1, 2), vector(1)))
def items_of_tuples(A, B):
    pair = (A[1:], (B, A[0])), 3.0
    n = pair[0][0].shape[0]
    for i in range(n):
        pair[0][0][i, 0] += pair[0][1][0][i] * pair[-1]
    pair[0][1][1][1] = A[0].shape[0] + pair[0][1][0].size
    return pair[1], n


@accepted(lambda: (matrix(4, 3), vector(4)), lambda: (matrix(2, 2), vector(3)))
def parts_of_tuples(A, B):
    t = A[0, 0], B[1], 2.0, 3
    x, *rest = t[1:]
    arrays = [A, B, A[1]]
    later = arrays[1:]
    later[0][0] = t[::-1][0] + len(t[:2])
    total = 0.0
    for each in t[-3:]:
        total += each * 2
    for k, array in enumerate(later[::-1]):
        total += k * array[0]
    nested = (t[:2], t[2:])
    return x, rest, total, nested[1][1:], t[1:1], later[1:], max(*t[1:3])


def best_of(x, y, previous=None, mode="least"):
    if previous is not None and mode == "least":
        return min(x, y, previous)
    if mode not in ("least", "greatest"):
        return 0.0
    return max(x, y)


@accepted(VECTOR)
def none_and_text(A):
    order = "up"
    last = None
    name = None if order == "up" else "least"
    for i in range(len(A) - 1):
        A[i] = best_of(A[i], A[i + 1], mode="greatest") + best_of(A[i], 2.0, A[0])
        A[i] += 1.0 if order == "up" else best_of(A[i], 1.0, mode=order)
    if last is None or last > 2.0:
        A[1] -= 1.0
    if i in (1, len(A) - 2) and i not in (2, 3):
        A[0] -= 2.0
    return last, best_of(A[0], 1.0, mode="least"), last is not None


@accepted(lambda: (vector(), 0.5), lambda: (vector(), 20.0))
def none_before_a_loop(A, x):
    chosen = None
    for i in range(len(A)):
        chosen = A[i]
        if chosen is not None and A[i] > x:
            A[i] -= chosen
    assert x < 100.0, "it is large"
    return A[0]


@accepted(lambda: (np.array([0.0, 2.0, -1.0, 0.0]), 0, 3), lambda: (np.array([1.0, 0.0]), 2, 0))
def numbers_as_conditions(A, m: int, n: int):
    for i in range(len(A)):
        A[i] = A[i] or 5.0
        if (m and A[i] > 1.0) or (n and not (m or i)):
            A[i] += m or n
        while A[i] and n:
            A[i] -= (i > 0 and A[i]) or A[i]
    return (m and n), (n or A[0]), (not m and not n)


@accepted(
    lambda: (matrix(4, 5), np.array([3, 0, -1, 2]), 1),
    lambda: (matrix(2, 2), np.array([0, 1]), 0),
)
def data_subscripts_of_parts(A, index: "int64[::1]", first: int):
    for i in range(len(index)):
        row = A[i, first:]
        row[index[i]] += 2.0
        swap = index[i]
        row[0], row[swap] = row[swap], row[0]
        for j in range(len(row) - 1):
            if row[j] > row[swap] and row[swap] < 1.0:
                row[j] = A[1:, ::-1][i // 2, index[i]]
    return A[first:, 1:][index[0] // 3, index[0] % 1]


def converted(x, y):
    kind = type(x)
    return kind(y) * kind(2)


@accepted(lambda: (vector().astype("float32"), np.arange(6), 1.5))
def types_of_numbers(A, K: "int64[::1]", x):
    total = type(A[0])(0.1) + type(x)(3)
    for i in range(len(A)):
        A[i] = converted(A[i], 0.1) + converted(K[i], 2.75)
    return total, converted(x, K[2])


def below(i, j):
    return i + 1, j - 1


def corner(x):
    if x > 0.5:
        return 0, 1
    return 1, 0


@accepted(lambda: (matrix(4, 4), 2), lambda: (matrix(3, 3), 1))
def calls_that_give_subscripts(A, n: int):
    A[np.diag_indices(3)] = A[0, :3]
    total = 0.0
    for i in range(n):
        for j in range(1, n + 1):
            total += A[below(i, j)] * A[corner(A[i, j])]
            A[below(i, j)] += 1.0
    return total, A[corner(total)], A[np.tril_indices_from(A)].sum()
