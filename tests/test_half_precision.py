"""Kernels with elements of float16: strict ones give NumPy's bits, others what is next to them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit

import polytune
from polytune.errors import UnsupportedSourceError
from polytune.runtime.intrinsics import half_precision
from polytune.runtime.intrinsics.half_precision import half_bits, half_rounded, half_value
from tests.every_version import check_versions, stages_of

HALVES = np.arange(65536, dtype=np.uint16).view(np.float16)


def halves(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float16)


def near_ties() -> np.ndarray:
    """Float64 between two float16: halfway, and so little beside it that float32 has no place for it."""
    lower = HALVES[np.isfinite(HALVES) & (np.abs(HALVES) < 65504)].astype(np.float64)
    halfway = (lower + np.nextafter(lower.astype(np.float16), np.float16(np.inf)).astype(np.float64)) / 2
    beside = [halfway * (1 + sign * 2.0**-50) for sign in (-1, 1)]
    special = [65519.999, 65520.0, 1e300, -1e300, 5e-324, 2.0**-25, 2.0**-25 * (1 + 2.0**-30), np.inf, -np.inf, np.nan]
    return np.concatenate([halfway, *beside, special])


def equal(found: Any, expected: Any) -> bool:
    found, expected = np.asarray(found), np.asarray(expected)
    return found.dtype == expected.dtype and np.array_equal(found, expected, equal_nan=True)


# ---- conversions


@pytest.mark.parametrize("has_instructions", [True, False])
def test_conversions(monkeypatch: pytest.MonkeyPatch, has_instructions: bool) -> None:
    if has_instructions and not half_precision._has_instructions():
        pytest.skip("the processor does not convert float16")
    monkeypatch.setattr(half_precision, "_has_instructions", lambda: has_instructions)

    @njit
    def widened(bits, values):
        for i in range(len(bits)):
            values[i] = half_value(bits[i])

    @njit
    def narrowed(values, bits, rounded):
        for i in range(len(values)):
            bits[i] = half_bits(values[i])
            rounded[i] = half_rounded(values[i])

    values = np.empty(len(HALVES), np.float32)
    widened(HALVES.view(np.uint16), values)
    assert equal(values, HALVES.astype(np.float32))
    with np.errstate(over="ignore"):
        for numbers in (near_ties(), near_ties().astype(np.float32)):
            bits, rounded = np.empty(len(numbers), np.uint16), np.empty(len(numbers), np.float32)
            narrowed(numbers, bits, rounded)
            expected = numbers.astype(np.float16)
            assert equal(bits.view(np.float16), expected)
            assert equal(rounded, expected.astype(np.float32))
            assert np.array_equal(np.signbit(rounded), np.signbit(numbers))


# ---- kernels


def smoothed(A, B, t):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            B[i, j] = (A[i - 1, j] + A[i, j] * t + A[i + 1, j]) / 3


def reversed_copy(x, y):
    for i in range(len(x)):
        x[i] = y[len(y) - 1 - i]


def scaled(x, a):
    y = np.empty_like(x)
    for i in range(len(x)):
        y[i] = x[i] * a + 1
    return y, x[3], x[0] * a


def accumulated_in_single(A, B):
    C = np.zeros((A.shape[0], B.shape[1]), np.float32)
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
    return C


def array_expressions(a, b):
    c = a * 2 + 1
    d = a + b
    a[:] = b
    return c, d, a > b, np.sqrt(abs(a)), np.maximum(a, 0), a.astype(np.float64), b.astype(np.float16), np.cumsum(a)


def accumulated(a):
    s = 0.0
    for v in a:
        if v > 0:
            s += v
    return s


def with_integers(n, a):
    for k in range(len(n)):
        a[k] = n[k] * n[k] * 7
        if k > 50:
            a[k] = 1e6 * n[k]
    return a * n, a + np.int8(3), a // np.float16(0.3), a % 2, a**2, a**0.5


def with_complex_numbers(a, z):
    return a * z, a + np.complex64(1j)


def in_place(A):
    A += A.T
    A[1:3] *= 2
    A[A > 0.5] = 0.25
    return A


def scattered(a, places):
    y = np.zeros_like(a)
    for i in range(len(places)):
        y[places[i]] += a[i]
    return y[::2], y


KERNELS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (smoothed, (halves(20, 20), halves(20, 20), 0.3)),
    (reversed_copy, (HALVES.copy(), HALVES.copy())),
    (scaled, (halves(33), np.float16(0.37))),
    (scaled, (halves(66)[::2], 0.37)),
    (accumulated_in_single, (halves(8, 9), halves(9, 7))),
    (array_expressions, (halves(40), np.random.default_rng(1).random(40))),
    (accumulated, (halves(50),)),
    (with_integers, (np.arange(60, dtype=np.int32), halves(60))),
    (with_complex_numbers, (halves(9), 1j)),
    (in_place, (halves(6, 6),)),
    (scattered, (halves(8), np.array([3, 1, 2, 0, 3, 4, 7, 6]))),
]
IDS = [f"{function.__name__}-{number}" for number, (function, _) in enumerate(KERNELS)]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(("function", "arguments"), KERNELS, ids=IDS)
def test_kernels(function: Callable[..., Any], arguments: tuple[Any, ...], strict: bool) -> None:
    given, expected = copy.deepcopy(arguments), copy.deepcopy(arguments)
    with np.errstate(all="ignore"):
        wanted = function(*expected)
    found = polytune.kernel(strict=strict)(function)(*given)
    assert type(found) is type(wanted)
    results = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for one, other in (*results, *zip(given, expected, strict=True)):
        assert type(one) is type(other)
        if strict or other is None:
            assert other is None or equal(one, other)
        else:
            assert np.asarray(one).dtype == np.asarray(other).dtype
            np.testing.assert_allclose(one, other, rtol=4e-3, atol=4e-3)


def test_versions_are_those_of_the_source() -> None:
    arguments = (halves(20, 20), halves(20, 20), 0.3)
    stages = stages_of(smoothed, arguments, strict=True)
    assert len(stages.programs) > 1
    check_versions(smoothed, stages, arguments)


def test_sums_and_products_are_rounded_once() -> None:
    """What NumPy rounds depends on the order in memory; here each sum is that of float32."""

    @polytune.kernel(strict=True)
    def totals(A, x):
        return (
            A.sum(),
            A.sum(axis=1),
            A.mean(axis=1),
            A @ x,
            np.var(x),
            np.std(x),
            np.prod(x),
            np.trace(A),
            np.dot(x, x),
        )

    A, x = np.ones((3000, 3), np.float16), np.array([0.5, 1.5, 2.0], np.float16)
    for found, wanted in zip(totals(A, x), totals.__wrapped__(A, x), strict=True):
        assert type(found) is type(wanted) and equal(found, wanted)
    B = halves(300, 300)
    found = polytune.kernel(summed)(B)
    assert abs(float(found) - B.astype(np.float64).sum()) < 0.5


def summed(A):
    return A.sum()


def test_functions_of_the_library_take_no_halves() -> None:
    @polytune.kernel
    def ordered(x):
        return np.sort(x)

    with pytest.raises(UnsupportedSourceError, match=r"float16.*(?s:.*)astype\(np\.float32\)"):
        ordered(halves(5))
