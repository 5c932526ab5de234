"""Subscripts of unsigned types, which never count from the end; and what is raised where one is out of range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import BoundsError, SubscriptError

BEYOND = [np.uint64(2**64 - 1), np.uint64(2**63), np.uint64(2**64 - 3)]


def stored(A, i):
    A[i] = 7.0


def computed(A, i):
    A[np.uint64(1) + i] = 7.0


def row(A, i):
    return A.reshape(2, 2)[i].sum()


def of_part(A, i):
    return A[1:][i]


def flat(A, i):
    return A.flat[i]


def of_list(A, i):
    out = [A[0], A[1]]
    out.append(A[2])
    return out[i]


FUNCTIONS = [stored, computed, row, of_part, flat, of_list]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("i", BEYOND)
def test_none_counts_from_the_end(function: Callable[..., Any], i: np.uint64) -> None:
    A = np.arange(4.0)
    if function is computed:
        i = i - np.uint64(1)
    with pytest.raises((IndexError, OverflowError)):
        function(A.copy(), i)
    with pytest.raises(SubscriptError):
        polytune.kernel(background=False)(function)(A, i)
    assert A.tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("i", [0, 1])
def test_small_ones_are_what_they_are(function: Callable[..., Any], i: int) -> None:
    found, wanted = np.arange(4.0), np.arange(4.0)
    result = polytune.kernel(background=False)(function)(found, np.uint64(i))
    assert result == function(wanted, np.uint64(i))
    np.testing.assert_array_equal(found, wanted)


def scattered(A, index):
    for k in range(len(index)):
        A[index[k]] += 1.0


def chained(A, index):
    for k in range(len(index)):
        if A[0] < 9.0:
            A[index[index[k] - index[0]]] += 1.0


@pytest.mark.parametrize("function", [scattered, chained])
@pytest.mark.parametrize("numbers", [[0, 1, 3], [1, 2**64 - 1], [1, 4], [0, 2**63]])
def test_index_arrays(function: Callable[..., Any], numbers: list[int]) -> None:
    index = np.array(numbers, np.uint64)
    found, wanted = np.arange(4.0), np.arange(4.0)
    with np.errstate(over="ignore"):
        try:
            function(wanted, index)
        except (IndexError, OverflowError):
            with pytest.raises(SubscriptError):
                polytune.kernel(background=False)(function)(found, index)
            return
    polytune.kernel(background=False)(function)(found, index)
    np.testing.assert_array_equal(found, wanted)


def filled(A, n: int):
    for i in range(n):
        A[i] = 1.0


def from_behind(A, n: int):
    for i in range(n):
        A[i - 6] = 1.0


@pytest.mark.parametrize("function", [filled, from_behind])
def test_bounds_of_affine_subscripts_raise_an_index_error(function: Callable[..., Any]) -> None:
    A = np.zeros(4)
    for error in (IndexError, BoundsError, polytune.ArgumentError, ValueError):
        with pytest.raises(error):
            polytune.kernel(background=False)(function)(A, 5)
    assert not A.any()
