"""Functions that are accepted, with syntax that stands for other syntax: generator expressions, comprehensions,
assignments in expressions, ``match``, functions without a name, starred names; lists as arrays, and choices of arrays.
"""

# ruff: noqa: B905, E731, RUF005, SIM113
# mypy: ignore-errors

from __future__ import annotations

import math

import numpy as np

from tests.frontend.acceptance import accepted
from tests.frontend.values import matrix, vector

TAPS = 3

# ---- generator expressions


@accepted(lambda: (vector(6), vector(6)))
def sums_of_products(A, B):
    total = sum(A[i] * B[i] for i in range(len(A)))
    i = 7
    total += sum((x for x in A if x > 0.5), 1.0) + sum(i for i in range(3)) + math.prod(x for x in A[:3])
    return total, i, sum(1 for x in B if x > 0.5), sum(A[i] * j for i in range(2) for j in range(i, 3) if j != 1)


@accepted(lambda: (vector(6), 2), lambda: (vector(6)[::-1].copy(), 0))
def extrema_of_expressions(A, k: int):
    high = max(abs(x - 0.5) for x in A)
    low = min(A[i] - A[i - 1] for i in range(1, len(A)))
    selected = max((x for x in A[k:] if x > 9.0), default=-1.0)
    return high, low, selected, min(i * x for i, x in enumerate(A) if i > 1), max([x * x for x in A])


@accepted(lambda: (vector(6), 0.2), lambda: (vector(6), 2.0), lambda: (vector(1), 0.5))
def truths_of_expressions(A, limit: float):
    some, every = any(x > limit for x in A), all(x > limit for x in A)
    pairs = any(A[i] == A[j] for i in range(len(A)) for j in range(i))
    if any(A[i] > limit for i in range(len(A))) and not pairs:
        A[0] = 9.0
    return some, every, sum(map(abs, A))


@accepted(lambda: (matrix(4, 3), vector(5)))
def generators_in_loops(A, B):
    for i in range(len(A)):
        A[i, 0] = sum(A[i, j] * B[i + j - 1] for j in range(1, 3))
    while sum(x for x in B) > 2.0:
        B[:] = B * 0.5
    return A[0, 0] if max(x for x in B) > 0.1 else 0.0


# ---- comprehensions


@accepted(lambda: (vector(6),))
def comprehensions_written_out(A):
    parts = [A[i] * 2.0 for i in range(TAPS)]
    total = parts[0] - parts[2]
    for value in tuple(A[i] for i in (1, 2)):
        total += value
    x, y = [a + b for a, b in ((A[0], 1.0), (A[1], 2.0))]
    return total, x * y


@accepted(lambda: (matrix(4, 5), vector(4)), lambda: (matrix(1, 1), vector(3)))
def arrays_of_comprehensions(A, B):
    rows = np.array([row.sum() for row in A])
    table = np.array([[A[i, j] * B[k] for k in range(len(B))] for i, j in zip(range(len(A)), range(A.shape[1]))])
    scaled = np.stack([row * (i + 1) for i, row in enumerate(A)])
    return rows, table, scaled, np.mean([x * x for x in B]), np.array([i * i for i in range(2, 9)], dtype=np.float32)


# ---- assignments in expressions


@accepted(lambda: (vector(6),), lambda: (vector(2),))
def assigned_in_expressions(A):
    if (n := len(A)) > 3:
        A[0] = n
    elif (half := n / 2.0) > 0.5:
        A[0] = half
    x = 100.0
    while (y := x / 2.0) > 1.0:
        x = y
        if x < 8.0:
            continue
        A[1] += (step := x * 0.25) + step
    product = (first := A[0]) * first
    return x, y, product, sum(z for v in A if (z := v - 0.25) > 0.0)


# ---- match


@accepted(*[lambda k=k: (vector(6), k) for k in (0, 1, 2, 3, 8)])
def matched(A, k: int):
    match k:
        case 0:
            A[0] = 5.0
        case 1 | 2:
            A[1] = 6.0
        case n if n > 5:
            A[2] = n
        case _:
            A[3] = 7.0
    for i in range(len(A)):
        match i % 3, A[i] > 1.0:
            case 0, _:
                A[i] += 1.0
            case 1 as rest, 1:
                A[i] -= rest
            case _, above:
                A[i] *= 2.0 + above


# ---- functions without a name, starred names


@accepted(lambda: (vector(6), 2.0))
def functions_without_a_name(A, k: float):
    square = lambda x, offset=1.0: k * x * x + offset

    def applied(function, x):
        return function(x)

    for i in range(len(A)):
        A[i] = square(A[i]) + applied(lambda y: y - k, A[i])
    return square(2.0, offset=0.5)


