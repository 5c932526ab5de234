"""Powers: products where the exponent is a constant integer, and in strict kernels the bits of Python."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import UnsupportedSourceError
from polytune.frontend import analyse
from polytune.frontend.expression import Binary, walk
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from tests.every_version import check_versions, copied, stages_of, with_vectors

CUBE = 3


def small(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] ** 2 + A[i, j] ** CUBE - A[i, j] ** -1


def large(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] ** 12 - pow(A[i, j], -6) + A[i, j] ** 64 + pow(A[i, j], 1)
            B[i, j] **= 0


def summed(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            for k in range(A.shape[1]):
                B[i, j] += A[i, k] ** 2 * A[k, j] ** 3


def fractional(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] ** 0.25 + A[i, j] ** 2.7 + 2.0 ** A[i, j] + A[i, j] ** A[j, i] + A[i, j] ** np.inf


def roots_of_squares(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = (2.0 * j) ** 2 + (A[i, j] * 0.0 + 4.0) ** 1.5 + (A[i, j] * 0.0 + 0.25) ** -2.5
            B[i, j] += 16.0 ** 0.5  # fmt: skip


def by_loop_variable(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] ** i + j**2 + (j + 1) ** -2


def integers(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] ** 2 + A[i, j] ** 63 + A[i, j] ** 0 + A[i, j] ** j


def arguments(dtype: str, n: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    if dtype.startswith("int"):
        return rng.integers(-9, 9, (n, n)).astype(dtype), np.zeros((n, n), dtype)
    return (rng.random((n, n)) + 0.5).astype(dtype), np.zeros((n, n), dtype)


def powers_of(stages: Stages) -> int:
    """How many powers by multiplication the generated text has."""
    return stages.source.count("power(")


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", [small, large, fractional, roots_of_squares, by_loop_variable])
def test_every_version_has_powers(function: Any, dtype: str, strict: bool) -> None:
    given = arguments(dtype)
    stages = stages_of(function, given, strict=strict)
    check_versions(function, stages, given)


def test_powers_are_computed_in_vectors() -> None:
    given = np.arange(36.0).reshape(6, 6), np.zeros((6, 6))  # so that no order of adding rounds
    stages = stages_of(summed, given)
    versions = with_vectors(stages)
    assert versions and "power(b0, 3)" in stages.source
    check_versions(summed, stages, given, versions=versions)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_only_constant_integer_exponents_become_products(dtype: str) -> None:
    given = arguments(dtype)
    is_float = dtype.startswith("float")
    function = small if is_float else integers
    assert powers_of(stages_of(function, given)) > 0
    assert (powers_of(stages_of(function, given, strict=True)) == 0) == is_float
    if is_float:
        assert powers_of(stages_of(fractional, given)) == 0


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("strict", [False, True])
def test_powers_of_integers_wrap_round(dtype: str, strict: bool) -> None:
    wanted, got = copied(arguments(dtype)), copied(arguments(dtype))
    with np.errstate(over="ignore"):
        integers(*wanted)
    polytune.Kernel(integers, strict=strict)(*got)
    np.testing.assert_array_equal(got[1], wanted[1])


def each(A, B, C, D, E):
    for i in range(len(A)):
        B[i] = A[i] ** 2
        C[i] = A[i] ** -1
        D[i] = A[i] ** 0.5
        E[i] = 2.0 ** A[i]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_strict_powers_have_the_bits_of_python(dtype: str) -> None:
    """Of each power, compilers know a form that rounds differently once in a thousand times."""
    A = np.random.default_rng(1).random(20_000).astype(dtype)
    wanted, got = ([A, *(np.zeros_like(A) for _ in range(4))] for _ in range(2))
    each(*wanted)
    polytune.Kernel(each, strict=True)(*got)
    for expected, found in zip(wanted, got, strict=True):
        np.testing.assert_array_equal(found, expected)
    products = np.multiply(A, A)
    assert (products != wanted[1]).any(), "were they equal, strict kernels could multiply"


def sixty_fourth(A, B, C):
    for i in range(len(A)):
        B[i] = A[i] ** 64
        C[i] = A[i] ** -63


def test_products_round_as_often_as_they_multiply() -> None:
    A = np.random.default_rng(2).random(500) + 0.5
    B, C = np.zeros_like(A), np.zeros_like(A)
    polytune.kernel(sixty_fourth)(A, B, C)
    for x, power, inverse in zip(A, B, C, strict=True):
        assert abs(Fraction(power) / Fraction(x) ** 64 - 1) < 64 * 2.0**-53
        assert abs(Fraction(inverse) * Fraction(x) ** 63 - 1) < 64 * 2.0**-53


def test_special_values_have_the_powers_of_python() -> None:
    A = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e200, -1e-200, -1.0])
    outputs = [np.zeros_like(A) for _ in range(2)]
    with np.errstate(all="ignore"):
        wanted = [A**64, A**-63]
    polytune.kernel(sixty_fourth)(A, *outputs)
    for expected, found in zip(wanted, outputs, strict=True):
        np.testing.assert_array_equal(found, expected)


HALVES = (0.5, -0.5, 1.5, -1.5, 2.5, -3.5, 7.5)


def halves_of_odd_numbers(A, B):
    for i in range(len(A)):
        B[0, i] = A[i] ** 0.5
        B[1, i] = A[i] ** -0.5
        B[2, i] = A[i] ** 1.5
        B[3, i] = A[i] ** -1.5
        B[4, i] = A[i] ** 2.5
        B[5, i] = A[i] ** -3.5
        B[6, i] = A[i] ** 7.5


def calls_of_the_library(stages: Stages) -> int:
    """How many powers the source order computes by C's library."""
    operations = [operation for statement in stages.scop.statements for operation in statement.operations]
    return sum(isinstance(part, Binary) and part.operator == "**" for each in operations for part in walk(each))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_halves_of_odd_exponents_become_products_with_a_root(dtype: str) -> None:
    """As exact as products are, and for special values what C's library has."""
    rng = np.random.default_rng(4)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, -0.5]
    A = np.concatenate((rng.random(200) * 4.0, special)).astype(dtype)
    B = np.zeros((len(HALVES), len(A)), dtype)
    assert calls_of_the_library(stages_of(halves_of_odd_numbers, (A, B))) == 0
    polytune.kernel(halves_of_odd_numbers)(A, B)
    with np.errstate(all="ignore"):
        wanted = np.array([np.power(A, np.asarray(half, dtype)) for half in HALVES])
        # NumPy has a square root in place of some of these; the library's power of the infinity below 0 is positive.
        below = wanted[:, list(A).index(-np.inf)]
    below[:] = [0.0 if half < 0 else np.inf for half in HALVES]
    np.testing.assert_allclose(B, wanted, rtol=12 * np.finfo(dtype).eps)
    zeros = A == 0.0
    np.testing.assert_array_equal(np.signbit(B[:, zeros]), False)


