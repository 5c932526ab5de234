"""Bounds of slices that data decide on, and loops over the elements of expressions."""

from __future__ import annotations

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError
from tests.test_control import in_every_version


def correlations(x, lags):
    n = len(x)
    out = np.empty(lags + 1)
    total = (x * x).sum()
    for k in range(lags + 1):
        if k >= n or total == 0:
            out[k:] = 0.0
            break
        out[k] = (x[k:] * x[: n - k]).sum()
    return out


def under_a_condition(x, k):
    found = 0.0
    if x[0] > 1.0:
        found = x[: k - 2].sum()
    return found


@pytest.mark.parametrize("strict", [False, True])
def test_bounds_that_are_not_reached_refuse_no_call(strict: bool) -> None:
    for n in (0, 1, 3, 9):
        in_every_version(correlations, np.arange(1.0, n + 1), 5, strict=strict)
        in_every_version(correlations, np.zeros(n), 5, strict=strict)
    for k in (0, 2, 4):
        in_every_version(under_a_condition, np.array([0.5, 2.0, 4.0]), k, strict=strict)


def filled(M, x):
    if x[0] > 9.0:
        return
    for j in range(3):
        M[0, 1:-j] = x[0]
        M[1, : j - 1] += x[0]


def test_bounds_that_are_reached_mean_what_they_mean_in_python() -> None:
    kernel = polytune.kernel(under_a_condition)
    assert kernel(np.array([0.5, 2.0]), 1) == 0.0
    assert kernel(np.array([1.5, 2.0]), 1) == 1.5
    assert kernel(np.array([1.5, 2.0]), 3) == 1.5
    for start in (1.0, 10.0):
        in_every_version(filled, np.arange(8.0).reshape(2, 4), np.array([start]))

    def without_condition(x, k):
        return x[: k - 2].sum()

    with pytest.raises(ArgumentError, match="the bound k - 2 of a slice is negative"):
        polytune.kernel(without_condition)(np.ones(2), 1)


def weighted(A):
    total = 0.0
    best = (0, 0)
    for (i, j), v in np.ndenumerate(A * 2.0):
        total += (i - j) * v
        A[i, j] += v
    for place, v in np.ndenumerate(A[1:, ::-1]):
        if v > A[best]:
            best = place
        A[0, place[1]] -= v
    for (k,), v in np.ndenumerate(A.sum(axis=0)):
        for (m,), is_great in np.ndenumerate(A[0] > 1):
            if is_great:
                total += v * k + m
    return total, best


@pytest.mark.parametrize("strict", [False, True])
def test_elements_of_expressions(strict: bool) -> None:
    for n in (1, 2, 5):
        in_every_version(weighted, np.arange(n * (n + 1.0)).reshape(n, n + 1) % 7, strict=strict)
