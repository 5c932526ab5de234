"""Numbers of all types of NumPy's as arguments and results: how they promote (NEP 50), and what sizes they are."""

# mypy: ignore-errors

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
import polytune.errors


def either_side(x, m):
    return np.where(1.0, 0, 1.0), np.where(len(x) > 2, 1, x[0]) + 1, np.where(False, 0, x)


def chosen_number_of_pythons(x, m):
    return np.where(x[0] > 0, 1.0, 2.0) * x[1], np.where(x[0] > 0, 1, 2) * x[1], np.where(x > 0, 1.0, 2.0) * x


def chosen_truth_values(x, m):
    return np.where(x[0] > 0, x[0] > 2, True), np.where(True, x[0] > 1, m[0]), np.where(x[0] > 0, x[0] > 2, 3)


def truth_values_in_arithmetic(x, m):
    total = 0
    for i in range(len(m)):
        total += m[i]
    return (0 - m[0]) * x[0], (m[0] * 2.0) * x[0], m[0] * x[0], (x[0] > 1) * 2 * x[1], total * x[0], (m * 3) * x


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
@pytest.mark.parametrize(
    "function", [either_side, chosen_number_of_pythons, chosen_truth_values, truth_values_in_arithmetic]
)
def test_types_are_numpys(function: Callable[..., Any], dtype: str) -> None:
    arguments = np.array([1, 2, 3], dtype), np.array([True, False, True])
    found = polytune.kernel(strict=True)(function)(*arguments)
    for mine, right in zip(found, function(*arguments), strict=True):
        assert np.asarray(mine).dtype == np.asarray(right).dtype
        np.testing.assert_array_equal(mine, right)


def between(m, B, A, n):
    for i in range(abs(n - m)):
        B[n - i, 0] = 1.0
    for _ in range(1, m):
        for k in range(1, n):
            A[0, k] = 1.0


def stepped(m, B, A, n):
    for i in range(n):
        A[0, i // 2] = B[n - i, 0]


@pytest.mark.parametrize("integer", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64])
@pytest.mark.parametrize("function", [between, stepped])
def test_arguments_are_checked_whatever_type_sizes_have(function: Callable[..., Any], integer: type) -> None:
    """What is computed of sizes to check accesses is computed of Python's integers, which hold it."""
    for n, rows in ((7, 8), (100, 101), (127, 128)):
        arguments = (0, np.arange(2.0 * rows).reshape(rows, 2), np.zeros((1, rows)), integer(n))
        found = arguments[0], *(each.copy() for each in arguments[1:3]), arguments[3]
        function(*arguments)
        polytune.kernel(function)(*found)
        for mine, right in zip(found[1:3], arguments[1:3], strict=True):
            np.testing.assert_array_equal(mine, right)
        with pytest.raises(polytune.errors.PolytuneError):
            polytune.kernel(function)(0, np.zeros((rows - 1, 2)), np.zeros((1, rows)), integer(n))


def squares(n):
    A = np.ones((n, n))
    B = A + n
    return (B @ A).sum(), n, A, np.arange(n), np.linspace(0, 1, n), np.eye(n), np.ones(2 * (n // 2))


@pytest.mark.parametrize("n", [np.int16(190), np.uint8(100), np.int8(90), np.int32(300), np.uint16(33), np.int64(5)])
def test_local_arrays_have_the_sizes_that_integers_of_numpy_say(n: Any) -> None:
    """Also where as many elements, or bytes, are more than their type holds."""
    kernel = polytune.kernel(squares)
    for _ in range(3):
        for mine, right in zip(kernel(n), squares(n), strict=True):
            np.testing.assert_allclose(mine, right, rtol=1e-12)
            assert np.shape(mine) == np.shape(right) and np.asarray(mine).dtype == np.asarray(right).dtype


def drawn_numbers(x, rng):
    start = np.random.randint(1, 5)
    for i in range(len(x)):
        start -= x[i]
    return (
        start,
        np.random.random() * x[0],
        np.random.choice(5) * x[0],
        rng.normal() * x[0],
        rng.poisson(3.0) * x[0],
        rng.choice(4) * x[0],
        rng.integers(1, 5) * x[0],
        rng.random(3) * x[0],
    )


def test_numbers_that_are_drawn_are_pythons() -> None:
    """But for those of ``rng.integers``, and arrays."""
    x = np.ones(4, np.float32)
    results = []
    for call in (drawn_numbers, polytune.kernel(drawn_numbers)):
        np.random.seed(3)
        results.append(call(x, np.random.default_rng(4)))
    for right, mine in zip(*results, strict=True):
        assert np.asarray(mine).dtype == np.asarray(right).dtype
        np.testing.assert_array_equal(mine, right)
