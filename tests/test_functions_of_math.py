"""Functions of ``math`` that NumPy does not have, in every version of a kernel."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polytune


def special_functions(A, B):
    for i in range(A.shape[0]):
        B[i, 0] = math.erf(A[i])
        B[i, 1] = math.erfc(A[i])
        B[i, 2] = math.gamma(A[i])
        B[i, 3] = math.lgamma(A[i])


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_special_functions(strict: bool, dtype: type) -> None:
    A = np.linspace(0.1, 4.0, 57).astype(dtype)
    wanted = np.zeros((len(A), 4))
    special_functions(A, wanted)
    kernel = polytune.kernel(strict=strict)(special_functions)
    B = np.zeros_like(wanted)
    for version in kernel.space(A, B)["version"].values:
        found = np.zeros_like(wanted)
        kernel.run(kernel.space(A, B).configuration(version=version), A, found)
        np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-15, err_msg=version)


def rounded(A, B, C):
    for i in range(A.shape[0]):
        B[i] = np.round(A[i])
        C[i] = np.rint(A[i])


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_rounding_to_even(strict: bool, dtype: type) -> None:
    halves = np.arange(-6.5, 7.0, 0.5)
    others = [-0.0, 0.49999999999999994, 0.2, -0.2, np.nan, np.inf, -np.inf, 2047.0, 4503599627370497.5]
    with np.errstate(over="ignore"):
        A = np.concatenate((halves, others)).astype(dtype)
    kernel = polytune.kernel(strict=strict)(rounded)
    found = np.zeros((2, len(A)), dtype)
    for version in kernel.space(A, *found)["version"].values:
        found[:] = 1.0
        kernel.run(kernel.space(A, *found).configuration(version=version), A, *found)
        np.testing.assert_array_equal(found, [np.round(A)] * 2, err_msg=version)
        np.testing.assert_array_equal(np.signbit(found), np.signbit([np.round(A)] * 2), err_msg=version)


def whole_numbers(A, B):
    for i in range(A.shape[0]):
        B[i] = round(A[i])


def test_python_rounds_to_even_integers() -> None:
    A = np.array([-2.5, -1.5, -0.5, -0.0, 0.5, 1.5, 2.5, 0.49999999999999994, 1e15 + 0.5])
    B = np.zeros(len(A), np.int64)
    polytune.kernel(whole_numbers)(A, B)
    assert B.tolist() == [round(float(number)) for number in A]
