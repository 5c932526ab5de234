"""Functions that are accepted, with variables that hold truth values."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from tests.frontend.acceptance import accepted
from tests.frontend.values import matrix, vector


@accepted(*[lambda c=c: (vector(), c) for c in (0.25, 2.0)])
def variables_of_truth_values(A, c):
    above, below, missing = A[0] > c, A[1] < -c, np.isnan(A[2])
    if ~above:
        A[0] = c
    below, above = above, below
    both = above & ~missing
    weight = both if c > 1 else ~below
    A[1] = ~weight
    return above, ~below, both ^ above, A[3] * weight, (c < A).any(), np.logical_not(weight)


@accepted(*[lambda c=c: (vector(), c) for c in (0.25, 2.0, 9.0)])
def truth_values_in_loops(A, c):
    every, some, odd = A[0] < c, A[0] > c, A[0] > c
    changes, last = 0, False
    for i in range(1, len(A)):
        now = A[i] > c
        if ~now:
            A[i] += 1.0
        every &= ~now
        some = some | now
        odd = odd ^ now
        if now != last:
            changes += 1
        last = now
    return every, some, ~odd, changes, last, A


@accepted(*[lambda n=n: (vector(), n) for n in (2, 5)])
def truth_values_of_arguments(A, n: int):
    large, square = n > 3, n * n > 7
    found = False
    for i in range(len(A)):
        inside = i > 0 and i < len(A) - 1
        if inside and large:
            A[i] += 2.0
        if not square and not inside:
            A[i] -= 1.0
        if A[i] > 2.0:
            found = True
    large = not large
    return large, found, found + 1, A[0] * square, A


def _is_outside(value, c):
    if value > c:
        return value > 2 * c
    return value < -c


def _is_far(value, c):
    distance = 0.0
    for k in range(3):
        distance += value * k
        if distance > 4 * c:
            return distance > value
    return distance < -c


@accepted(*[lambda c=c: (vector(), c) for c in (0.25, 1.0)])
def truth_values_of_functions(A, c):
    inside, far = 0, 0
    for i in range(len(A)):
        if ~_is_outside(A[i], c):
            inside += 1
        away = _is_far(A[i], c)
        if ~away:
            far -= 1
    outside = _is_outside(A[0], c)
    return inside, far, outside, ~outside


@accepted(lambda: (vector(), np.True_), lambda: (vector(), np.False_))
def truth_values_given(A, flag):
    other = ~flag
    if ~flag:
        A[0] = 1.0
    flag = flag & (A[1] > 0.0)
    return flag, other, ~flag, A


@accepted(lambda: (vector(9) - 3.0,), lambda: (np.zeros(0),), lambda: (np.array([1.0, -1.0, np.nan, 2.0]),))
def changes_of_sign(x):
    crossings = np.where(np.diff(np.signbit(x)))[0]
    return crossings, np.diff(x > 0.0), np.diff(x > 0.0, n=2)


@accepted(lambda: (matrix(3, 4) > 2.0,))
def changes_along_axes(mask):
    return np.diff(mask, axis=0), np.diff(mask), np.diff(mask, axis=0).sum()
