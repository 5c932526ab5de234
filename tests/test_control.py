"""Jumps, loops and names as people write them, in compiled kernels against plain Python."""

# ruff: noqa: B007

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import UnassignedVariableError
from polytune.explanation import explain
from tests.frontend.accepted import ACCEPTED
from tests.test_results import compared, kernel_of, vector

SIZES = (0, 1, 2, 5, 33)
WEIGHTS = np.array([0.25, 0.5, 0.25], dtype=np.float32)
OFFSETS = ((0, 1), (1, 0), (0, -1), (-1, 0))
FACTORS = [1.0, -2.0, 3.0]


class RangeError(Exception):
    pass


def in_every_version(function: Callable[..., Any], *arguments: Any, strict: bool = False) -> None:
    """Every version writes and returns what plain Python does, with tiles that divide little."""
    kernel = kernel_of(function, strict)
    wanted = copy.deepcopy(arguments)
    right = function(*wanted)
    space = kernel.space(*arguments)
    for version in space["version"].values:
        sizes = {name: 3 for name in space.configuration(version=version) if name.startswith("tile_")}
        found = copy.deepcopy(arguments)
        result = kernel.run(space.configuration(version=version, **sizes), *found)
        np.testing.assert_equal(result, right, version)
        for after, before in zip(found, wanted, strict=True):
            np.testing.assert_allclose(after, before, rtol=1e-6, err_msg=version)


COMPILED = [each for number, each in enumerate(ACCEPTED) if number % 4 == 0]
"""Every fourth: ``tests/frontend/test_accepted.py`` has all of them, in the model."""


@pytest.mark.parametrize(("function", "make"), COMPILED, ids=[function.__name__ for function, _ in COMPILED])
def test_accepted_functions_compiled(function: Callable[..., Any], make: Callable[[], tuple[Any, ...]]) -> None:
    in_every_version(function, *make())


def skipped(A, B):
    for i in range(len(A)):
        if i % 3 == 0:
            continue
        if A[i] > 5.0:
            if i % 2 == 0:
                continue
            B[i] = -1.0
        B[i] += A[i]


def test_continue() -> None:
    for n in SIZES:
        in_every_version(skipped, vector(n), np.ones(n))
    assert kernel_of(skipped, False).space(vector(5), np.ones(5))["version"].values[0] != "source"


def first_above(A, limit):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] > limit:
                return i, j
    return -1, -1


def rows_up_to(A, B, limit):
    """A search in each row: rows are parallel."""
    for i in range(A.shape[0]):
        B[i] = -1
        for j in range(A.shape[1]):
            if A[i, j] > limit:
                B[i] = j
                break
        else:
            B[i] = -2


def converged(A, B, tolerance, most):
    error = 0.0
    for step in range(most):
        error = 0.0
        for i in range(1, len(A) - 1):
            B[i] = (A[i - 1] + A[i] + A[i + 1]) / 3.0
        for i in range(1, len(A) - 1):
            error = max(error, abs(A[i] - B[i]))
            A[i] = B[i]
        if error < tolerance:
            break
    return step, error


def test_loops_that_end_early() -> None:
    for n in SIZES:
        A = vector(n * 7).reshape(n, 7)
        for layout in (A, np.asfortranarray(A)):
            for limit in (4.0, 100.0):
                in_every_version(first_above, layout, limit)
                in_every_version(rows_up_to, layout, np.zeros(n, np.int64), limit)
    for strict in (False, True):
        for most in (1, 4, 300):
            for n in (0, 2, 33):
                in_every_version(converged, vector(n), np.zeros(n), 1e-3, most, strict=strict)
    assert "tiles of i in parallel" in explain(kernel_of(rows_up_to, False))


def test_a_loop_without_iterations_leaves_its_variable_unassigned() -> None:
    with pytest.raises(UnassignedVariableError):
        kernel_of(converged, False)(np.zeros(3), np.zeros(3), 1e-3, 0)


def collatz(A, most):
    longest = 0
    for i in range(len(A)):
        n, steps = i + 1, 0
        while True:
            if n == 1 or steps >= most:
                break
            if n % 2 == 0:
                n = n // 2
                steps += 1
                continue
            n = 3 * n + 1
            steps += 1
        A[i] = steps
        longest = max(longest, steps)
    return longest


