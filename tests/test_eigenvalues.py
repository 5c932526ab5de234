"""Eigenvalues of matrices that need not be symmetric, and condition numbers, inside of kernels, against NumPy."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import polytune
from polytune.errors import ComplexEigenvaluesError, PolytuneError, UnsupportedSourceError
from tests.test_library import _tuple, numbers
from tests.test_results import kernel_of


def values_and_vectors(A):
    w, v = np.linalg.eig(A)
    return w, v, np.linalg.eigvals(A)


def of_complex_numbers(A):
    w, v = np.linalg.eig(A.astype(np.complex128))
    return w, v, np.linalg.eigvals(A + 0j)


def spectral_radius(A):
    return np.max(np.abs(np.linalg.eigvals(A.astype(np.complex128))))


def written_around(A, out):
    out[0] = 1.0
    w = np.linalg.eigvals(A)
    for i in range(len(w)):
        out[i + 1] = w[i]


def in_a_loop(stack, out):
    for k in range(len(stack)):
        w = np.linalg.eigvals(stack[k])
        out[k] = w.max() - w.min()


def conditions(A):
    return np.linalg.cond(A), np.linalg.cond(A, 1), np.linalg.cond(A, p=np.inf), np.linalg.cond(A, "fro")


def triangular(n: int, dtype: str) -> np.ndarray:
    """A matrix that is not symmetric, whose eigenvalues are real."""
    return np.triu(numbers(n, n, seed=3) + 1).astype(dtype)


TURN = np.array([[0.0, -1.0], [1.0, 0.0]])
"""A turn by a right angle, whose eigenvalues are the imaginary units."""


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "complex128", "complex64"])
def test_eigenvalues_are_numpys(dtype: str, strict: bool) -> None:
    for n in (1, 2, 9):
        for layout in (np.ascontiguousarray, np.asfortranarray, lambda A: np.repeat(A, 2, 1)[:, ::2]):
            A = layout(triangular(n, dtype))
            for function in (values_and_vectors, of_complex_numbers):
                for found, right in zip(kernel_of(function, strict)(A), function(A), strict=True):
                    assert found.dtype == right.dtype
                    np.testing.assert_array_equal(found, right)
    stack = np.stack([triangular(4, dtype), 2 * triangular(4, dtype)])
    for found, right in zip(kernel_of(values_and_vectors, strict)(stack), values_and_vectors(stack), strict=True):
        assert found.dtype == right.dtype
        np.testing.assert_array_equal(found, right)


def test_complex_eigenvalues_of_complex_numbers_are_numpys() -> None:
    for function in (of_complex_numbers, spectral_radius):
        for A in (TURN, numbers(7, 7, seed=5), (TURN * 2).astype("float32"), TURN.astype("int32")):
            found, right = kernel_of(function, False)(A), function(A)
            for one, other in zip(_tuple(found), _tuple(right), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12)


def test_complex_eigenvalues_of_real_numbers_are_an_error_that_says_what_to_do() -> None:
    kernel = polytune.kernel(written_around)
    out = np.full(4, 5.0)
    generated = kernel.generated(TURN, out)
    for version in generated.module.VERSIONS:
        out[:] = 5.0
        with pytest.raises(ComplexEigenvaluesError, match=r"np\.linalg\.eigvals\(A\.astype\(np") as error:
            kernel.run(generated.space.configuration(version=version.name, **version.sizes), TURN, out)
        assert isinstance(error.value, ValueError) and isinstance(error.value, PolytuneError)
        assert out.tolist() in ([1.0, 5.0, 5.0, 5.0], [5.0] * 4), version.name
    kernel(np.diag([3.0, 4.0]), out)  # nothing is left of it
    assert out.tolist() == [1.0, 3.0, 4.0, 5.0]
    with pytest.raises(ComplexEigenvaluesError, match=r"np\.linalg\.eig of real numbers"):
        polytune.kernel(values_and_vectors)(TURN)
    stack = np.stack([np.eye(2), TURN, np.eye(2)])
    with pytest.raises(ComplexEigenvaluesError):
        polytune.kernel(in_a_loop)(stack, np.zeros(3))
    again = pickle.loads(pickle.dumps(error.value))
    assert type(again) is ComplexEigenvaluesError and str(again) == str(error.value)


def test_eigenvalues_in_a_loop_are_numpys_in_every_version() -> None:
    kernel = polytune.kernel(in_a_loop)
    stack, right, out = np.stack([triangular(3, "float64") * k for k in range(1, 6)]), np.zeros(5), np.zeros(5)
    in_a_loop(stack, right)
    generated = kernel.generated(stack, out)
    for version in generated.module.VERSIONS:
        out[:] = 0.0
        kernel.run(generated.space.configuration(version=version.name, **version.sizes), stack, out)
        np.testing.assert_array_equal(out, right)


def test_infinities_are_numpys_error() -> None:
    A = np.full((3, 3), np.inf)
    with pytest.raises(np.linalg.LinAlgError):
        polytune.kernel(values_and_vectors)(A)
    with pytest.raises(UnsupportedSourceError, match="which is not a matrix"):
        polytune.kernel(values_and_vectors)(np.ones(3))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "complex128"])
def test_condition_numbers_are_numpys(dtype: str) -> None:
    tolerance = 1e-4 if dtype == "float32" else 1e-10
    for n in (1, 2, 7):
        A = (numbers(n, n) + 50 * np.eye(n)).astype(dtype)
        for found, right in zip(kernel_of(conditions, False)(A), conditions(A), strict=True):
            assert np.asarray(found).dtype == np.asarray(right).dtype
            np.testing.assert_allclose(found, right, rtol=tolerance)
    assert kernel_of(conditions, False)(np.zeros((2, 2)))[0] == np.inf
