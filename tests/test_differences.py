"""The differences between kernels and Python that `docs/language.md` names, in both modes, interpreted and compiled."""

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
        (raised, (10, -1), "of integers with a negative exponent: -1"),
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


def stepping(x, steps):
    total = 0.0
    for step in steps:
        for i in range(0, 5, step):
            total += x[i]
    return total


def test_negative_sizes_and_steps_of_zero_are_refused() -> None:
    assert polytune.kernel(of_size)(5).tolist() == [0.0, 1.0]
    assert polytune.kernel(counted_by)(np.ones(5), 2) == 3.0
    assert polytune.kernel(stepping)(np.ones(5), np.array([2, 1])) == 8.0
    for function in (of_size, in_an_expression):
        with pytest.raises(polytune.ArgumentError, match="is negative: -3"):
            polytune.kernel(function)(0)
    with pytest.raises(polytune.ArgumentError, match="the step of a range is 0"):
        polytune.kernel(counted_by)(np.ones(5), 0)
    with pytest.raises(polytune.DataError, match="the step of a range is 0"):
        polytune.kernel(stepping)(np.ones(5), np.array([2, 0]))


def chosen_array(A, B):
    return (A if B[0] > 0.0 else -A) - 1.0


def beside_extents(A):
    return A.reshape(2, -1, A.shape[1])


def beside_the_first(A):
    return A.reshape(A.shape[0], -1) * 2.0


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("function", "fitting", "wrong", "said"),
    [
        (chosen_array, [(np.ones(3), np.ones(3)), (np.ones(3), -np.ones(3))], (np.ones(0), np.ones(0)), "past the end"),
        (beside_extents, [(np.ones((4, 6)),), (np.ones((0, 3)),)], (np.ones((0, 0)),), r"-1 beside A.shape\[1\]"),
        (beside_the_first, [(np.ones((2, 3)),)], (np.ones((0, 3)),), r"-1 beside A.shape\[0\]"),
    ],
)
def test_errors_of_empty_arrays(
    function: Callable[..., Any], fitting: list[Any], wrong: Any, said: str, strict: bool
) -> None:
    kernel = polytune.kernel(strict=strict)(function)
    for arguments in fitting:
        np.testing.assert_array_equal(kernel(*arguments), function(*arguments), strict=True)
    with pytest.raises((ValueError, IndexError)):
        function(*wrong)
    with pytest.raises(ArgumentError, match=said):
        kernel(*wrong)


def element_beside_none(A, B):
    A *= B[0]
    return A + B[1]


def shifted(n, k):
    return n << k, n >> k


def test_what_python_refuses_of_no_elements_and_negative_shifts() -> None:
    with pytest.raises(IndexError):
        element_beside_none(np.ones(0), np.ones(0))
    assert polytune.kernel(element_beside_none)(np.ones(0), np.ones(0)).shape == (0,)
    with pytest.raises(ArgumentError):
        polytune.kernel(element_beside_none)(np.ones(1), np.ones(1))
    with pytest.raises(ValueError, match="negative shift"):
        shifted(3, -1)
    assert polytune.kernel(shifted)(3, -1) == (0, 0)


def covariances(A):
    return np.cov(A)


def correlations(A):
    return np.corrcoef(A)


def rows(A):
    return np.array([[a, 2.0 * a] for a in A])


@pytest.mark.parametrize(
    ("function", "several", "one", "said"),
    [
        (covariances, np.arange(6.0).reshape(2, 3) ** 2, np.ones((1, 3)), "of one variable alone"),
        (correlations, np.arange(6.0).reshape(2, 3) ** 2, np.ones((1, 3)), "of one variable alone"),
        (rows, np.ones(3), np.ones(0), "a list comprehension that gives no rows"),
    ],
)
def test_numbers_of_dimensions_that_depend_on_extents(
    function: Callable[..., Any], several: np.ndarray, one: np.ndarray, said: str
) -> None:
    kernel = polytune.kernel(function)
    np.testing.assert_allclose(kernel(several), function(several), strict=True)
    assert function(one).ndim != function(several).ndim
    with pytest.raises(ArgumentError, match=said):
        kernel(one)


def flags(x, c):
    found, above = False, x[0] > c
    for v in x:
        if v > c:
            found = True
    return found, not found, ~above


def test_truth_values_that_are_returned_are_those_of_numpy() -> None:
    kernel = polytune.kernel(flags)
    for c in (0.5, 2.0):
        results = kernel(np.ones(3), c)
        assert [type(result) for result in results] == [np.bool_, bool, np.bool_]
        assert results == flags(np.ones(3), c)


def types_that_depend_on_data(A):
    total = 0
    for i in range(len(A)):
        if A[i] > 0:
            total += A[i]
    return total, np.array([A[i] if A[i] > 0 else 0.0 for i in range(len(A))]), np.squeeze(A[:1], axis=0)


def test_types_that_depend_on_data_are_those_that_all_take() -> None:
    kernel = polytune.kernel(background=False)(types_that_depend_on_data)
    for A in (np.array([1.0, 2.0], np.float32), np.array([-1.0, -2.0], np.float32)):
        found, wanted = kernel(A), types_that_depend_on_data(A)
        for one, other in zip(found, wanted, strict=True):
            assert one.dtype == np.float32
            np.testing.assert_array_equal(one, other)
    assert isinstance(found[2], np.float32) and isinstance(wanted[2], np.ndarray)
    assert isinstance(wanted[0], int) and wanted[1].dtype == np.float64
    page = PAGE.read_text()
    assert "whose type depends on data" in page and "a result without dimensions" in page


def squeezed(A):
    return np.squeeze(A), A[:1].squeeze(axis=0), (2 * A[:, None]).squeeze()


def test_extents_of_one_that_are_left_out_are_known() -> None:
    kernel = polytune.kernel(background=False)(squeezed)
    for found, wanted in zip(kernel(np.ones((2, 3))), squeezed(np.ones((2, 3))), strict=True):
        assert found.shape == wanted.shape
    for shape in ((1, 3), (2, 1), (1, 1)):
        with pytest.raises(ArgumentError, match="an extent of 1 in this call"):
            kernel(np.ones(shape))


def of_whole_arrays(Z):
    return np.abs(Z), Z * Z, np.reciprocal(Z), 1 / Z, Z / (Z + 1)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_arrays_have_the_digits_of_scalars(dtype: Any) -> None:
    Z = (np.random.default_rng(0).standard_normal((500, 2)) @ [1, 1j]).astype(dtype)
    found = polytune.kernel(strict=True, background=False)(of_whole_arrays)(Z)
    quotients = [1 / z for z in Z]
    scalars = [abs(z) for z in Z], [z * z for z in Z], quotients, quotients, [z / (z + 1) for z in Z]
    for numbers, of_scalars, of_array in zip(found, scalars, of_whole_arrays(Z), strict=True):
        np.testing.assert_allclose(numbers, of_array, rtol=3 * np.finfo(dtype).eps)
        np.testing.assert_array_equal(numbers, of_scalars)
