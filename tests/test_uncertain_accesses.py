"""Subscripts below 0, and accesses that data decide on where they would be out of range if they happened."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError, SubscriptError
from tests.test_control import in_every_version
from tests.test_results import kernel_of, vector


def under_condition(A, B):
    for i in range(len(A)):
        if A[i] > 0:
            B[i + 1] = A[i]


def chosen(A, B):
    for i in range(len(A)):
        A[i] = B[i + 1] if A[i] > 0 else 0.0


def reached_by_and(A, B):
    found = 0.0
    for i in range(len(A)):
        if A[i] > 0 and B[i + 1] > 3.0:
            found += B[i + 1]
    return found


def around_loop(A, B):
    for i in range(len(A)):
        if A[i] > 10:
            for j in range(len(A)):
                B[j + 1] += A[j]


def in_list(A, B):
    for i in range(len(A)):
        kept = []
        for j in range(len(A)):
            if A[i] > j + 4:
                kept.append(A[j])
        for x in kept:
            B[i + 1] += x


def in_while(A, B):
    for i in range(len(A)):
        steps = 0
        while steps < A[i]:
            B[i + 1] += 1.0
            steps += 1


def after_break(A, B):
    for t in range(len(A)):
        for i in range(len(A)):
            A[i] += 1.0
        if A[t] < 0:
            break
        for i in range(len(A)):
            B[i + t + 1] += A[i]


def mirrored(A, B, k):
    for i in range(len(A)):
        B[i] = A[-i]


def before(A, B, k):
    for i in range(len(A)):
        B[i] = A[i - k] + B[i]


def between(A, B, k):
    for i in range(len(A)):
        for j in range(3):
            B[k - i] += A[i - 2 * j - k] * B[j - 1]


def under_condition_below_zero(A, B, k):
    for i in range(len(A)):
        if A[i] > 4.5:
            B[k - i] = A[i - k]


def over_time(A, B, k):
    for _ in range(3):
        for i in range(len(A)):
            B[i - k] = 0.5 * (B[i - k - 1] + A[i - 2])


BELOW_ZERO = (mirrored, before, between, under_condition_below_zero, over_time)


@pytest.mark.parametrize("function", BELOW_ZERO, ids=lambda function: function.__name__)
def test_subscripts_below_zero_count_from_the_end(function: Callable[..., Any]) -> None:
    for n, k in ((7, 0), (7, 1), (7, 3), (33, 2)):
        in_every_version(function, vector(n), vector(n), k)
        in_every_version(function, vector(n), vector(n), k, strict=True)


@pytest.mark.parametrize("function", BELOW_ZERO[1:], ids=lambda function: function.__name__)
def test_subscripts_further_below_zero_raise_an_error(function: Callable[..., Any]) -> None:
    with pytest.raises(IndexError):
        function(np.full(2, 9.0), vector(2), 5)
    with pytest.raises(ArgumentError):
        kernel_of(function, False)(np.full(2, 9.0), vector(2), 5)


FUNCTIONS = (under_condition, chosen, reached_by_and, around_loop, in_list, in_while)


def read_constant(A):
    return A[-5]


def read_in_loop(A):
    total = 0.0
    for i in range(A.shape[0]):
        total += A[-3] * i
    return total


def written_constant(A):
    A[-4] = 7.0


def stretched(A):
    A[:] = A[-4]


def of_rows(A):
    rows = A.reshape(-1, 1)
    return rows[-2, -1] + rows[-3][0]


@pytest.mark.parametrize("function", [read_constant, read_in_loop, written_constant, stretched, of_rows])
def test_constants_below_zero_count_from_the_end_once(function: Callable[..., Any]) -> None:
    kernel = polytune.kernel(function)
    for size in range(1, 8):
        theirs, ours = vector(size), vector(size)
        try:
            wanted = function(theirs)
        except IndexError:
            with pytest.raises(IndexError):
                kernel(ours)
        else:
            np.testing.assert_array_equal(kernel(ours), wanted)
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("strict", [False, True])
def test_accesses_that_do_not_happen(function: Callable[..., Any], strict: bool) -> None:
    for n in (1, 2, 5, 33):
        A, B = (np.rint(8.0 * vector(n)) / 8.0 for _ in range(2))  # of which sums are exact in any order
        A[n - 1 :] = -1.0  # the access out of range is that of the last iteration
        in_every_version(function, A, B, strict=strict)
        in_every_version(function, -abs(A) - 1.0, B[: n // 2], strict=strict)


def test_what_a_loop_that_has_ended_would_access() -> None:
    for n in (2, 5, 33):
        in_every_version(after_break, np.full(n, -3.0), vector(n))
        in_every_version(after_break, np.full(n, -3.0), vector(1))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_accesses_that_happen_raise_an_index_error(function: Callable[..., Any]) -> None:
    A, B = np.full(5, 11.0), vector(5)
    expected = copy.deepcopy(B)
    with pytest.raises(IndexError):
        function(A.copy(), expected)
    with pytest.raises(SubscriptError, match=r"B\[[ij] \+"):
        kernel_of(function, False)(A.copy(), B)


def test_accesses_that_happen_whatever_the_data_are_are_refused_before() -> None:
    @polytune.kernel(budget=0)
    def certain(A, B):
        for i in range(len(A)):
            if A[i] > 0:
                B[i + 1] = 0.0
            B[i] = 1.0

    B = vector(4)
    before = B.copy()
    with pytest.raises(ArgumentError, match="goes past the end of axis 0"):
        certain(-vector(5), B)
    np.testing.assert_array_equal(B, before)


def test_calls_that_fit_are_not_tested() -> None:
    kernel = polytune.kernel(budget=0)(under_condition)
    kernel(vector(4), vector(5))
    kernel(-vector(4), vector(4))
    fitting, tested = (case.signature for case in kernel.tuners)
    assert not fitting.any_subscripts
    assert tested.any_subscripts
    kernel(vector(4), vector(5))
    assert len(kernel.tuners) == 2
