"""Functions with jumps, results, and values from outside."""

# ruff: noqa: F821, F841, UP037
# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from numba import prange

from tests.frontend.acceptance import accepted
from tests.frontend.values import TWO, VECTOR, matrix, vector

FACTOR = np.float32(2.0)
WEIGHTS = np.array([0.5, 0.25, 0.25])
TABLE = [1.0, 2.0, 3.0]


def both(x, y):
    return (x + y, x - y)


def scaled(x, factor=FACTOR):
    return factor * x


@accepted(VECTOR)
def loop_in_a_while(A):
    x = 1.0
    while x > 0.1:
        for i in range(len(A)):
            A[i] *= x
        x *= 0.5


@accepted(VECTOR)
def break_in_a_loop(A):
    for i in range(len(A)):
        if A[i] > 1.0:
            break
        A[i] = 0.0


@accepted(VECTOR)
def break_in_a_while(A):
    x = 1.0
    while x > 0.1:
        x *= 0.5
        if x < A[0]:
            break
        A[1] += x


@accepted(lambda: (vector(4), matrix()))
def break_before_a_loop(A, B: "float64[:, ::1]"):
    for i in range(len(A)):
        if A[i] > 1.0:
            break
        for j in range(B.shape[1]):
            B[i, j] = A[i]


@accepted(lambda: (vector(4), matrix()))
def flag_around_loops(A, B: "float64[:, ::1]"):
    done = 0
    for i in range(len(A)):
        if done == 0:
            if A[i] > 1.0:
                done = 1
            else:
                for j in range(B.shape[1]):
                    B[i, j] = A[i]


@accepted(VECTOR)
def break_out_of_an_endless_loop(A):
    x = 1.0
    while True:
        x *= 0.5
        if x < A[0]:
            break
    A[1] = x


@accepted(TWO)
def search_for_a_pair(A, B):
    for i in range(len(A)):
        for j in range(len(A)):
            if A[j] == B[i]:
                break
            B[i] += 1.0


@accepted(VECTOR)
def continue_in_a_loop(A):
    for i in range(len(A)):
        if A[i] > 1.0:
            continue
        A[i] = 0.0


@accepted(VECTOR)
def continue_in_a_while(A):
    x = 1.0
    while x > 0.1:
        x *= 0.5
        if x < 0.3:
            continue
        A[0] += x


@accepted(VECTOR)
def return_in_the_middle(A):
    for i in range(len(A)):
        if i > 2:
            return
        A[i] = 0.0


@accepted(VECTOR)
def return_before_a_loop(A):
    if A[0] < 0.0:
        return
    for i in range(len(A)):
        A[i] = 0.0


@accepted(VECTOR)
def returned_array(A):
    for i in range(len(A)):
        A[i] = 0.0
    return A


@accepted(VECTOR)
def returned_tuple(A):
    x = A[0] + 1.0
    y = A[1] + 1.0
    return (x, y)


@accepted(VECTOR)
def list_display(A):
    x = [1.0, 2.0]
    A[0] = 1.0


@accepted(VECTOR)
def loop_variable_after_its_loop(A):
    for i in range(len(A)):
        A[i] = 1.0
    A[0] = i


@accepted(VECTOR)
def inner_loop_variable_after_its_loop(A):
    for i in range(1, len(A)):
        for j in range(i):
            A[j] += 1.0
        A[i] = j


@accepted(VECTOR)
def condition_changed_in_a_loop(A):
    if A[0] > 0.0:
        for i in range(len(A)):
            A[i] -= 1.0


@accepted(VECTOR)
def default_that_is_no_plain_number(A):
    A[0] = scaled(A[0])


@accepted(VECTOR)
def else_of_a_loop(A):
    for i in range(len(A)):
        A[i] = 0.0
    else:
        A[0] = 1.0


@accepted(VECTOR)
def assigned_loop_variable(A):
    for i in range(len(A)):
        i = 3
        A[i] = 1.0


@accepted(VECTOR)
def advanced_loop_variable(A):
    for i in range(len(A) - 1):
        i += 1
        A[i] = 1.0


@accepted(VECTOR)
def unpacked_call(A):
    x, y = both(A[0], A[1])
    A[2] = x * y


@accepted(VECTOR)
def assertion(A):
    assert A[0] > 0.0
    A[0] = 1.0


@accepted(lambda: (np.array([0.5, -1.0]),))
def raised(A):
    if A[0] < 0.0:
        raise ValueError
    A[0] = 1.0


@accepted(VECTOR)
def nested_function(A):
    def inner(x):
        return x + 1.0

    A[0] = inner(A[0])


@accepted(VECTOR)
def subscripted_global_array(A):
    for i in range(3):
        A[i] *= WEIGHTS[i]


@accepted(VECTOR)
def subscripted_global_list(A):
    for i in range(3):
        A[i] *= TABLE[i]


@accepted(VECTOR)
def loop_over_an_array(A):
    for x in A:
        A[0] += x


@accepted(VECTOR)
def loop_over_pairs(A):
    for (i, x) in enumerate(A):  # fmt: skip
        A[i] = x


@accepted(VECTOR)
def number_of_elements(A):
    for i in range(A.size):
        A[i] = 1.0


@accepted(VECTOR)
def parallel_range(A):
    for i in prange(len(A)):
        A[i] += 1.0


@accepted(lambda: (matrix(), vector()))
def parts_that_nothing_reads(A, B):
    _, n = A.shape
    _, x, _ = A, B, 2.0
    for _ in range(3):
        x[0] += n
    _, _, y = (1, 2), A[0], x[1]
    return y


def filled(x, value):
    if value > 9.0:
        return
    for k in range(len(x)):
        x[k] = value


def exchanged(x, i, j):
    x[i], x[j] = x[j], x[i]
    return None


@accepted(VECTOR)
def nothing_that_has_a_name(A):
    result = filled(A[2:], 3.0)
    for k in range(2):
        _ = exchanged(A, k, k + 1)
    if result is None:
        A[0] = 7.0


@accepted(lambda: (vector(5), 0.0), lambda: (vector(5), 9.5), lambda: (vector(5), -2.0))
def nothing_returned(A, x):
    for k in range(len(A)):
        if A[k] > x:
            return exchanged(A, 0, k)
    return filled(A, x + 20.0 if x > 0 else x)
