"""The types of numbers that are returned, by which versions of NumPy's since 2.0 promote (NEP 50)."""

# mypy: ignore-errors

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune


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
