"""Names that get a new array on both sides of a branch: one array for both, or a refusal."""

# ruff: noqa: SIM108

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError, UnsupportedSourceError
from tests.frontend.test_array_expressions import modelled


def square(n: int = 5) -> np.ndarray:
    return np.random.default_rng(n).random((n, n)) + 2.0 * np.eye(n)


def solved(A, B, n, m):
    total = np.zeros((n, m))
    for i in range(3):
        if n == m:
            X = np.linalg.inv(A + i)
        else:
            X = np.linalg.solve(A + i, B)
        if A[0, 0] < 2.5:
            X = -X
        total += X
    return total


def of_data(A, B, n, m):
    if A[0, 0] > 2.5:
        X = A * 2.0
    else:
        X = A + 1.0
        X[0] = 7.0
    X[1] += 1.0
    A[2] = X[1]
    return X.sum(), X


def of_three(A, B, n, m):
    total = 0.0
    for i in range(len(A)):
        if i < 2:
            X = np.zeros(m)
            X[0] = i
        elif i % 2 == 0:
            X = np.ones(m)
        else:
            X = np.full(m, 3.0)
        X *= A[i, 0]
        total += X.sum()
    return total


def of_different_extents(A, B, n, m):
    if n < m:
        X = A[0] * 2.0
    else:
        X = B[:, 0] + 1.0
    return X.sum() + len(X), X


def in_a_while(A, B, n, m):
    steps = 0
    while steps < n:
        if A[0, 0] > 2.0 + steps:
            X = A[steps] * 2.0
        else:
            X = A[steps] + 1.0
        A[0] += X
        steps += 1


def chosen(A, flag):
    if flag > 0:
        X = A * 2.0
    else:
        X = np.sqrt(A)
    return X


def in_a_function(A, B, n, m):
    A[:] = chosen(A, n - m) + chosen(A, 1)


def shapes_of_data_that_are_one(A, B, n, m):
    if A[0, 0] > 2.5:
        X = A[0] * 2.0
    else:
        X = A[:, 0] * 2.0
    return X.sum()


ACCEPTED = {
    "a solution or an inverse": (solved, ((4, 4), (4, 2), (5, 5))),
    "a condition on data": (of_data, ((3, 3), (5, 5))),
    "three sides": (of_three, ((3, 2), (7, 4))),
    "different extents": (of_different_extents, ((4, 6), (6, 4), (4, 4))),
    "inside of a while": (in_a_while, ((3, 3), (5, 5))),
    "in a function": (in_a_function, ((3, 3), (2, 3))),
    "shapes that are one": (shapes_of_data_that_are_one, ((4, 2), (5, 5))),
}


@functools.cache
def compiled(name: str, strict: bool) -> Callable[..., Any]:
    return polytune.kernel(strict=strict)(ACCEPTED[name][0])


SLOW = {"a solution or an inverse"}
"""Those that take LLVM long, as libraries' functions do."""


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", [pytest.param(each, marks=[pytest.mark.slow] * (each in SLOW)) for each in ACCEPTED])
def test_the_name_has_the_array_of_the_side_that_runs(name: str, strict: bool) -> None:
    kernel, sizes = ACCEPTED[name]
    for n, m in sizes:
        arguments = square(n), np.random.default_rng(m).random((n, m)), n, m
        wanted = copy.deepcopy(arguments)
        right = kernel(*wanted)
        runs = [compiled(name, strict)]
        if kernel is not solved:  # the model has no library
            runs.append(lambda *given, kernel=kernel: modelled(kernel, given, strict=strict))
        for run in runs:
            given = copy.deepcopy(arguments)
            found = run(*given)
            for expected, got in zip((*_flat(right), *wanted), (*_flat(found), *given), strict=True):
                assert np.shape(got) == np.shape(expected)
                np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.slow
def test_shapes_that_do_not_fit_are_refused_at_the_call() -> None:
    with pytest.raises(ArgumentError):
        compiled("a solution or an inverse", False)(square(4), np.ones((4, 3)), 4, 2)
    with pytest.raises(ValueError, match="broadcast"):
        solved(square(4), np.ones((4, 3)), 4, 2)


def arguments_themselves(A, B, n, m):
    if A[0, 0] > 2.5:
        X = A
    else:
        X = B
    X[0] = 1.0


def other_types(A, B, n, m):
    if A[0, 0] > 2.5:
        X = A * 2.0
    else:
        X = A > 2.0
    return X.sum()


def with_two_names(A, B, n, m):
    if A[0, 0] > 2.5:
        X = A * 2.0
        Y = X
    else:
        X = A * 3.0
        Y = A * 4.0
    X[0] = 1.0
    return Y.sum()


def argument_or_copy(A, B, n, m):
    if n > m:
        A = A * 2.0
    A[0] = 1.0


def changed_under_another_name(A, B, n, m):
    t = A * 2.0
    part = t[1:]
    if n > m:
        part = part * 2.0
    t[2] = 11.0
    return part.sum()


def _replaced(A, n):
    if n > 3:
        A = A * 2.0
    return A


def _replaced_and_changed(A, n):
    if n > 3:
        A = A * 2.0
    A[0] = 1.0
    return A.sum()


def given_back_by_a_function(A, B, n, m):
    t = A * 2.0
    B = _replaced(t, n)
    t[0] = 9.0
    return B.sum()


def changed_by_a_function(A, B, n, m):
    t = A * 2.0
    return _replaced_and_changed(t, n) + t[0, 0]


REFUSED = [
    arguments_themselves,
    other_types,
    with_two_names,
    argument_or_copy,
    changed_under_another_name,
    given_back_by_a_function,
    changed_by_a_function,
]


@pytest.mark.parametrize("kernel", REFUSED)
def test_what_one_array_cannot_stand_for_is_refused(kernel: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedSourceError, match="may be one of several"):
        polytune.kernel(kernel)(square(5), square(5), 5, 5)


def _flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [] if result is None else [result]
