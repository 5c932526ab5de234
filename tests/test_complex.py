"""Complex numbers in arguments, variables, arrays and results, in compiled kernels against NumPy."""

from __future__ import annotations

import cmath
import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.frontend import analyse
from polytune.schedule.platforms.partition import obstacle_to_devices
from polytune.signature import Signature, parse_type
from tests.test_control import in_every_version

SIZES = (1, 5, 33)

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:divide by zero", "ignore:invalid value")

COMPLEX = ("complex64", "complex128")
TOLERANCE = {"complex64": 3e-4, "complex128": 1e-11, "float32": 3e-4, "float64": 1e-11}


def numbers(*shape: int, dtype: str = "complex128", seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng((*shape, seed))
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def compared(function: Callable[..., Any], *arguments: Any) -> None:
    """What a kernel returns and writes is what NumPy does, types included; also where it is strict."""
    wanted = copy.deepcopy(arguments)
    right = function(*wanted)
    for strict in (False, True):
        found = copy.deepcopy(arguments)
        result = polytune.kernel(strict=strict, background=False)(function)(*found)
        for after, before in zip((result, *found), (right, *wanted), strict=True):
            same(after, before)


def same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple):
        assert isinstance(found, tuple) and len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            same(one, other)
    elif wanted is None:
        assert found is None
    else:
        found, wanted = np.asarray(found), np.asarray(wanted)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        tolerance = TOLERANCE.get(found.dtype.name, 0.0)
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def loops(A, B, z):
    for i in range(A.shape[0]):
        t = A[i] * z + B[i] ** 3 - 2j
        A[i] = t.conjugate() / (B[i] + t.real - 1j * t.imag)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("z", [1.5 - 0.5j, np.complex64(2j), 3.0, 2], ids=repr)
def test_arithmetic_of_elements_variables_and_arguments(dtype: str, z: Any) -> None:
    for n in SIZES:
        compared(loops, numbers(n, dtype=dtype), numbers(n, dtype=dtype, seed=1), z)
    compared(loops, numbers(66, dtype=dtype)[::2], numbers(33, dtype=dtype)[::-1], z)


def functions(A):
    return (
        np.sqrt(A), np.exp(A), np.exp2(A), np.expm1(A), np.log(A), np.log2(A), np.log10(A), np.log1p(A),
        np.sin(A), np.cos(A), np.tan(A), np.arcsin(A), np.arccos(A), np.arctan(A),
        np.sinh(A), np.cosh(A), np.tanh(A), np.arcsinh(A), np.arccosh(A), np.arctanh(A),
    )  # fmt: skip


