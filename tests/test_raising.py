"""Exceptions and assertions in the middle of kernels."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import polytune
from tests.test_results import kernel_of, vector

MESSAGE = "it does not fit"


class SingularError(ArithmeticError):
    """An error of a module of the user's."""


def eliminated(A, least):
    n = A.shape[0]
    for k in range(n):
        if abs(A[k, k]) < least:
            raise SingularError("a pivot is less than " + str(least))
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            for j in range(k, n):
                A[i, j] -= factor * A[k, j]
    assert A[n - 1, n - 1] != 0.0, MESSAGE
    return A[n - 1, n - 1]


def outcome(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception as error:
        return type(error), str(error).partition("\n")[0]  # pytest says more of assertions


def check(function: Any, *arguments: Any) -> Any:
    for strict in (False, True):
        wanted, found = copy.deepcopy(arguments), copy.deepcopy(arguments)
        right, result = outcome(function, *wanted), outcome(kernel_of(function, strict), *found)
        if isinstance(right, float):
            np.testing.assert_allclose(result, right)
        else:
            assert result == right
        for after, before in zip(found, wanted, strict=True):
            np.testing.assert_allclose(after, before, rtol=1e-12, atol=1e-12)
    return result


def least_of(A):
    return min(A[0], A[1])


def above(A):
    least = least_of(A)
    if least < 0.0:
        raise ValueError("one is negative")
    A[0] = least


def test_a_test_of_what_a_call_gives_is_done_where_it_stands() -> None:
    check(above, np.array([3.0, 2.0, 1.0]))
    assert check(above, np.array([3.0, -2.0])) == (ValueError, "one is negative")


def test_an_exception_ends_a_kernel_where_it_stands() -> None:
    regular, singular = np.eye(5) + 1.0, np.eye(5)
    singular[2, 2] = 0.0
    assert isinstance(check(eliminated, regular, 1e-9), float)
    assert check(eliminated, singular, 1e-9) == (SingularError, "a pivot is less than 1e-09")
    assert check(eliminated, np.zeros((1, 1)), -1.0) == (AssertionError, MESSAGE)


def plain_first_above(A, x):
    text = "nothing"
    for i in range(len(A)):
        if A[i] > x:
            return i
        if A[i] != A[i]:
            raise ValueError
    if x > 100.0:
        raise IndexError(text, MESSAGE, 2)
    raise LookupError(f"none above {x}") from None


def test_exceptions_are_made_of_arguments_and_constants() -> None:
    for n in (0, 1, 2, 9):
        check(plain_first_above, vector(n), 4.0)
    assert check(plain_first_above, vector(3), 50.0) == (LookupError, "none above 50.0")
    assert check(plain_first_above, vector(3), 101.0)[0] is IndexError
    assert check(plain_first_above, np.array([1.0, np.nan]), 5.0) == (ValueError, "")


def test_a_call_after_one_that_raised_is_right() -> None:
    kernel = polytune.kernel(background=False)(plain_first_above)
    A = vector(40)
    for _ in range(12):
        assert kernel(A, 3.0) == plain_first_above(A, 3.0)
        with pytest.raises(LookupError, match="none above 50"):
            kernel(A, 50.0)