def other_fractions(A, B):
    for i in range(len(A)):
        B[i] = A[i] ** 0.25 + A[i] ** 9.5 + (0.0 if A[i] < 2.0 else (A[i] * A[i] + A[i] * 2.0 - A[i] * 3.0) ** 1.5)


def test_other_powers_stay_the_library_s() -> None:
    """Of exponents that are no half of an odd number, or large, and of long bases that are not computed in any case."""
    A = np.random.default_rng(6).random(30) + 2.0
    B = np.zeros_like(A)
    assert calls_of_the_library(stages_of(other_fractions, (A, B))) == 3
    assert calls_of_the_library(stages_of(halves_of_odd_numbers, (A, np.zeros((7, 30))), strict=True)) == 0
    wanted = B.copy()
    other_fractions(A, wanted)
    polytune.kernel(other_fractions)(A, B)
    np.testing.assert_allclose(B, wanted, rtol=1e-14)


def of_long_bases(A, B, C):
    for i in range(len(A)):
        B[i] = A[i] - (A[i] * A[i] + B[i] * 2.0 - (A[i] * B[i] + 1.0 + A[i]) ** 0.5 * 0.25) ** 1.5
    C[:] = (A * A + A * C - C * 0.25) ** -0.5


@pytest.mark.parametrize("strict", [False, True])
def test_long_bases_are_kept_in_variables(strict: bool) -> None:
    rng = np.random.default_rng(7)
    A, B, C = rng.random(30) + 2.0, rng.random(30) + 1.0, rng.random(30) + 1.0
    assert calls_of_the_library(stages_of(of_long_bases, (A, B, C))) == 0
    found, wanted = (A, B.copy(), C.copy()), (A, B.copy(), C.copy())
    of_long_bases(*wanted)
    polytune.kernel(strict=strict)(of_long_bases)(*found)
    for right, own in zip(wanted, found, strict=True):
        np.testing.assert_allclose(own, right, rtol=1e-13)


def negative(P):
    for i in range(len(P)):
        P[i] = P[i] ** -1


def test_negative_powers_of_numpy_integers_are_refused() -> None:
    with pytest.raises(UnsupportedSourceError, match="a negative power of a NumPy integer"):
        analyse(negative, signature_of(("P",), (np.arange(3),)))
    with pytest.raises(ValueError, match="negative integer powers"):
        negative(np.arange(1, 3))


def test_negative_exponents_of_integers_are_refused_before_anything_is_written() -> None:
    """A float in Python, where the integers are Python's, and an error of NumPy's, where they are not."""

    def of_numbers(A, n, m):
        A[0] = 7
        A[1] = n**m

    def of_elements(A, n, m):
        A[0] = 7
        A[:] = A**m + n

    def by_function(A, n, m):
        A[0] = 7
        A[:] = np.power(A, m) + n

    def in_loop(A, n, m):
        A[0] = 7
        for i in range(len(A)):
            A[i] = n ** (i + m)

    for function in (of_numbers, of_elements, by_function, in_loop):
        kernel = polytune.kernel(function)
        for exponent in (0, 1, 3):
            A, expected = np.arange(1, 6), np.arange(1, 6)
            kernel(A, 2, exponent)
            function(expected, 2, exponent)
            assert A.tolist() == expected.tolist()
        A = np.arange(1, 6)
        with pytest.raises(polytune.ArgumentError, match="of integers with a negative exponent") as caught:
            kernel(A, 2, -1)
        assert "make a float of the base first" in str(caught.value)
        assert A.tolist() == [1, 2, 3, 4, 5]


def test_negative_exponents_that_a_condition_leaves_out_are_none() -> None:
    def power(A, n, m):
        A[0] = n**m if m >= 0 else 1 / n**-m
        if m < 0:
            return 1.0 / n**-m
        return 1.0 * n**m

    for exponent in (-2, 0, 3):
        A, expected = np.zeros(1), np.zeros(1)
        assert polytune.kernel(power)(A, 2, exponent) == power(expected, 2, exponent)
        assert A.tolist() == expected.tolist()
