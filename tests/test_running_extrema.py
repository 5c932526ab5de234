"""``np.minimum.accumulate`` and ``np.maximum.accumulate``, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polytune


def of_a_vector(A):
    return np.maximum.accumulate(A[0]), np.minimum.accumulate(A[:, -1])


def along_axes(A):
    return np.maximum.accumulate(A, axis=1), np.minimum.accumulate(A, axis=0), np.maximum.accumulate(A, axis=-2)


def of_what_is_computed(A):
    return np.maximum.accumulate(A[0] * A[0] - A[-1])


def drop_from_the_peak(A):
    row = A[0]
    peak = np.maximum.accumulate(row)
    return (peak - row).max(), np.minimum.accumulate(row[::-1])[::-1]


FUNCTIONS = [of_a_vector, along_axes, of_what_is_computed, drop_from_the_peak]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int8", "uint16"])
@pytest.mark.parametrize("strict", [False, True])
def test_they_are_those_of_numpy(function: Any, dtype: str, strict: bool) -> None:
    rng = np.random.default_rng(4)
    A = (rng.integers(0, 9, (7, 13)) if dtype.startswith("u") else rng.integers(-9, 9, (7, 13))).astype(dtype)
    kernel = polytune.kernel(strict=strict)(function)
    for each in (A, np.asfortranarray(A), A[::2, ::3], A[:, ::-1]):
        same(kernel(each), function(each))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_what_follows_no_number_is_none(function: Any) -> None:
    A = np.random.default_rng(6).standard_normal((6, 40))
    A[0, 5], A[2, 3], A[0, 20], A[4, -1], A[-1, 0] = np.nan, np.inf, -np.inf, np.nan, -np.inf
    with np.errstate(all="ignore"):
        kernel = polytune.kernel(function)
        for version in kernel.space(A)["version"].values:
            same(kernel.run(kernel.space(A).configuration(version=version), A), function(A))


@pytest.mark.parametrize("dtype", ["bool", "float64", "int32"])
def test_of_nothing_and_of_truths(dtype: str) -> None:
    kernel = polytune.kernel(along_axes)
    for shape in ((3, 0), (0, 4), (1, 1), (5, 6)):
        A = np.random.default_rng(1).integers(0, 2, shape).astype(dtype)
        same(kernel(A), along_axes(A))


def same(found: Any, wanted: Any) -> None:
    """Hold results against others, with their types."""
    for one, other in zip(several(found), several(wanted), strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.asarray(one).dtype == np.asarray(other).dtype


def several(results: Any) -> tuple[Any, ...]:
    """Results as a tuple."""
    return results if isinstance(results, tuple) else (results,)
