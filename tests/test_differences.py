"""Return what `docs/language.md` says of where kernels differ from Python, in both modes, interpreted and compiled."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError

PAGE = Path(__file__).parents[1] / "docs" / "language.md"
LEAST = -(2**63)


def floats(out, x, z):
    out[0] = x / z
    out[1] = z / z
    out[2] = z**-x
    out[3] = x // z
    out[4] = z // z
    out[5] = x % z
    out[6] = math.sqrt(-x)
    out[7] = math.asin(x + 1.0)
    out[8] = math.log(-x)
    out[9] = math.fmod(x, z)
    out[10] = math.log(z)
    out[11] = math.exp(x * 1000.0)
    out[12] = (-x) ** 0.5
    out[13] = math.gamma(z)
    out[14] = math.lgamma(-x)


INF, NAN = np.inf, np.nan
EXPECTED = [INF, NAN, INF, INF, NAN, NAN, NAN, NAN, NAN, NAN, -INF, INF, NAN, INF, INF]


def integers(out, quotient, n, z, big, least):
    quotient[0] = n / z
    out[0] = n // z
    out[1] = n % z
    out[2] = big * 4
    out[3] = big + big
    out[4] = (big + 1) ** 3
    out[5] = abs(least)
    out[6] = -least


def truncated(out, A):
    for i in range(len(A)):
        out[i] = int(A[i])


def test_floats_that_no_integer_holds_become_some_integer() -> None:
    A, out = np.array([np.nan, np.inf, 1e300, -7.9]), np.zeros(4, np.int64)
    polytune.kernel(truncated)(out, A)
    assert out[3] == -7


def small_integers(P):
    P[0] = P[0] + 1
    P[1] = P[1] * P[1]
    P[2] = -P[2]
    P[3] = P[3] // P[4]


@pytest.mark.parametrize("strict", [False, True])
def test_floats_go_on_as_numpy_does(strict: bool) -> None:
    out = np.zeros(len(EXPECTED))
    polytune.Kernel(floats, strict=strict)(out, 1.0, 0.0)
    np.testing.assert_array_equal(out, EXPECTED)


@pytest.mark.parametrize("strict", [False, True])
def test_integers_wrap_round(strict: bool) -> None:
    out, quotient = np.ones(7, np.int64), np.zeros(1)
    polytune.Kernel(integers, strict=strict)(out, quotient, 7, 0, 2**62, LEAST)
    cube = ((2**62 + 1) ** 3 + 2**63) % 2**64 - 2**63
    np.testing.assert_array_equal(out, [0, 0, 0, LEAST, cube, LEAST, LEAST])
    assert quotient[0] == np.inf


@pytest.mark.parametrize("strict", [False, True])
def test_elements_of_32_bits_wrap_round(strict: bool) -> None:
    P = np.array([2**31 - 1, 2**16 + 1, -(2**31), 5, 0], np.int32)
    polytune.Kernel(small_integers, strict=strict)(P)
    np.testing.assert_array_equal(P, [-(2**31), 2**17 + 1, -(2**31), 0, 0])


@pytest.mark.parametrize(
    ("compute", "error"),
    [
        (lambda: 1.0 / 0.0, ZeroDivisionError),
        (lambda: 7 / 0, ZeroDivisionError),
        (lambda: 0.0**-1, ZeroDivisionError),
        (lambda: 1.0 // 0.0, ZeroDivisionError),
        (lambda: 1.0 % 0.0, ZeroDivisionError),
        (lambda: 7 // 0, ZeroDivisionError),
        (lambda: 7 % 0, ZeroDivisionError),
        (lambda: math.sqrt(-1.0), ValueError),
        (lambda: math.asin(2.0), ValueError),
        (lambda: math.log(-1.0), ValueError),
        (lambda: math.fmod(1.0, 0.0), ValueError),
        (lambda: math.log(0.0), ValueError),
        (lambda: math.exp(1000.0), OverflowError),
        (lambda: int(math.nan), ValueError),
        (lambda: int(math.inf), OverflowError),
    ],
)
def test_python_raises_what_the_page_says(compute: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        compute()
    assert f"`{error.__name__}`" in PAGE.read_text()


def test_python_makes_complex_numbers() -> None:
    assert isinstance((-1.0) ** 0.5, complex)


def divided(A, n, m):
    half = n // m
    for i in range(half):
        A[i] = 1.0


def raised(A, n, m):
    count = n**m
    for i in range(min(3, count)):
        A[i] = 1.0


@pytest.mark.parametrize(
    ("function", "numbers", "said"),
    [
        (divided, (3, 0), "integer division or modulo by zero"),
        (raised, (10, 30), f"count is {10**30}"),
        (raised, (10, -1), "count is 0.1"),
    ],
)
def test_sizes_that_cannot_be_computed(function: Callable[..., Any], numbers: tuple[int, int], said: str) -> None:
    A = np.zeros(4)
    kernel = polytune.kernel(function)
    with pytest.raises(ArgumentError, match=re.escape(said)):
        kernel(A, *numbers)
    assert not A.any()
    kernel(A, 3, 1)
    np.testing.assert_array_equal(A, [1.0, 1.0, 1.0, 0.0])


def of_size(n):
    y = np.zeros(n - 3)
    for i in range(n - 3):
        y[i] = i
    return y


def in_an_expression(n):
    return np.zeros(n - 3)


def counted_by(x, step):
    total = 0.0
    for i in range(0, 5, step):
        total += x[i]
    return total


@pytest.mark.parametrize(
    ("function", "arguments"), [(of_size, (0,)), (in_an_expression, (0,)), (counted_by, (np.ones(5), 0))]
)
def test_python_refuses_negative_sizes_and_steps_of_zero(function: Callable[..., Any], arguments: Any) -> None:
    with pytest.raises(ValueError, match=r"negative dimensions|must not be zero"):
        function(*arguments)


def test_negative_sizes_and_steps_of_zero_are_nothing() -> None:
    assert polytune.kernel(of_size)(0).shape == (0,)
    assert polytune.kernel(of_size)(5).tolist() == [0.0, 1.0]
    assert polytune.kernel(counted_by)(np.ones(5), 0) == 0.0
    assert polytune.kernel(counted_by)(np.ones(5), 2) == 3.0
    with pytest.raises(polytune.ArgumentError, match="is negative: -3"):
        polytune.kernel(in_an_expression)(0)
