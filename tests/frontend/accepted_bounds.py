"""Functions with bounds and subscripts that depend on data, and those that are no sums."""

# ruff: noqa: B007, F821, UP037
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from tests.frontend.acceptance import accepted
from tests.frontend.values import TWO, VECTOR, vector


@accepted(lambda: (vector(), 3))
def product_in_a_bound(A, n: int):
    for i in range(len(A)):
        for j in range(i * n):
            A[i] += j


@accepted(lambda: (vector(), 7, 2))
def quotient_of_parameters_in_a_bound(A, n: int, m: int):
    for i in range(len(A)):
        for j in range(n // m):
            A[i] += j


@accepted(VECTOR)
def power_in_a_bound(A):
    for i in range(len(A)):
        for j in range(i ** 2):  # fmt: skip
            A[i] += j


@accepted(lambda: (vector(), np.array([2, 0, 3, 1, 0, 2])))
def data_in_a_bound(A, P):
    for i in range(len(A)):
        for j in range(P[i]):
            A[i] += 1.0


@accepted(VECTOR)
def product_in_a_subscript(A):
    for i in range(2):
        for j in range(2):
            A[i * j] += 1.0


@accepted(lambda: (vector(6), 2, 3))
def flattened_subscript(A, m: int, n: int):
    for i in range(m):
        for j in range(n):
            A[i * n + j] += 1.0


@accepted(lambda: (vector(), vector(), np.array([1, 1, 0, 5, 2, 1])))
def data_read_through_a_subscript(A, B, P: "int64[::1]"):
    for i in range(len(B)):
        B[i] = A[P[i]]


@accepted(lambda: (vector(), np.array([1, 1, 0, 5, 2, 1])))
def data_in_a_subscript(A, P: "int64[::1]"):
    for i in range(len(A)):
        A[P[i]] += 1.0


@accepted(VECTOR)
def changing_variable_in_a_subscript(A):
    k = 0
    for i in range(len(A) // 2):
        A[k] += 1.0
        k = k + 2


@accepted(lambda: (vector(6), vector(3)))
def counted_pairs_in_a_subscript(A, B):
    k = 0
    for i in range(3):
        for j in range(i + 1, 4):
            B[i] += A[k] * j
            k += 1


@accepted(VECTOR)
def changing_variable_in_a_bound(A):
    count = 0
    for i in range(len(A)):
        if A[i] > 0.5:
            count += 1
    for j in range(count):
        A[j] += 1.0


@accepted(lambda: (vector(), vector(3)))
def power_in_a_subscript(A, B):
    for i in range(3):
        B[i] = A[i ** 2]  # fmt: skip


@accepted(lambda: (vector(), 2.75))
def rounded_subscript(A, x: float):
    for i in range(len(A)):
        A[int(x)] += 1.0


@accepted(lambda: (vector(4), vector(9), 9, 4))
def scaled_position(A, B, wide: int, narrow: int):
    for i in range(wide):
        source = i * narrow // wide
        B[i] = A[source]


@accepted(lambda: (*TWO(), 6))
def periodic_neighbour(A, B, n: int):
    for i in range(n):
        B[i] = A[(i + 1) % n]


@accepted(lambda: (vector(), 3))
def division_by_a_parameter(A, n: int):
    for i in range(len(A)):
        A[i // n] += 1.0


@accepted(lambda: (vector(), 3))
def remainder_by_a_parameter(A, n: int):
    for i in range(len(A)):
        A[i % n] += 1.0
