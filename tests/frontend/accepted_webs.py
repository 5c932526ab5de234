"""Functions that are accepted, with names that stand for several variables, one after the other."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from tests.frontend.acceptance import accepted
from tests.frontend.values import vector


@accepted(lambda: (np.array([1, 2, 1], np.uint8), np.zeros(4)), lambda: (np.zeros(0, np.uint8), np.ones(4)))
def element_and_then_number(values, counts):
    for v in values:
        counts[v] += 1
    total = 0.0
    for t in range(len(counts)):
        v = counts[t] * 0.5
        total += v
    return total


@accepted(lambda: (4, np.zeros(4)), lambda: (7, np.ones(4)))
def integer_and_then_number(n, A):
    k = n // 2
    A[k] = 1
    same = k
    k = 0.5
    A[0] = k
    return same, k


@accepted(lambda: (vector(7), np.zeros(7)))
def three_in_each_iteration(x, out):
    for i in range(len(x)):
        k = i * 2 % len(x)
        t = x[k]
        k = t * 0.5
        out[i] = k
        k = int(k)
        out[i] += k
    return k


def _third(a, i):
    q = i % 3
    r = a[q]
    q = r * 0.1
    return q + r


@accepted(lambda: (vector(5), np.zeros(5)))
def in_a_function_that_is_called(x, out):
    for i in range(len(x)):
        out[i] = _third(x, i)


@accepted(lambda: (vector(3),), lambda: (np.full(3, 0.3),))
def number_and_then_place(x):
    y = 0
    for i in range(3):
        y = y + x[i]
        if y > 1:
            break
    z = y
    y = int(z)
    w = np.zeros(3)
    w[y % 3] = z
    for y in range(2):
        w[y] += 1
    return w, y


@accepted(lambda: (vector(4),), lambda: (np.ones(1),))
def number_and_then_array(x):
    v = x[0] * 2
    w = v
    v = x * 2
    v[0] = w + 1
    for v in x:
        w += v
    v = np.zeros(2)
    v[:] = w
    return v


@accepted(lambda: (vector(4),), lambda: (np.ones(2),))
def array_and_then_number(x):
    x = x + 1
    t = x
    t[0] = 7
    t = x.sum()
    t = t + 1
    m = x[: len(x) // 2]
    m[0] = 5
    m = 2
    x[m - 1] += t
    x = x.mean()
    return t, m, x


@accepted(lambda: (vector(4), 1), lambda: (vector(4), 2))
def array_on_one_side(A, mode):
    if mode == 1:
        t = A * 2
        r = t.sum()
    else:
        t = 2.0
        r = t * 3
    return r


@accepted(lambda: (vector(3), vector(3)))
def several_arrays_and_a_number(A, B):
    t = A
    for i in range(3):
        t[i] = i
    t = 0.0
    for i in range(3):
        t += A[i]
    t = B
    t[0] = 9
    t = t + 1
    return t


@accepted(lambda: (vector(3) * 9, 4))
def argument_and_then_number(x, n):
    n = n // 2
    x[n] = 1
    n = n * 0.25
    x[0] = n
    for k in range(3):
        n = n + k
    r = int(n)
    while r > 0:
        r = r - 1
    r = x[r] / 3
    return r