@accepted(lambda: (vector(4), matrix(2, 3)))
def starred_names(A, B):
    def difference(x, y):
        return x - y

    pair = A[0], A[1]
    first, *rest = A[1], A[2], A[3]
    *front, last = pair
    larger = np.zeros((len(A) + 1, *B.shape[1:]))
    return *pair, *B.shape, difference(*pair), first + rest[1] * front[0], last, larger + 1.0, np.zeros(B.shape + (2,))


# ---- lists as arrays


@accepted(lambda: (vector(6), matrix(4, 5), 1, 3))
def lists_of_subscripts(A, B, i: int, j: int):
    B[[i, j]] = B[[j, i]]
    A[[0, 2]] = A[[2, 0]] + 1.0
    B[:, [0, 4]] *= 2.0
    return A[[0, -1, 3]], B[[0, 2], [1, 3]], np.max([A[0], A[1], 3.0]), np.array([A, A * 2.0]), np.sum([[1, 2], [3, 4]])


# ---- choices of arrays


@accepted(*[lambda n=n: (vector(6), vector(6), n) for n in (1, 5)])
def choices_of_arrays(A, B, n: int):
    C = A + 1.0 if n > 2 else B * 2.0
    B[:] = A if n > 4 else -A
    total = A.sum() if n > 2 else 0.0
    D = (A if B[0] > 0.0 else C) - 1.0
    return C, D, total, A + B if n < 3 else A - B


# ---- arrays that are split, compared, replaced


@accepted(lambda: (vector(6), matrix(4, 6)), lambda: (vector(6) + 1.0, matrix(2, 2)))
def split_arrays(A, B):
    left, right = np.split(A, 2)
    left[0] = 9.0
    a, b, c = np.split(A, [1, 4])
    upper, lower = np.vsplit(B, 2)
    x, y = np.hsplit(B, 2)
    parts = np.array_split(B, 4, axis=1)
    for part in parts:
        part += 1.0
    return left - right, b * c[0] - a, upper + lower, x - y


@accepted(lambda: (vector(6), vector(6), matrix(3, 3)), lambda: (vector(6), vector(5), np.eye(3)))
def compared_and_replaced(A, B, C):
    same = np.array_equal(A, B), np.array_equal(A[:5], B[:5]), np.array_equal(A, C)
    C @= C + 1.0
    C[:2, :2] @= C[1:, 1:]
    temporary = A + 1.0
    A[:] = temporary
    del temporary
    inside = len(A) in (5, 6), A.shape[0] not in (7, 8), A is not None
    return same, inside, 3 in C.shape


@accepted(lambda: (matrix(4, 6),))
def functions_of_shapes(A):
    n = min(A.shape)
    for i in range(n):
        A[i, i] += sum(A.shape) + math.prod(A.shape) - max(A.shape)
    return n


@accepted(
    lambda: (
        np.array(
            [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999999999999994, -0.3, 7.0, 4503599627370497.0, -1e-30, 1e9 + 0.5]
        ),
    )
)
def nearest_integers(x):
    total = 0
    for i in range(len(x)):
        total += round(x[i]) * (i + 1) + round(i)
    return total, round(x[0]), 3


# ---- results whose size is only known in the end


@accepted(lambda: (vector(9), 0.0), lambda: (vector(9), 99.0), lambda: (np.zeros(0), 0.0))
def kept_elements(x, least):
    kept = np.zeros_like(x)
    n = 0
    for i in range(len(x)):
        if x[i] > least:
            kept[n] = x[i]
            n += 1
    return kept[:n], n, kept[1:n:2], kept[:-n]


@accepted(lambda: (matrix(5, 4),))
def greatest_row(A):
    k = 0
    for i in range(A.shape[0]):
        if A[i, 0] > A[k, 0]:
            k = i
    return A[k], A[k, 1:3], A[: k + 1, 1]


@accepted(lambda: (vector(9), 1.0), lambda: (vector(9), 99.0))
def up_to_the_first_above(x, most):
    made = np.zeros(len(x))
    n = 0
    for i in range(len(x)):
        if x[i] > most:
            return made[:n]
        made[n] = 2.0 * x[i]
        n += 1
    return made


# ---- constants beside arrays

WEIGHTS = [0.25, 0.5, 0.25]


@accepted(lambda: (vector(5),), lambda: (vector(2),))
def weighted_by_constants(A):
    total = sum(w * a for w, a in zip(WEIGHTS, A))
    for a, k in zip(A, (2, 0, 1, 1)):
        total += a * k
    for i, (w, row) in enumerate(zip(WEIGHTS, A)):
        total -= w * row * i
    return total


# ---- loops over expressions


