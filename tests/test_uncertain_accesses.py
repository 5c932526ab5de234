"""Accesses that data decide on, in calls in which they would be out of range if they happened, against plain Python."""

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


FUNCTIONS = (under_condition, chosen, reached_by_and, around_loop, in_list, in_while)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("strict", [False, True])
def test_accesses_that_do_not_happen(function: Callable[..., Any], strict: bool) -> None:
    for n in (1, 2, 5, 33):
        A = vector(n)
        A[n - 1 :] = -1.0  # the access out of range is that of the last iteration
        in_every_version(function, A, vector(n), strict=strict)
        in_every_version(function, -abs(A) - 1.0, vector(n // 2), strict=strict)


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
    assert not fitting.tests_accesses
    assert tested.tests_accesses
    kernel(vector(4), vector(5))
    assert len(kernel.tuners) == 2