def parts(A):
    return (
        np.abs(A), A.real, A.imag, np.angle(A), np.conj(A), A.conjugate(), np.square(A), np.reciprocal(A),
        A**2, A**-3, A**0, A**0.3, A**A, 2.0**A, -A, A.real == A, A != 0, np.isnan(A), np.isfinite(A), np.isinf(A),
        np.where(A.real > 0, A, 0), A.astype(np.complex64), A.real.astype(complex), np.real(A) + np.imag(A),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("function", [functions, parts])
def test_functions_of_elements(function: Callable[..., Any], dtype: str) -> None:
    compared(function, numbers(7, dtype=dtype))


def reductions(A, B):
    return (
        np.sum(A), np.sum(A, axis=0), np.prod(A[0]), np.mean(A, axis=1), np.cumsum(A[0]), np.trace(A), np.any(A),
        np.count_nonzero(A), A @ B, np.dot(A, B[0]), np.vdot(A[0], B[0]), np.outer(A[0], B[0]),
        np.linalg.norm(A), np.var(A), np.std(A, axis=0), A.sum() * 1j,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", COMPLEX)
def test_reductions_and_products(dtype: str) -> None:
    for n in SIZES:
        compared(reductions, numbers(n, n, dtype=dtype), numbers(n, n, dtype=dtype, seed=1))


def promoted(A, x, w):
    return A + x, x * 1j, w * A, x + w * 2j, A / w, x[0] * 1j, np.full(3, 1j), np.zeros(2, complex) + w


@pytest.mark.parametrize("real", ["float32", "float64", "int8", "int64"])
@pytest.mark.parametrize("dtype", COMPLEX)
def test_types_are_promoted_as_numpy_does(real: str, dtype: str) -> None:
    compared(promoted, numbers(5, dtype=dtype), np.arange(5).astype(real), 2.5)
    compared(promoted, numbers(5, dtype=dtype), np.arange(5).astype(real), 3)


def quotients(A, B, C):
    for i in range(len(A)):
        C[i] = A[i] / B[i]


def test_quotients_by_zero_and_of_infinities_are_numpys() -> None:
    A = np.array([1 + 1j, 0, 2j, np.inf, 1, -3, 1e308 + 1e308j])
    B = np.array([0, 0, 0j, 1, 1j * np.inf, -0.0, 1e308 - 1e308j])
    compared(quotients, A, B, np.zeros(7, complex))
    compared(quotients, A.astype(np.complex64), B.astype(np.complex64), np.zeros(7, np.complex64))


def escape_times(x, y, limit):
    times = np.zeros((y.shape[0], x.shape[0]), dtype=np.int64)
    for i in range(y.shape[0]):
        for j in range(x.shape[0]):
            c = complex(x[j], y[i])
            z, k = 0j, 0
            while k < limit and abs(z) < 2.0:
                z = z * z + c
                k += 1
            times[i, j] = k
    return times


def escaped(x, y, limit):
    C = x + y[:, None] * 1j
    Z, N = np.zeros(C.shape, dtype=np.complex128), np.zeros(C.shape, dtype=np.int64)
    for k in range(limit):
        inside = np.less(abs(Z), 2.0)
        N[inside] = k
        Z[inside] = Z[inside] ** 2 + C[inside]
    return Z, N


@pytest.mark.parametrize("function", [escape_times, escaped])
def test_iterations_on_complex_numbers(function: Callable[..., Any]) -> None:
    compared(function, np.linspace(-2.2, 0.7, 20), np.linspace(-1.2, 1.2, 11), 9)


def changed(A, z):
    total = 0j
    for i in range(A.shape[0]):
        total += A[i] * z
    z = z + 1
    return total, z


def summed_rows(A, x):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            x[j] += A[i, j] * (1 - 2j)


def test_every_version_is_right() -> None:
    in_every_version(summed_rows, numbers(40, 30), numbers(30))
    in_every_version(loops, numbers(50), numbers(50, seed=1), 1j)
    compared(changed, numbers(9), 1j)
    compared(changed, numbers(9, dtype="complex64"), np.complex64(1j))


WEIGHTS = np.array([1 + 1j, -2j])
UNIT = 1j


def from_outside(A):
    for i in range(len(A)):
        A[i] = A[i] * UNIT + WEIGHTS[i % 2] + np.complex64(0.5 - 0.25j)


def test_constants_from_outside_are_complex() -> None:
    compared(from_outside, numbers(6))


def test_devices_are_left_out_with_the_reason() -> None:
    types = {"A": "complex128[::1]", "B": "complex128[::1]", "z": "complex"}
    scop = analyse(loops, Signature(tuple((name, parse_type(text)) for name, text in types.items())))
    found = obstacle_to_devices(scop)
    assert found is not None and found[1] == "'A', an array of complex128"


def functions_of_cmath(A, B, x):
    for i in range(len(A)):
        B[i] = cmath.exp(A[i]) + cmath.sqrt(-x) * cmath.cos(2j * i) - cmath.log(x + 1j)
    return cmath.sin(x), cmath.phase(B[0]), cmath.tanh(1), cmath.sqrt(-2.0)


def test_functions_of_cmath() -> None:
    for n in SIZES:
        compared(functions_of_cmath, numbers(n), np.zeros(n, complex), 0.5)
        compared(functions_of_cmath, np.linspace(-1.0, 2.0, n), np.zeros(n, complex), 2)