def test_while_loops_with_jumps() -> None:
    for n in SIZES:
        in_every_version(collatz, np.zeros(n, np.int64), 40)


def iterated(A, B):
    total = 0.0
    for x in A:
        total += x
    for i, (a, b) in enumerate(zip(A, B, strict=False), 3):
        total += a * b * i
    for k in reversed(range(1, len(A), 2)):
        B[k] = A[k] - total
    for factor in FACTORS:
        total = total * 0.5 + factor
    return total


def around(A, B):
    n, m = A.shape[:2]
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            total = 0.0
            for di, dj in OFFSETS:
                total += A[i + di, j + dj]
            B[i, j] = total


def weighted(A, B):
    pairs = (0.5, 0.25)
    for i in range(1, len(A) - 1):
        total = 0.0
        for k in range(3):
            total += WEIGHTS[k] * A[i + k - 1] * FACTORS[k]
        B[i] = total + pairs[i % 2] + len(WEIGHTS)


def test_loops_over_other_things_than_ranges() -> None:
    for n in SIZES:
        for strict in (False, True):
            compared(iterated, vector(n), vector(n + 1), strict=strict)
    for n in (0, 3, 12):
        in_every_version(around, vector(n * 9).reshape(n, 9), np.zeros((n, 9)))
        for dtype in ("float64", "float32"):
            compared(weighted, vector(n, dtype), np.zeros(n, dtype))


def test_constants_are_read_again_when_they_change() -> None:
    kernel = polytune.kernel(weighted, budget=0, background=False)
    A = vector(9)
    wanted, found = np.zeros(9), np.zeros(9)
    kernel(A, found)
    FACTORS[1] += 9.0
    WEIGHTS[2] += 1.0
    try:
        weighted(A, wanted)
        kernel(A, found)
    finally:
        WEIGHTS[2] -= 1.0
        FACTORS[1] -= 9.0
    np.testing.assert_allclose(found, wanted)


def with_tests(A, B, n):
    """Its arguments are tested first."""
    size = A.shape[0]
    if n < 0:
        raise ValueError(f"n is {n}, of {size}")
    elif n > size:
        raise RangeError("too many")
    assert A.shape == B.shape and np.isfinite(A).all(), "finite"
    for i in range(n):
        B[i] = A[i]
    return size


def test_exceptions_are_the_users_own_and_nothing_is_written() -> None:
    kernel = kernel_of(with_tests, False)
    for A, n in ((vector(4), -1), (vector(4), 5), (np.array([1.0, np.nan]), 1)):
        B = np.zeros_like(A)
        with pytest.raises(Exception) as right:
            with_tests(A, B.copy(), n)
        with pytest.raises(type(right.value)) as caught:
            kernel(A, B, n)
        assert type(caught.value) is type(right.value)
        assert str(right.value).startswith(str(caught.value))  # pytest adds to what its assertions say
        assert not B.any()
    for n in SIZES:
        compared(with_tests, vector(n), np.zeros(n), n)


def put(B, i, x, factor=2.0):
    B[i] = factor * x
    return x, i


def with_helpers(A, B, w):
    def at(i, scale=2.0):
        return A[i] * scale * w

    total = 0.0
    last = -1
    for i in range(A.size):
        x, last = put(B, i, x=at(i) + at(i, scale=1.0))
        total += x
    if A.shape == B.shape and A.shape != (3,):
        total = -total
    return total, last


def test_nested_functions_and_helpers() -> None:
    for n in SIZES:
        for strict in (False, True):
            compared(with_helpers, vector(n), np.zeros(n), 1.5, strict=strict)


def assigned_variables(A):
    i = -5
    for i in range(2, len(A), 3):
        A[i] += 1.0
    last = i
    for i in range(len(A) - 1, -1, -4):
        A[i] -= 0.5
    for k in range(len(A)):
        k = k // 2
        A[k] += 1.0
    return last, i


def test_loop_variables_are_variables() -> None:
    for n in SIZES:
        compared(assigned_variables, vector(n))
