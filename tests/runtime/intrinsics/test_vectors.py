"""Vectors in compiled code, operation by operation, against NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from polytune.runtime.intrinsics.arithmetic import greatest, least
from polytune.runtime.intrinsics.memory import view
from polytune.runtime.intrinsics.vectors import (
    between,
    lane_sum,
    load,
    load_masked,
    misalignment,
    prefetch,
    select,
    shifted,
    splat,
    store,
    store_masked,
)

TYPES = ("float64", "float32", "int64", "int32")


@njit
def add_rows(source, target, factor):
    A, B = view(source, "A", "A B"), view(target, "B", "A B")
    store(B, (1, 2), load(A, 4, (0, 1)) * splat(factor, 4) + load(B, 4, (1, 2)))


@pytest.mark.parametrize("dtype", TYPES)
def test_load_compute_store(dtype: str) -> None:
    source = np.arange(18, dtype=dtype).reshape(3, 6)
    target = np.ones((3, 6), dtype)
    expected = target.copy()
    expected[1, 2:6] += source[0, 1:5] * target.dtype.type(3)
    add_rows(source, target, target.dtype.type(3))
    assert np.array_equal(target, expected)


@njit
def copy_some(source, target, first, last):
    A, B = view(source, "A", "A B"), view(target, "B", "A B")
    mask = between(first, last, 8)
    store_masked(B, (0,), load_masked(A, 8, (0,), mask), mask)


@pytest.mark.parametrize("first, last", [(0, 8), (2, 5), (-3, 4), (5, 99), (4, 4), (6, 2)])
def test_a_mask_leaves_the_other_lanes_alone(first: int, last: int) -> None:
    source, target = np.arange(1.0, 9.0), np.zeros(8)
    copy_some(source, target, first, last)
    lanes = np.arange(8)
    assert np.array_equal(target, np.where((first <= lanes) & (lanes < last), source, 0.0))


@njit
def copy_either(source, target, first, second, third):
    A, B = view(source, "A", "A B"), view(target, "B", "A B")
    mask = between(0, first, 8) | between(second, third, 8)
    store_masked(B, (0,), load_masked(A, 8, (0,), mask), mask)


@pytest.mark.parametrize("first, second, third", [(2, 5, 7), (4, 2, 6), (0, 3, 3), (8, 1, 2)])
def test_the_lanes_of_either_mask(first: int, second: int, third: int) -> None:
    source, target = np.arange(1.0, 9.0), np.zeros(8)
    copy_either(source, target, first, second, third)
    lanes = np.arange(8)
    assert np.array_equal(target, np.where((lanes < first) | ((second <= lanes) & (lanes < third)), source, 0.0))


def test_lanes_behind_an_array_are_not_touched() -> None:
    memory = np.full(4096, 7.0)
    source, target = memory[:3], memory[100:103]
    copy_some(source, target, 0, 3)
    assert np.array_equal(memory[103:], np.full(4096 - 103, 7.0))


@njit
def ask_for(source, index):
    A = view(source, "A", "A")
    prefetch(A, (index, 0))
    prefetch(A, (np.int32(index), np.int32(1)))


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, lambda array: array[::2, ::2]])
def test_prefetches_are_instructions_that_fail_nowhere(layout) -> None:
    """Neither behind an array, nor where there is no memory of the process at all."""
    source = layout(np.arange(24.0).reshape(4, 6))
    before = source.copy()
    for index in (0, 3, -1, 4, 10**9, -(10**9), 2**40):
        ask_for(source, index)
    assert np.array_equal(source, before)
    assert any("llvm.prefetch" in text for text in ask_for.inspect_llvm().values())


def test_only_views_are_prefetched() -> None:
    @njit
    def wrong(source):
        prefetch(source, (0,))

    with pytest.raises(TypingError, match="elements are prefetched through views"):
        wrong(np.zeros(3))


@njit
def load_where(source, target, first, last):
    A, B = view(source, "A", "A B"), view(target, "B", "A B")
    mask = between(first, last, 4)
    store(B, (0,), load_masked(A, 4, (0,), mask))


def test_lanes_that_are_not_loaded_are_zero() -> None:
    target = np.full(4, 5.0)
    load_where(np.arange(1.0, 5.0), target, 1, 3)
    assert np.array_equal(target, [0.0, 2.0, 3.0, 0.0])


@njit
def compute(first, second, results):
    a, b = view(first, "a", "a b r"), view(second, "b", "a b r")
    r = view(results, "r", "a b r")
    x, y = load(a, 4, (0,)), load(b, 4, (0,))
    store(r, (0, 0), x - y)
    store(r, (1, 0), x / y)
    store(r, (2, 0), -x)
    store(r, (3, 0), abs(x))
    store(r, (4, 0), least(x, y))
    store(r, (5, 0), greatest(x, y))
    store(r, (6, 0), select(between(1, 3, 4), x, y))
    store(r, (7, 0), math.sqrt(x))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_operations_are_those_of_each_lane(dtype: str) -> None:
    first = np.array([1.0, -2.5, np.nan, 0.0], dtype)
    second = np.array([4.0, -3.0, 1.0, np.inf], dtype)
    results = np.zeros((8, 4), dtype)
    compute(first, second, results)
    with np.errstate(invalid="ignore"):
        roots = np.sqrt(first)
    assert np.array_equal(results[7], roots, equal_nan=True)
    results = results[:7]
    smaller = [b if b < a else a for a, b in zip(first, second, strict=True)]
    larger = [b if b > a else a for a, b in zip(first, second, strict=True)]
    picked = [second[0], first[1], first[2], second[3]]
    expected = np.array([first - second, first / second, -first, abs(first), smaller, larger, picked], dtype)
    assert results.tobytes() == expected.tobytes()


@njit
def compare(first, second, results):
    a, b = view(first, "a", "a b r"), view(second, "b", "a b r")
    r = view(results, "r", "a b r")
    x, y = load(a, 8, (0,)), load(b, 8, (0,))
    store(r, (0, 0), select(x < y, x, y))
    store(r, (1, 0), select(x <= y, x, y))
    store(r, (2, 0), select(x > y, x, y))
    store(r, (3, 0), select(x >= y, x, y))
    store(r, (4, 0), select(x == y, y, x))
    store(r, (5, 0), select(x != y, x, y))


@pytest.mark.parametrize("dtype", TYPES)
def test_comparisons_are_those_of_each_lane(dtype: str) -> None:
    if dtype.startswith("float"):
        first = np.array([1.0, -2.5, np.nan, 0.0, -0.0, np.inf, 3.0, np.nan], dtype)
        second = np.array([4.0, -3.0, 1.0, -0.0, 0.0, np.inf, np.nan, np.nan], dtype)
    else:
        limits = np.iinfo(dtype)
        first = np.array([1, -2, limits.min, limits.max, 0, 7, -1, 5], dtype)
        second = np.array([4, -3, limits.max, limits.min, 0, 7, 0, -5], dtype)
    results = np.zeros((6, 8), dtype)
    compare(first, second, results)
    pairs = list(zip(first, second, strict=True))
    expected = [
        [x if x < y else y for x, y in pairs],
        [x if x <= y else y for x, y in pairs],
        [x if x > y else y for x, y in pairs],
        [x if x >= y else y for x, y in pairs],
        [y if x == y else x for x, y in pairs],
        [x if x != y else y for x, y in pairs],
    ]
    assert results.tobytes() == np.array(expected, dtype).tobytes()


@njit
def add_up(source):
    return lane_sum(load(view(source, "A", "A"), 8, (0,)))


@pytest.mark.parametrize("dtype", TYPES)
def test_lane_sum(dtype: str) -> None:
    assert add_up(np.arange(1, 9, dtype=dtype)) == 36


@njit
def columns_of_fortran_order(source, target):
    A, B = view(source, "A", "A B"), view(target, "B", "A B")
    store(B, (0,), load(A, 4, (1, 2)))


def test_lanes_run_along_the_contiguous_axis() -> None:
    source = np.asfortranarray(np.arange(30.0).reshape(6, 5))
    target = np.zeros(4)
    columns_of_fortran_order(source, target)
    assert np.array_equal(target, source[1:5, 2])


@njit
def unaligned(source, target):
    A, B = view(source, "A", "A B"), view(target, "B", "A B")
    store(B, (1,), load(A, 8, (3,)))


def test_any_element_may_be_the_first_lane() -> None:
    source, target = np.arange(20.0), np.zeros(20)
    unaligned(source, target)
    assert np.array_equal(target[1:9], source[3:11])


def _mixed_types(array: np.ndarray) -> None:
    A = view(array, "A", "A")
    store(A, (0,), splat(1, 4))


def _other_mask(array: np.ndarray) -> None:
    A = view(array, "A", "A")
    store_masked(A, (0,), load(A, 4, (0,)), between(0, 2, 8))


def _lanes_unknown(array: np.ndarray) -> None:
    A = view(array, "A", "A")
    store(A, (0,), load(A, len(array), (0,)))


@pytest.mark.parametrize(
    "function, message",
    [
        (_mixed_types, "cannot store Vector"),
        (_other_mask, "4 lanes are chosen by a mask of as many"),
        (_lanes_unknown, "the number of lanes is a literal integer"),
    ],
)
def test_refusals(function: Callable, message: str) -> None:
    with pytest.raises(TypingError, match=message):
        njit(function)(np.zeros(8))


@njit
def shift(source, results):
    a, r = view(source, "a", "a r"), view(results, "r", "a r")
    before, value = load(a, 4, (0,)), load(a, 4, (4,))
    store(r, (0, 0), shifted(before, value, 0))
    store(r, (1, 0), shifted(before, value, 1))
    store(r, (2, 0), shifted(before, value, 3))
    store(r, (3, 0), shifted(before, value, 4))


@pytest.mark.parametrize("dtype", TYPES)
def test_shifted_lanes_come_from_the_vector_before(dtype: str) -> None:
    results = np.zeros((4, 4), dtype)
    shift(np.arange(8, dtype=dtype), results)
    assert results.tolist() == [[4, 5, 6, 7], [3, 4, 5, 6], [1, 2, 3, 4], [0, 1, 2, 3]]


@njit
def places(source, results):
    a = view(source, "a", "a")
    for number in range(len(results)):
        results[number] = misalignment(a, 4, (number,))


@pytest.mark.parametrize("dtype", TYPES)
def test_vectors_begin_at_multiples_of_their_size(dtype: str) -> None:
    source = np.zeros(20, dtype)
    first = source.ctypes.data // source.itemsize
    results = np.zeros(12, np.int64)
    for start in range(4):
        places(source[start:], results)
        assert results.tolist() == [(first + start + number) % 4 for number in range(12)]


def test_lanes_are_shifted_by_no_more_than_a_vector() -> None:
    @njit
    def too_far(source):
        a = view(source, "a", "a")
        return shifted(load(a, 4, (0,)), load(a, 4, (4,)), 5)

    with pytest.raises(TypingError, match="cannot shift 4 lanes by 5"):
        too_far(np.zeros(8))
