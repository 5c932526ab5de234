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


def least_below(A, k, x):
    A[0] = 1.0
    if x > 0.0:
        return min(j * k for j in range(k))
    return min([A[j] for j in range(1, k)])


def greatest_above(A, x):
    return max(abs(each) for each in A if each > x)


def greatest_of_each(A, counts):
    for i in range(len(counts)):
        A[i] = max(j * j - j for j in range(counts[i]))
    return A[0]


def scaled_or_nothing(column, limit):
    total = 0.0
    for x in column:
        total += x
    if total > limit:
        raise ValueError(MESSAGE)
    if total < 0.0:
        return np.zeros(len(column))
    return column / total


def scaled_columns(A, limit):
    out = np.empty_like(A)
    for j in range(A.shape[1]):
        out[:, j] = scaled_or_nothing(A[:, j], limit)
    A[:] = out
    return out[0, 0]


def test_a_function_that_raises_may_return_one_array_or_another() -> None:
    A = np.random.default_rng(3).random((5, 4))
    assert isinstance(check(scaled_columns, A, 100.0), float)
    assert isinstance(check(scaled_columns, A - [0.0, 3.0, 0.0, 3.0], 100.0), float)
    assert check(scaled_columns, A, 1.5) == (ValueError, MESSAGE)


@pytest.mark.parametrize("strict", [False, True])
def test_an_extremum_of_nothing_is_an_error(strict: bool) -> None:
    A = vector(5)
    kernel = kernel_of(least_below, strict)
    assert kernel(A.copy(), 3, 1.0) == 0 and kernel(A.copy(), 3, -1.0) == min(A[1:3]) and A[0] != 1.0
    with pytest.raises(ValueError, match=r"min\(\) of a sequence that has no elements"):
        kernel(A, 0, 1.0)
    for k in (1, 0):
        with pytest.raises(ValueError, match=r"min\(\) of a sequence that has no elements"):
            kernel(A, k, -1.0)
    check(greatest_above, vector(9), 2.0)
    with pytest.raises(polytune.DataError, match=r"max\(\) of a sequence that has no elements"):
        kernel_of(greatest_above, strict)(vector(9), 1e9)
    check(greatest_of_each, vector(3), np.array([1, 3, 2]))
    with pytest.raises(polytune.DataError, match=r"max\(\) of a sequence that has no elements"):
        kernel_of(greatest_of_each, strict)(vector(3), np.array([1, 0, 2]))


def sums_by_steps(A, steps, k):
    total = A[::k].sum()
    for i in range(len(steps)):
        if k < 5:
            total += A[:: steps[i]].sum()
    return total


def test_a_step_of_0_is_an_error() -> None:
    kernel = kernel_of(sums_by_steps, False)
    A = vector(9)
    check(sums_by_steps, A, np.array([2, -3]), 3)
    assert kernel(A, np.array([2, 0]), 7) == A[::7].sum()
    with pytest.raises(polytune.DataError, match=r"the step steps\[i\] of a slice is 0"):
        kernel(A, np.array([2, 0]), 3)
    with pytest.raises(polytune.ArgumentError, match="the step k of a slice is 0"):
        kernel(A, np.array([2]), 0)


def root_of(x):
    if x < 0.0:
        raise SingularError("negative")
    return x**0.5


def roots_added(x, y):
    assert y != 3.0, MESSAGE
    return root_of(x) + root_of(y)


def changed_by_calls(A, n):
    total = 0.0
    for i in range(len(A) - 1):
        A[i] = 1.0 + root_of(A[i])
        total += roots_added(A[i], A[i + 1]) * root_of(1.0)
    while n + 1 < len(A) and root_of(A[n]) < 3.0 and (n < 2 or roots_added(A[n], A[-1]) > 0.0):
        A[n] = 11.0
        n += 1
    A[0] = 77.0
    return total


def numbers_up_to(n):
    if n < 2:
        raise IndexError("n")
    B = np.zeros(n)
    B[1] = 2.0
    return B


def made_by_calls(A, n):
    def at(k):
        if A[k] == n:
            raise LookupError
        return A[k]

    B = numbers_up_to(n)
    A[0] = 5.0
    A[1] = at(0) + (at(2) if n > 2 else 0.0)
    A[2] = 6.0
    return B.sum()


def test_an_exception_of_a_function_that_is_called_ends_the_kernel() -> None:
    assert isinstance(check(changed_by_calls, np.full(6, 4.0), 1), float)
    assert check(changed_by_calls, np.array([4.0, 4.0, 4.0, -1.0, 4.0]), 1) == (SingularError, "negative")
    assert check(changed_by_calls, np.array([4.0, 4.0, 4.0, 3.0, 4.0]), 1) == (AssertionError, MESSAGE)
    assert check(changed_by_calls, np.array([4.0, 4.0, -4.0]), 2) == (SingularError, "negative")
    assert check(changed_by_calls, np.array([-4.0, -4.0]), 0) == (SingularError, "negative")
    assert check(made_by_calls, np.ones(4), 1) == (IndexError, "n")
    assert check(made_by_calls, np.full(4, 3.0), 3) == (LookupError, "")
    assert check(made_by_calls, np.full(4, 3.0), 7) == 2.0


def greatest_selected(A, x):
    return A[x < A].max()


def test_the_greatest_of_what_a_mask_selects_is_an_error_where_it_selects_nothing() -> None:
    check(greatest_selected, vector(9), 2.0)
    for strict in (False, True):
        with pytest.raises(polytune.DataError, match="a mask selects, of which there are none"):
            kernel_of(greatest_selected, strict)(vector(9), 1e9)
