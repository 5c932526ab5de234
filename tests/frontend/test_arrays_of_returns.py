"""Functions that return another array at each of several places, and sides of branches on data with arrays of one
shape that only each call can tell."""

# ruff: noqa: SIM108

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError
from tests.test_results import compared, vector


def direction(v):
    length = np.sqrt(np.sum(v**2))
    if length < 4.0:
        return np.zeros(3)
    if v[0] > v[1]:
        t = v / length
        t[0] = 1.0
        return t
    else:
        w = -v
        return w


def directions(A):
    n = len(A) // 3
    B = np.empty((n, 3))
    for i in range(n):
        B[i] = direction(A[3 * i : 3 * i + 3])
    return B


def sum_of_direction(A):
    d = direction(A[:3]) + 1.0
    d += direction(A[-3:])
    return d


def scaled(A, is_small):
    if is_small:
        if A[0] > 2.0:
            return A * 2.0
        x = A + 1.0
        return x
    x = A - 1.0
    x[0] = 2.0
    return x


def branches_of_sizes(A):
    return scaled(A, len(A) < 5), scaled(A, A[0] > 1.0)


def axis_and_angle(A):
    m = A[0] + A[1]
    if m > 6.0:
        B = np.array([0, 0, 1, 0], dtype=np.float64)
    else:
        C = A / m
        if m < 3.0:
            B = np.append(C, np.pi)
        else:
            B = np.append(C, m)
    return B


def or_zeros(A, B):
    B = np.zeros(A.shape[0]) if B.shape[0] == 0 else B
    return A + B


def distance_and_gradient(x, y):
    total = 0.0
    for i in range(len(x)):
        total += abs(x[i] - y[i])
    if total == 0.0:
        return 0.0, np.zeros(len(x))
    gradient = np.empty(len(x))
    for i in range(len(x)):
        gradient[i] = np.sign(x[i] - y[i]) / total
    return total, gradient


def gradients(A):
    n = len(A) // 3
    total, out = 0.0, np.zeros((n, 3))
    for i in range(n):
        distance, gradient = distance_and_gradient(A[3 * i : 3 * i + 3], A[:3])
        out[i] = gradient
        total += distance
    return total, out


def limits(x, width):
    if width < 0.0:
        raise ValueError("a negative width")
    if width == 0.0:
        return x, x + 0.0, True
    low = x - width
    return low, x + width, False


def within_limits(A):
    low, high, is_narrow = limits(A, A[0])
    high = high + 1.0
    return low + high, is_narrow, distance_and_gradient(low, A)[1]


@pytest.mark.parametrize("strict", [False, True])
def test_functions_that_return_tuples_with_several_arrays(strict: bool) -> None:
    for n in (3, 4, 9, 12):
        compared(gradients, vector(n), strict=strict)
    for first in (2.0, 0.0):
        compared(within_limits, np.array([first, 1.0, 2.0]), strict=strict)
    with pytest.raises(ValueError, match="a negative width"):
        polytune.kernel(within_limits, strict=strict)(np.array([-1.0, 2.0]))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("function", [directions, sum_of_direction, branches_of_sizes])
def test_functions_that_return_several_arrays(function: Callable[..., Any], strict: bool) -> None:
    for n in (3, 4, 9, 12):
        compared(function, vector(n), strict=strict)


def test_sides_of_branches_on_data() -> None:
    for scale in (0.1, 1.0, 5.0):
        compared(axis_and_angle, vector(3) * scale)
    with pytest.raises(ArgumentError, match=r"'B' has the shape \(4,\) on one side of a branch"):
        polytune.kernel(axis_and_angle)(vector(4))


def test_an_argument_or_zeros_in_an_expression() -> None:
    for n in (0, 1, 4):
        compared(or_zeros, vector(4), vector(n) if n != 1 else vector(0))