@accepted(lambda: (matrix(3, 4), vector(5)), lambda: (matrix(1, 1), vector(1)), lambda: (np.zeros((0, 2)), np.zeros(0)))
def loops_over_expressions(A, x):
    total = 0.0
    for v in x * 2.0 + 1.0:
        total = total * 0.5 + v
    for i, v in enumerate(A.ravel()):
        total += i * v
    for v, w in zip(abs(x - 0.5), -x[::-1]):
        total -= v * w
    for row in A.copy():
        total += row[0]
    return total


@accepted(lambda: (vector(5),), lambda: (vector(1),), lambda: (np.zeros(0),))
def loops_over_what_is_replaced(x):
    y, total = x * 1.5, 0.0
    for v in y:
        total = total * 0.5 + v
        y = y * 2.0
    for v in x:
        total += v
        x = x + 1.0
    return total, x, y


@accepted(lambda: (matrix(3, 4),), lambda: (np.asfortranarray(matrix(2, 2)),))
def loops_over_copies_of_what_changes(A):
    total = 0.0
    for v in A.flatten():
        total += v
        A[-1, -1] = 9.0
    return total


@accepted(lambda: (matrix(3, 4), 3), lambda: (np.zeros((0, 2)), 0))
def places_as_tuples(A, n: int):
    B, c, total = np.zeros(A.shape), np.zeros((n, 2, 3)), 0.0
    for place in np.ndindex(A.shape):
        B[place] = A[place] + place[0] - 2 * place[1]
    for place, x in np.ndenumerate(A):
        i, j = place
        total += x * (i + 3 * j)
        if x > 0.5:
            B[place] += 1.0
    for p in np.ndindex(n, 2, 3):
        if p[1] > p[2]:
            continue
        c[p] = p[0] + 10 * p[1] + 100 * p[2]
    return B, c, total


@accepted(lambda: (matrix(3, 4),), lambda: (np.zeros((0, 4)),), lambda: (np.zeros((3, 0)),))
def nothing_of_no_elements(A):
    if A.size == 0:
        return 0.0, -1
    if A.size > 0 and not A.size >= 1:
        return 1.0, 1
    return A.max(axis=0)[0] - A[:, 0].min(), A[-1].argmax()


@accepted(
    lambda: (matrix(3, 4),),
    lambda: (matrix(3, 4).astype(np.float32),),
    lambda: (np.ones((3, 4), dtype=np.int64),),
)
def what_depends_on_types(A):
    factor = 2 if A.dtype == np.float64 else 3 if A.dtype in (np.float32, "float16") else 5
    B = A * factor
    return B, 1.0 if B.dtype != A.dtype else 2.0, A.dtype == "int64"


@accepted(lambda: (matrix(3, 2), 4), lambda: (np.ones((2, 2), dtype=np.int64), 3))
def rows_of_numbers(A, n: int):
    for i in range(len(A)):
        A[i] = A[i, 1] + 1, A[i, 0] * n
    A[:, 0][:2] = [n, 2.75]
    A[0] = A[1] = n, n + 1


def _of_even_length(A):
    if len(A) % 2 == 1:
        A = np.append(A, 0.0)
    return A[::2].sum() - A[1::2].sum()


@accepted(*[lambda k=k: (vector(6), vector(5), k) for k in (0, 1, 2, 3)])
def arrays_replaced_on_one_side(A, B, kind: int):
    if kind == 0:
        return np.zeros(3), 0.0
    if kind == 1:
        pass
    elif kind == 2:
        A = np.roll(A, 1)
    else:
        A = A[::-1]
    longer, shorter = A, B
    if len(A) < len(B) + kind:
        longer = B
        shorter = A
    difference = longer.sum() - shorter[0] * longer[0]
    A = A * 2.0
    if A[0] > 1.0:
        A = A + 1.0
    return A, difference


@accepted(lambda: (vector(6), vector(5)))
def helpers_replacing_on_one_side(A, B):
    difference = _of_even_length(A) - _of_even_length(B)
    B[0] = _of_even_length(A[1:])
    return difference


@accepted(lambda: (matrix(4, 3), np.zeros(4)))
def rows_replaced_under_conditions(A, sums):
    for i in range(len(A)):
        row = A[i]
        if row[0] > 0.25:
            row = row * 2.0
        sums[i] = row.sum()


@accepted(lambda: (matrix(4, 3), np.zeros((4, 3))), lambda: (np.ones((2, 3), dtype=np.int64), np.zeros((2, 3))))
def arguments_by_position(A, C):
    sums = A.sum(0, None, None, True), np.mean(A, 1, None, None, True), A.max(0, None, True), np.all(A, 0, None, True)
    spread = A.var(1, None, None, 1), np.std(A, 0, None, None, 1), A.var(None, None, None, 1)
    C[:] = np.cumsum(A, 0, None, None)
    return *sums, *spread, np.linspace(0.0, 1.0, 5, True, False), np.clip(A, 0, 1, None)
