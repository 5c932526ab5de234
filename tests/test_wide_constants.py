"""Constants beyond int64, as hash functions have them, beside numbers of uint64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError, UnsupportedSourceError
from tests.test_control import in_every_version

MULTIPLIER = 0x9E3779B97F4A7C15
NUMBERS = np.array([0, 1, 2**63, 2**64 - 1, MULTIPLIER, MULTIPLIER - 1], np.uint64)

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered")


def one_hash(A):
    h = np.uint64(0xCBF29CE484222325)
    for i in range(len(A)):
        h = (h ^ A[i]) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(29)
    return h


def mixed(A):
    for i in range(len(A)):
        A[i] = (A[i] ^ MULTIPLIER) * 0xBF58476D1CE4E5B9 + i


def under_a_name(A):
    m = MULTIPLIER
    B = A * m
    B ^= m
    return B, A + MULTIPLIER, np.full(3, MULTIPLIER), m * 0.5, A[0] / MULTIPLIER


def compared(A):
    return A < MULTIPLIER, A == MULTIPLIER, MULTIPLIER >= A, A[1] != MULTIPLIER, np.minimum(A, MULTIPLIER)


@pytest.mark.parametrize("function", [one_hash, mixed, under_a_name, compared])
def test_they_are_numbers_of_uint64(function: Callable[..., Any]) -> None:
    in_every_version(function, NUMBERS.copy())
    in_every_version(function, NUMBERS.copy(), strict=True)


def returned(A):
    return MULTIPLIER


def beside_signed(A):
    return A.astype(np.int64) + MULTIPLIER


def of_several(A):
    x = MULTIPLIER
    if A[0] > 2:
        x = 3
    return x


def negated(A):
    return -MULTIPLIER


def subscript(A):
    return A[MULTIPLIER]


def bound(A):
    for i in range(MULTIPLIER):
        A[0] = i


def larger(A):
    return A * 0x19E3779B97F4A7C15


@pytest.mark.parametrize("function", [returned, beside_signed, of_several, negated, subscript, bound, larger])
def test_elsewhere_they_are_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedSourceError, match=r"where int64 is computed|of more than 64 bits"):
        polytune.kernel(function)(NUMBERS.copy())


def of_a_size(A):
    return np.zeros(MULTIPLIER) + A.reshape(MULTIPLIER)


def test_no_array_is_as_large() -> None:
    with pytest.raises(ArgumentError):
        polytune.kernel(of_a_size)(NUMBERS.copy())
