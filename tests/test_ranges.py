"""Ranges that have names, and loops that count the items of a tuple, in compiled kernels against plain Python."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import UnsupportedSourceError
from tests.test_control import in_every_version
from tests.test_results import kernel_of, same, vector


def nested(A, B, m):
    rows = range(1, len(A) - 1)
    for i in rows:
        for j in rows:
            B[i] += A[j] * m


def of_a_branch(A, B, m):
    if m > 0:
        B[0] += 1.0
        places = range(min(len(A), 3))
    else:
        places = range(-m, len(A))
    for i in places:
        B[i] = A[i]


def backwards(A, B, m):
    places = range(len(A) - 1, -1, -1)
    for i in places:
        B[i] = A[i] + (B[i + 1] if i + 1 < len(A) else m)


def bounds_of_before(A, B, m):
    n = len(A)
    places = range(n - m)
    n = 1
    for i in places:
        B[i] = A[i] + n


def counted(A, B, m):
    for t in range(2):
        places = range(t, len(A))
        for k, i in enumerate(places):
            B[i] += k
        for i, x in zip(places, A, strict=False):
            B[i] += x
        for i in reversed(places):
            B[i] += A[i]


@pytest.mark.parametrize(
    "function", [nested, of_a_branch, backwards, bounds_of_before, counted], ids=lambda each: each.__name__
)
def test_ranges_that_have_names(function: Callable[..., Any]) -> None:
    for n in (1, 2, 5, 33):
        for m in (0, 1):
            in_every_version(function, vector(n), np.ones(n), m)


def measured(A):
    places = range(len(A))
    A[0] = places.stop
    for i in places:
        A[i] += 1.0


def test_ranges_with_other_uses_are_refused() -> None:
    with pytest.raises(UnsupportedSourceError, match="range is called"):
        polytune.kernel(measured)(vector(3))


def items_by_number(arrays, out):
    for i in range(len(arrays)):
        for k in range(len(arrays[i])):
            out[i, k] = arrays[i][k] * (i + 1)


def exchanged(A, B):
    pair = (A, B)
    for i in range(2):
        pair[1 - i][0] = pair[i][1] + i


def some_of(numbers, out):
    n = len(numbers)
    for i in range(n):
        if numbers[i] > 2:
            continue
        out[0, i] = numbers[i]


def test_items_of_tuples_by_the_variables_of_loops() -> None:
    for arrays in ((vector(3), vector(5)), (vector(1),)):
        wanted, found = np.zeros((2, 5)), np.zeros((2, 5))
        items_by_number(arrays, wanted)
        kernel_of(items_by_number, False)(arrays, found)
        same(found, wanted)
    for numbers in ((1, 2.5, 3, 0.5), (4,)):
        wanted, found = np.zeros((2, 5)), np.zeros((2, 5))
        some_of(numbers, wanted)
        kernel_of(some_of, False)(numbers, found)
        same(found, wanted)
    in_every_version(exchanged, vector(3), vector(4))


def rolling(A, w):
    out = np.zeros(len(A))
    for i in range(len(A) - w + 1):
        part = A[i : i + w]
        if i < len(A):
            out[i] = np.nanstd(part) + np.median(part) + np.nanvar(part) + np.nanmedian(part)
    return out


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_statistics_of_nothing_are_nan() -> None:
    for n, w in ((5, 0), (5, 2), (0, 0)):
        A = vector(n)
        same(kernel_of(rolling, False)(copy.deepcopy(A), w), rolling(A, w))
