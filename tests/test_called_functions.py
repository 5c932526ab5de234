"""Functions that kernels call: starred arguments, variables that some ways leave unset, and floating-point errors."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import get_num_threads

import polytune
from polytune.errors import UnsupportedSourceError
from tests.test_control import in_every_version
from tests.test_results import vector


def total(*terms):
    found = 0.0
    for term in terms:
        found += term
    return found


def polynomial(x, *coefficients):
    found = 0.0
    for each in coefficients:
        found = found * x + each
    return found


def applied(function, *arguments):
    return function(*arguments) * len(arguments)


def moved(A, *by):
    A[:] = A * by[0]
    if len(by) > 1:
        A += by[1]


def with_starred_parameters(A, B, x):
    for i in range(len(A)):
        B[i] = total(A[i], x, 2) + polynomial(A[i], 1, 2, x) + total()
        B[i] += applied(polynomial, A[i], 1.0, 2.0)
    moved(A, 2.0)
    moved(A, x, 1)


def with_a_tuple(A, B, coefficients):
    for i in range(len(A)):
        B[i] = polynomial(A[i], *coefficients)


def near(q):
    if q <= 3.0:
        weight = 1.0 - q / 9.0
    elif q <= 9.0:
        rest = 9.0 - q
        weight = rest * rest
    return weight * 1.5


def without_a_value_on_one_way(A, B, x):
    for i in range(len(A)):
        if A[i] > 9.0:
            continue
        B[i] += near(A[i]) + near(A[i] / 2)


def left_by_jumps(A, B, x):
    for i in range(len(A)):
        with np.errstate(divide="ignore", invalid="ignore"):
            if A[i] > 7.0:
                continue
            B[i] = x / A[i]
    with np.errstate(all="ignore"):
        if len(A) > 3:
            return 1.0
    return 2.0


@pytest.mark.parametrize(
    "function", [with_starred_parameters, without_a_value_on_one_way, left_by_jumps], ids=lambda each: each.__name__
)
def test_functions_that_are_called(function: Callable[..., Any]) -> None:
    for n in (0, 1, 5, 33):
        in_every_version(function, vector(n), np.ones(n), 0.5)


def test_tuples_for_starred_parameters() -> None:
    for given in ((), (2.0,), (1.0, 0.5, 3)):
        in_every_version(with_a_tuple, vector(5), np.ones(5), given)


LOCK = threading.Lock()


def under_a_lock(A):
    with LOCK:
        if A[0] > 1.0:
            return
    A[0] = 1.0


def in_pieces(A):
    for k in range(get_num_threads()):
        A[k] = 1.0


@pytest.mark.parametrize(
    ("function", "message"),
    [(under_a_lock, "a with block"), (in_pieces, r"get_num_threads is called")],
    ids=["lock", "threads"],
)
def test_what_is_no_part_of_the_language_is_refused(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(UnsupportedSourceError, match=message):
        polytune.kernel(function)(vector(3))


def wrapped_round(A, m):
    small, large = np.uint8(m), np.uint64(m)
    for i in range(len(A)):
        A[i] = float(small - np.uint8(9)) + float(large + np.uint64(i))
    return small, large - np.uint64(1)


def shifted(A, B, m):
    far, one = np.uint64(m), np.uint64(1)
    for i in range(len(A) - m):
        place = np.uint64(i)
        B[place] = A[place + far - one] + np.sum(A[place : place + far])


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_integers_of_other_types_made_of_arguments() -> None:
    for m in (1, 2, 5):
        in_every_version(wrapped_round, vector(6), m)
        in_every_version(shifted, vector(9), np.zeros(9), m)
    kernel = polytune.kernel(wrapped_round)
    small, large = kernel(vector(6), 3)
    assert (small.dtype, large.dtype) == (np.uint8, np.uint64)


def of_arrays_where_they_are_needed(A, B, n):
    s = 0.0
    for i in range(n):
        if i > 2 and (A[i] <= B[i]).all():
            s += 1
        elif i < 2 or A[i].sum() > 3.0:
            s += A[i].max() if (i > 1 and np.allclose(A[i], B[i], atol=0.1)) or np.array_equal(A[i], B[i]) else 10.0
        s += A[i].mean() if A[i, 0] > 0.5 else 0.25
    while s > 1 and A.max() < 2:
        s *= 0.5
    return s


def test_methods_of_arrays_may_stand_where_they_need_not_be_evaluated():
    A = np.random.default_rng(0).random((9, 4))
    B = A + np.arange(-4, 5)[:, None] * 0.1
    kernel = polytune.kernel(of_arrays_where_they_are_needed, strict=True)
    for n in (0, 1, 3, 9):
        assert kernel(A, B, n) == pytest.approx(of_arrays_where_they_are_needed(A, B, n), rel=1e-14)


def compared_where_they_fit(A, B, n):
    found = 0.0
    if A.shape[0] == B.shape[0] and np.all(A == B):
        found += 1.0
    if len(A) != len(B) or np.any(A > B + 9.0) or n > 3:
        found += 2.0
    if n > 0 and len(A) == n and A.shape == B.shape and (A <= B).all():
        found += 4.0
    found += np.sum(A * B) if A.shape == B.shape else np.nanmax(A) if A.size > 0 else np.linalg.norm(B)
    return found


def test_arrays_are_compared_only_where_their_shapes_are_equal():
    A = np.arange(5.0)
    for B in (A, A + 1.0, A - 10.0, A[:4], A[:0]):
        for n in (0, 4, 5):
            in_every_version(compared_where_they_fit, A, B.copy(), n)
            in_every_version(compared_where_they_fit, B.copy(), A, n)


def turn(origin, first, second):
    return (first[0] - origin[0]) * (second[1] - origin[1]) - (first[1] - origin[1]) * (second[0] - origin[0])


def hull(points):
    order = np.argsort(points[:, 0])
    stack = np.zeros(len(points) + 1, dtype=np.int64)
    k = 0
    for i in order:
        while k >= 2 and turn(points[stack[k - 2]], points[stack[k - 1]], points[i]) <= 0:
            k -= 1
        stack[k] = i
        k += 1
    return stack[:k]


def distance(first, second, scale=1.0):
    found = 0.0
    dx = first[0] - second[0]
    dy = first[1] - second[-1]
    if dx > 0:
        found = dx * dx
    return scale * (found + dy * dy)


def along(P, order, limit):
    out = np.zeros(len(order))
    for i in range(len(order)):
        out[i] = distance(P[order[i]], P[order[i - 1]]) if i > 0 and order[i] != order[i - 1] else -1.0
        if (i > 1 and distance(P[order[i]], P[order[i - 2]], 2.0) > limit) or (i > 2 and P[order[i - 3]].sum() > 1):
            out[i] += 1
    return out


@pytest.mark.parametrize("strict", [False, True])
def test_functions_of_rows_that_need_not_be_called(strict: bool) -> None:
    for n in (0, 1, 2, 3, 9):
        points = np.stack((np.arange(n) * 5 % 7, np.arange(n) * 3 % 8), axis=1) / 4.0
        in_every_version(hull, points, strict=strict)
        in_every_version(along, points, np.arange(n) * 2 % max(n, 1), 0.2, strict=strict)
