"""Names that get an array on both sides of a branch: one array for both, what follows on both sides, or a refusal."""

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
from tests.test_control import in_every_version


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


def chosen_parts(A, B, n, m):
    part = A[0, ::2] if n > m else A[1, 1::2]
    part += 1.0
    other = B[1:]
    if B[0, 0] > 3.0:
        other = A[:, ::-1]
    other[0] = other[-1] * 2.0
    return part[:1], other


def rows_in_a_loop(A, B, n, m):
    for k in range(len(A)):
        row = A[k] if A[k, 0] > A[1, 0] else A[1]
        row[1] += 1.0
        rest = A[k, 1:] if k else B[0, :-1]
        rest -= 0.5
        if rest[0] > 40.0:
            break


def back_and_forth(A, B, n, m):
    for t in range(m):
        if t % 2 == 0:
            old, new = A, B
        else:
            old, new = B, A
        for i in range(1, len(A) - 1):
            new[i, 0] = old[i - 1, 0] + old[i + 1, 0]
    return A if m % 2 == 0 else B


def _first_above(A, B, n):
    best = A
    if n > 3:
        best = B[::-1]
    for i in range(len(best)):
        if best[i, 0] > 9.0:
            return best[i, 0]
    best[0, 0] = 7.0
    return -1.0


def by_a_function(A, B, n, m):
    found = _first_above(A, B, n)
    found += _first_above(B, A, m)
    return found


def of_several_branches(A, B, n, m):
    total = 0.0
    for i in range(len(A)):
        if n > 2:
            if m > 2:
                x = A
            else:
                x = B[i : i + 1]
        else:
            if i == 2:
                continue
            x = B
        total += x[0, 0]
        if len(x) > 4 and total > 50.0:
            break
        x[-1, 0] = total
    else:
        total = -total
    return total


ON_BOTH_SIDES = [
    arguments_themselves,
    other_types,
    with_two_names,
    argument_or_copy,
    changed_under_another_name,
    changed_by_a_function,
    chosen_parts,
    rows_in_a_loop,
    back_and_forth,
    by_a_function,
    of_several_branches,
]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("kernel", ON_BOTH_SIDES)
def test_where_one_array_cannot_stand_for_both_what_follows_is_on_both_sides(
    kernel: Callable[..., Any], strict: bool
) -> None:
    for n, m in ((5, 5), (2, 5), (5, 2)):
        for shift in (0.0, 3.0):
            A = np.arange(25.0).reshape(5, 5) + shift
            in_every_version(kernel, A, 2.0 * A, n, m, strict=strict)


def test_what_a_function_gives_back_is_one_array() -> None:
    with pytest.raises(UnsupportedSourceError, match="may be one of several"):
        polytune.kernel(given_back_by_a_function)(square(5), square(5), 5, 5)


def _flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [] if result is None else [result]
