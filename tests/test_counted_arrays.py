"""Arrays of as many elements as the data say, compiled: against NumPy, and the errors of what is not there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import DataError, PolytuneError, SubscriptError, UnsupportedSourceError


@polytune.kernel
def places_and_values(A, limit):
    i, j = np.nonzero(limit < A)
    B = A[limit < A]
    A[i, j] = 0.0
    return i, j, B, B * 2.0, len(B)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, lambda A: np.repeat(A, 2, 1)[:, ::2]])
def test_types_and_layouts(dtype: str, layout: Any) -> None:
    for limit in (3, 5, 99):
        wanted = layout((np.arange(12.0).reshape(3, 4) * 7 % 11).astype(dtype))
        found = wanted.copy(order="K")
        right, results = places_and_values.__wrapped__(wanted, limit), places_and_values(found, limit)
        for result, value in zip(results, right, strict=True):
            assert np.asarray(result).dtype == np.asarray(value).dtype
            np.testing.assert_array_equal(result, value)
        np.testing.assert_array_equal(found, wanted)


def test_an_array_that_is_returned_is_the_callers() -> None:
    first = places_and_values(np.arange(6.0).reshape(2, 3), 1.0)
    kept = [each.copy() for each in first[:4]]
    places_and_values(np.zeros((2, 3)) + 9.0, 1.0)
    for array, copy in zip(first[:4], kept, strict=True):
        np.testing.assert_array_equal(array, copy)


@polytune.kernel
def one_of_the_selected(A, limit, k: int):
    B = A[limit < A]
    return B[k]


def test_what_is_past_the_last_element_is_an_error() -> None:
    A = np.arange(6.0)
    assert one_of_the_selected(A, 3.0, 1) == 5.0
    assert one_of_the_selected(A, 3.0, -2) == 4.0
    for k in (2, 5, -3):
        with pytest.raises(SubscriptError):
            one_of_the_selected(A, 3.0, k)
    with pytest.raises(SubscriptError):
        one_of_the_selected(A, 9.0, 0)


@polytune.kernel
def weights_of_bins(k, w, n: int):
    return np.bincount(k, minlength=n), np.bincount(k, weights=w, minlength=n) / 2.0


def test_bins_are_counted() -> None:
    k, w = np.array([0, 3, 3, 1]), np.array([1.0, 2.0, 0.5, 4.0])
    for found, right in zip(weights_of_bins(k, w, 5), weights_of_bins.__wrapped__(k, w, 5), strict=True):
        assert found.dtype == right.dtype
        np.testing.assert_array_equal(found, right)
    with pytest.raises(ValueError, match=r"bincount gives 4 elements, more than 3"):
        weights_of_bins(k, w, 3)
    with pytest.raises(ValueError):
        weights_of_bins(-k, w, 5)


@polytune.kernel
def with_more(A, *others):
    A[0] = 1.0


@polytune.kernel
def ambiguous(A):
    if A > 0:
        A[0] = 1.0


def test_what_a_call_gives_to_a_starred_argument_is_refused() -> None:
    for more in ((), (np.ones(2),)):
        with pytest.raises(PolytuneError, match="the argument 'others' is starred"):
            with_more(np.ones(3), *more)
    with pytest.raises(UnsupportedSourceError, match="the array A > 0 as a condition"):
        ambiguous(np.ones(3))


def test_nothing_is_written_of_what_does_not_fit() -> None:
    def stored(A, K):
        A[3:] = 1
        A[:3] = A[K > 1]

    def updated(A, K):
        A[3:] = 1
        A[:3] += A[K > 1]

    def computed(A, K):
        A[3:] = 1
        A[:3] = A[3:] * A[K > 1]

    def taken(A, K):
        A[3:] = 1
        B = A[3:] * A[K > 1]
        A[0] = B[0]

    for function in (stored, updated, computed, taken):
        kernel = polytune.kernel(function)
        for numbers in ([0, 2, 2, 0, 2, 0], [0, 0, 5, 0, 0, 0], [2, 2, 0, 0, 0, 0], [0] * 6, [7] * 6):
            arrays = np.arange(6.0), np.arange(6.0)
            outcomes = []
            for each, A in zip((function, kernel), arrays, strict=True):
                try:
                    each(A, np.array(numbers))
                except ValueError as error:
                    assert each is function or isinstance(error, DataError)
                    assert not isinstance(error, IndexError)
                    outcomes.append("error")
            assert len(outcomes) != 1
            np.testing.assert_array_equal(*arrays)
