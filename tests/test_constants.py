"""Constants that are infinite or NaN in compiled kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import polytune
from tests.every_version import check_versions, copied, stages_of


def least_of_infinity(A):
    best = np.inf
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            best = min(best, A[i, j])
    A[0, 0] = best


def least_of_a_number(A):
    best = 1e30
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            best = min(best, A[i, j])
    A[0, 0] = best


def greatest_of_rows(A, B):
    for i in range(A.shape[0]):
        best = float("-inf")
        for j in range(A.shape[1]):
            best = max(best, A[i, j])
        B[i] = best


def masked(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = A[i, j] if A[i, j] < 0.5 else np.inf
        B[i] = np.nan if A[i, 0] == math.inf else -math.inf


def returned(A):
    best = -np.inf
    for i in range(len(A)):
        best = max(best, A[i])
    return best


def arguments(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    matrix = np.random.default_rng(0).random((7, 9)).astype(dtype)
    return matrix, matrix[:, 0].copy()


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_version_has_infinities(dtype: str, strict: bool) -> None:
    matrix, vector = arguments(dtype)
    for function, given in (
        (least_of_infinity, (matrix,)),
        (greatest_of_rows, (matrix, vector)),
        (masked, (matrix, vector)),
    ):
        check_versions(function, stages_of(function, given, strict=strict), given)


@pytest.mark.parametrize("strict", [False, True])
def test_a_minimum_that_starts_at_infinity_is_as_parallel_as_any(strict: bool) -> None:
    matrix, _ = arguments("float64")
    infinite, finite = (
        [program.name for program in stages_of(function, (matrix,), strict=strict).programs]
        for function in (least_of_infinity, least_of_a_number)
    )
    assert infinite == finite
    assert strict or "summed" in infinite


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", [greatest_of_rows, masked])
def test_compiled_kernels_have_infinities(function: Any, dtype: str) -> None:
    wanted, got = copied(arguments(dtype)), copied(arguments(dtype))
    function(*wanted)
    polytune.kernel(function)(*got)
    for expected, found in zip(wanted, got, strict=True):
        np.testing.assert_array_equal(expected, found)


def test_an_infinity_may_be_returned() -> None:
    assert polytune.kernel(returned)(np.empty(0)) == -np.inf


@pytest.mark.parametrize("language", ["cuda", "opencl"])
def test_device_text_has_infinities(language: str) -> None:
    stages = stages_of(masked, arguments("float64"), devices=True)
    assert "PT_INFINITY_f64" in stages.show(language) and "PT_NAN_f64" in stages.show(language)
