"""Functions that are accepted, with functions of NumPy's that rearrange arrays, or give several results."""

# mypy: ignore-errors

from __future__ import annotations

import math

import numpy as np

from tests.frontend.acceptance import accepted
from tests.frontend.values import matrix, vector


@accepted(*[lambda k=k: (vector(6), matrix(4, 6), k) for k in (0, 2, -3, 6)])
def rolled_by_arguments(A, B, k: int):
    return np.roll(A, k), np.roll(B, k, axis=1), np.roll(B, (1, k), axis=(0, 1)), np.roll(B, -5), np.roll(A, 1 - k // 3)


@accepted(lambda: (vector(4), matrix(3, 5)), lambda: (vector(3), matrix(5, 3)))
def padded_past_the_edge(A, B):
    around = np.pad(A, 3, mode="wrap"), np.pad(A, (2, 1), mode="reflect"), np.pad(A, (1, 3), "symmetric")
    return *around, np.pad(B, ((1, 3), (2, 0)), mode="wrap"), np.pad(B, 2, mode="reflect"), np.pad(B, 2, "symmetric")


@accepted(lambda: (vector(4), matrix(4, 4)), lambda: (vector(3), matrix(2, 5)))
def diagonals(A, B):
    sums = np.trace(B), np.trace(B, offset=1), np.trace(B, -1)
    return *sums, np.diag(B, 1), B.diagonal(-1), np.diag(A), np.diag(A, 2), np.diag(A, k=-1), np.diag(B + 1.0, 9)


@accepted(lambda: (vector(6), matrix(4, 3), 7), lambda: (np.array([-0.0, 1.5, -2.25, 4.0]), matrix(2, 3), -7))
def several_results(A, B, n: int):
    fraction, whole = np.modf(A)
    times, rest = divmod(n, 3)
    quotients, rests = np.divmod(B, 0.75)
    row, column = np.unravel_index(B.argmax(), B.shape)
    along_rows, along_columns = np.gradient(B)
    narrow, wide = np.gradient(B, 0.5, 2.0)
    along = np.gradient(B, axis=(0,))
    differences = (
        along_rows,
        along_columns,
        narrow - wide,
        along,
        np.gradient(B, 0.5, axis=1),
        np.gradient(B[:, 0], 4.0),
    )
    return fraction, whole, times, rest, quotients, rests, row, column, B[row, column], *differences


@accepted(lambda: (matrix(4, 3), np.array([[0, 2, 1], [1, 0, 0], [2, 2, 2], [0, 0, 1]])))
def ordered_and_looked_up(A, k):
    ordered = np.sort(A, axis=None), np.argsort(A, axis=None), A.flatten(), A[1].flatten()
    centred = A - np.median(A, axis=0, keepdims=True)
    parts = np.percentile(A, [25, 50]), np.quantile(A, (0.1, 0.9), axis=1)
    found = np.take_along_axis(A, k, axis=1), np.isin(k, [1, 3]), np.maximum.accumulate(A, axis=1)
    return *ordered, centred, *parts, *found, max(A[0]), min(A[:, 1] * -1.0), A[0].shape[0], len(A.T)


@accepted(lambda: (matrix(4, 5), vector(6), 2, 3), lambda: (matrix(2, 3), np.zeros(0), 0, 0))
def arrays_in_other_shapes(A, B, n: int, m: int):
    flat = A.reshape(-1)
    total = 0.0
    for i in range(flat.size):
        total += flat[i] * i
    table = B.reshape(n, m)
    return total, table.sum(axis=0), A.reshape(A.shape[1], A.shape[0]), A.T.ravel(), A.ravel() + 1.0


@accepted(lambda: (matrix(4, 5),))
def of_constant_shape(A):
    return A.reshape(5, 4), A.reshape((2, 2, 5)) * 2.0, A.reshape(20)


@accepted(lambda: (matrix(4, 5), vector(6)), lambda: (np.asfortranarray(matrix(3, 2)), vector(3)))
def changed_in_another_shape(A, B):
    flat = A.reshape(-1)
    for i in range(flat.size):
        flat[i] += i
    flat[1:3] = 7.0
    rows = B.reshape(3, -1)
    rows[1] = 5.0
    made = np.ones((2, 3))
    row = made.ravel()
    row[4] = 2.0
    return flat * 2.0, rows.sum(axis=0), row


@accepted(lambda: (matrix(4, 6),))
def extents_that_follow(A):
    return np.shape(A)[1], A.reshape(A.shape[0], 3, -1), A.reshape((-1, 8)) + 1.0, A.reshape(2, -1, A.shape[1])


@accepted(lambda: (matrix(4, 5), 3), lambda: (matrix(1, 2), 1))
def assigned_shapes(A, n: int):
    x = A.copy()
    x.shape = x.shape[::-1]
    i, j = np.mgrid[0 : 2**n, 0:n]
    i.shape = j.shape = n * 2**n
    y, z = np.zeros(6), np.ones(6)
    y.shape = z.shape = 2, 3
    y += z
    z[1] = 4.0
    return x, i * j, y, z


# ---- functions that write arrays and are used for their value


def drawn(state):
    state[0] = (state[0] * 1103515245 + 12345) & 0x7FFFFFFF
    return state[0] >> 8


def uniform(state):
    integer = drawn(state)
    return abs(float(integer) / 0x7FFFFF)


def state_of_7():
    return np.array([7], dtype=np.int64)


@accepted(lambda: (vector(5), state_of_7()))
def shuffled(A, state):
    n = len(A)
    for i in range(n - 1):
        j = drawn(state) % (n - i) + i
        A[i], A[j] = A[j], A[i]
    return uniform(state) * 2.0 + uniform(state)


@accepted(lambda: (vector(50), state_of_7()))
def drawn_in_the_order_of_python(A, state):
    x = state[0] + drawn(state) * 10 + state[0]
    A[drawn(state) % 5] += 0.5 * uniform(state)
    A[state[0] % 7] += uniform(state)
    if x > 3 and uniform(state) < 0.7 and (uniform(state) < 0.3 or drawn(state) % 2 == 0):
        A[3] = 1.0
    elif uniform(state) > 0.5:
        A[4] = 2.0
    y = uniform(state) if x % 2 == 0 else 3.0
    while uniform(state) < 0.6:
        y += 1.0
        if y > 7.0:
            continue
        y += 0.25
    return max(uniform(state), y), state[0] if drawn(state) % 3 == 1 else 5


def bump(A):
    A[:] += 1.0
    return A[0]


@accepted(lambda: (vector(50),))
def changed_and_read(A):
    B = A * 2.0 + bump(A)
    C = A[1:] + bump(A)
    A += bump(A)
    A[2:] *= bump(A)
    for k in range(int(bump(A)) % 5 + 2):
        A[k] += bump(A)
    return B, C, np.sum(A) + bump(A), np.maximum(A[3], bump(A))


@accepted(lambda: (vector(9), state_of_7()))
def picked_by_an_inner_function(A, state):
    def pick(k):
        state[0] += k
        return A[state[0] % len(A)]

    t = pick(3) + pick(4) * pick(2)
    return t


@accepted(lambda: (vector(9), state_of_7()))
def sampled_without_repetition(A, state):
    indices = np.empty(4, dtype=np.int64)
    for i in range(4):
        reject = True
        j = 0
        while reject:
            j = drawn(state) % 9
            for k in range(i):
                if j == indices[k]:
                    break
            else:
                reject = False
        indices[i] = j
    return indices


# ---- parts with bounds that depend on data, given to NumPy; kernels that only compute numbers


@accepted(lambda: (vector(12), np.array([0, 2, 2, 7, 20])), lambda: (vector(4), np.array([-3, 9, 0, 4])))
def sorted_parts(x, first):
    found = np.zeros(len(first) - 1)
    s = np.zeros(len(x))
    for i in range(len(found)):
        part = x[first[i] : first[i + 1]]
        if len(part) > 1:
            found[i] = np.sort(part)[1] + np.median(part)
            s[first[i] : first[i + 1]] = np.sort(part)
            k = np.argsort(part)
            found[i] += part[k[0]] + part[k[:1]].sum()
        found[i] += np.searchsorted(np.sort(x)[first[i] : first[i + 1]], x[0], side="right")
    return found, s


@accepted(lambda: (2.0, 3), lambda: (2, -3.5), lambda: (np.float32(2.0), 3))
def numbers_alone(x, n):
    return (x, (n, x / n)), x > 1, None, 3.5, math.exp(n) + x


@accepted(lambda: (2, 3), lambda: (-2, 3))
def integer_chosen(x: int, n: int):
    if x > 0:
        return x, n
    return n, x


@accepted(lambda: (2, 3))
def an_argument(x, n):
    return n


# ---- functions with loops in what need not be evaluated


def has(A, v):
    return any(x == v for x in A)


def norm1(A):
    t = 0.0
    for x in A:
        t += abs(x)
    return t


@accepted(lambda: (vector(5), 2.0), lambda: (vector(5), -2.0))
def calls_in_conditions(A, x):
    if x > 0 and not has(A, x) and norm1(A) > 1.0:
        A[0] = x
    y = norm1(A[1:]) if x < 0 else 2.0
    while norm1(A) > 0.5:
        A *= 0.5
        y += 1.0
    k = 0
    while k < 3 and norm1(A[k:]) > 0.1:
        k += 1
        if k == 2:
            continue
        y -= 0.125
    return y + (1.0 if norm1(A) > 0.2 or has(A, 7.0) else 0.0), k


@accepted(lambda: (vector(5), vector(7)))
def calls_in_choices(A, B):
    n = 0
    for i in range(len(B)):
        if i % 2 == 0 or has(A, B[i]):
            n += 1
        B[i] = B[i] * 2.0 if not has(A, B[i]) else norm1(A)
    return n


@accepted(lambda: (vector(5), vector(7)))
def calls_in_branches(A, B):
    for i in range(len(B)):
        if i == 3:
            B[i] = 2.0
        elif i > 1 and has(A, B[i]):
            B[i] = 7.0
        else:
            B[i] = -1.0


@accepted(*(lambda k=k: (vector(6), np.array(k)) for k in ([2, 5], [-2, 9], [4, 1])))
def parts_of_parts_given_to_numpy(A, k):
    a = A[k[0] : k[1]]
    n = np.searchsorted(A[: k[0]][1:], A[0])
    b = np.sort(np.concatenate((a, A[1:])))
    c = np.sort(a + A[k[0] : k[1]] * 2.0)
    d = np.sort(a[::-2])
    e = np.sort(a[1:-1])
    f = np.sort(A[A > 1.0][:3])
    return n, b[0], c.sum(), d.sum(), e.sum(), f.sum(), len(b), len(d)


def total_of(x):
    t = 0.0
    for v in x:
        t += v
    return t


def sum_or_more(x, y):
    if y > 0:
        return total_of(x) * 2
    z = y + 1
    return z


@accepted(lambda: (vector(6), 1.0), lambda: (vector(6), -1.0))
def loops_in_a_branch(A, y):
    A[0] += sum_or_more(A, y)
    return sum_or_more(A, y)


@accepted(lambda: (vector(6), 1.0), lambda: (vector(6), -1.0))
def loops_in_a_comprehension(A, y):
    return np.array([total_of(A) if A[i] > 0 else 0.0 for i in range(3)])


# ---- extrema where there is nothing


@accepted(lambda: (vector(7), 0.0), lambda: (vector(7), 100.0), lambda: (np.zeros(0), 100.0))
def extrema_of_what_there_is(A, x):
    mask = x < A
    total = 0.0
    if mask.any():
        total = np.min(A[mask]) + A[mask].max()
    if A.sum() > 0.0:
        total += A[2:].max()
    return total + np.max(A, initial=3.0)


@accepted(lambda: (np.ones((1, 3)), np.array([3, 1, -1])))
def numbers_where_arrays_are_expected(A, k):
    first = np.squeeze(A[:, 0], axis=0)
    return first, np.argmin(3.0), np.argmax(A[0, 0]), np.reciprocal(7), np.reciprocal(k), np.add(np.sum(A), 1.0)


# ---- ranges of floats, which constants make, and kernels without arguments


@accepted(lambda: (2.5,))
def ranges_of_floats(x):
    step = 0.75
    down = np.arange(5.0)[::-1] - np.arange(1.25, 0, -0.25)
    return x * np.arange(0.125, 2.0, 0.25), down, np.arange(0, 3 * step, step / 4), np.arange(-1.0, 1.0 + 1e-9, 0.5)


@accepted(lambda: ())
def made_of_nothing():
    table = np.zeros((3, 4))
    for i in range(3):
        for j in range(4):
            table[i, j] = i - j
    return table, np.arange(4.0) @ np.ones(4)


# ---- elements that are left out, with a count of the others, as refusals say


@accepted(lambda: (vector(9), 3), lambda: (vector(9), 0))
def counted(A, steps):
    left = A.copy()
    n = len(A)
    for i in range(steps):
        kept = left[:n][left[:n] < 0.7 - 0.1 * i]
        n = len(kept)
        left[:n] = kept
        A[i] = np.sum(left[:n])
    return left[:n]


@accepted(
    lambda: (
        np.array([-7, 7, -7, 7, 0], dtype=np.int64),
        np.array([3, -3, -7, 0, 5], dtype=np.int64),
        np.array([250, 7, 9, 3, 0], dtype=np.uint8),
        np.array([0.5, -1.25, 0.0, 3.0, 9.5], dtype=np.float32),
        np.array([True, False, True, True, False]),
    ),
)
def types_of_results(A, B, u, x, m):
    remainders = (
        np.fmod(A, B),
        np.fmod(A[0], B[0]),
        np.fmod(u, np.uint8(7)),
        np.fmod(x, np.float32(0.75)),
        np.fmod(A, u),
    )
    rounded = np.rint(A), np.rint(A[1]), np.rint(x), np.round(A), np.round(u, 1)
    truths = np.floor(m), np.ceil(m), np.trunc(m[0]), np.fix(m), np.real(m), ~np.floor(m)
    angles = np.degrees(x), np.radians(x), np.degrees(x[4]), np.degrees(A), np.radians(x.astype(np.float16))
    steps = np.heaviside(x, 1), np.logaddexp(x, 0), np.heaviside(x, m), np.heaviside(A, 2)
    return *remainders, *rounded, *truths, *angles, *steps


# ---- helpers that make arrays of the elements that they are given


def _crossed(a, b):
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _unit_normal(a, b):
    n = 2.0 * _crossed(a, b)
    return n / np.sqrt((n * n).sum())


def _turned(x, y):
    v = np.array([x, y])
    if x > 0.5:
        v = np.array([y, -x])
    return v


def _inside(x):
    limits = np.linspace(0.25, 0.75, 3)
    return limits[0] < x and x < limits[-1]


@accepted(lambda: (vector(3), vector(5)))
def arrays_of_helpers(a, b):
    normal = _unit_normal(a, b[1:4])
    pairs = np.zeros((3, 2))
    for i in range(3):
        pairs[i] += _turned(a[i], b[i]) * _turned(b[i], 1.0)
    return normal, _crossed(b[1:4], a), pairs, _crossed(a, b)[1]


@accepted(lambda: (vector(7),), lambda: (np.array([0.5, 2.0, 0.3, -1.0]),))
def helpers_with_arrays_under_conditions(x):
    count = 0
    for i in range(len(x)):
        if i > 0 and _inside(x[i]):
            count += 1
        x[i] = _turned(x[i], 1.0)[0] if x[i] < 1.5 else 0.0
    return count


@accepted(lambda: (vector(3), 2))
def nothing_but_a_result(A, n: int):
    for i in range(0):
        A[i] = 1.0
    return n + 1, A
