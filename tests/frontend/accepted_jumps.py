"""Functions with bounds and subscripts that depend on data, jumps, results, and values from outside."""

# ruff: noqa: B007, F821, F841, UP037
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


# ---- tuples of arrays, None and text


@accepted(lambda: (matrix(4, 3), vector(4)), lambda: (matrix(1, 2), vector(1)))
def items_of_tuples(A, B):
    pair = (A[1:], (B, A[0])), 3.0
    n = pair[0][0].shape[0]
    for i in range(n):
        pair[0][0][i, 0] += pair[0][1][0][i] * pair[-1]
    pair[0][1][1][1] = A[0].shape[0] + pair[0][1][0].size
    return pair[1], n


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
