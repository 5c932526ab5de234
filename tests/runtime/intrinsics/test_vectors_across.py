"""Vectors with lanes along any axis, in arrays of any layout, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from polytune.runtime.intrinsics.memory import view
from polytune.runtime.intrinsics.vectors import between, splat
from polytune.runtime.intrinsics.vectors_apart import load_apart, load_apart_masked, store_apart, store_apart_masked


@njit
def add_columns(source, target):
    A, B = view(source, "A", "A B"), view(target, "B", "A B")
    store_apart(B, (1, 0), 0, 1, load_apart(A, 4, (0, 1), 0, 1) + load_apart(A, 4, (2, 0), 1, 1))


@njit
def copy_some(source, target, first, last):
    A, B = view(source, "A", "A B"), view(target, "B", "A B")
    mask = between(first, last, 8)
    store_apart_masked(B, (0, 1), 0, 1, load_apart_masked(A, 8, (0, 2), 0, 1, mask) + splat(A[0, 0], 8), mask)


def laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    """The same elements in memory in another way."""
    if layout == "reversed":
        return array[::-1, ::-1].copy()[::-1, ::-1]
    if layout == "every other":
        wide = np.zeros((2 * array.shape[0], 3 * array.shape[1]), array.dtype)
        wide[::2, ::3] = array
        return wide[::2, ::3]
    return array.copy(order=layout)


LAYOUTS = ("C", "F", "reversed", "every other")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32"])
def test_lanes_along_either_axis(dtype: str, layout: str) -> None:
    source = laid_out(np.arange(30, dtype=dtype).reshape(5, 6), layout)
    target = laid_out(np.ones((6, 3), dtype), layout)
    expected = target.copy()
    expected[1:5, 0] = source[0:4, 1] + source[2, 0:4]
    add_columns(source, target)
    assert np.array_equal(target, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("first, last", [(0, 8), (2, 5), (-3, 4), (5, 99), (4, 4), (6, 2)])
def test_a_mask_leaves_the_other_lanes_alone(first: int, last: int, layout: str) -> None:
    source = laid_out(np.arange(24.0).reshape(8, 3) + 1, layout)
    target = laid_out(np.zeros((8, 3)), layout)
    expected = target.copy()
    rows = slice(max(first, 0), max(min(last, 8), 0))
    expected[rows, 1] = source[rows, 2] + source[0, 0]
    copy_some(source, target, first, last)
    assert np.array_equal(target, expected)


def test_lanes_behind_an_array_are_not_touched() -> None:
    memory = np.full((4096, 3), 7.0)
    copy_some(memory[:3], memory[100:103], 0, 3)
    assert np.array_equal(memory[103:], np.full((4096 - 103, 3), 7.0))


def test_what_is_left_out_is_zero_again_and_again() -> None:
    """Stores leave nothing behind where later loads look."""

    @njit
    def twice(source, target):
        A, B = view(source, "A", "A B"), view(target, "B", "A B")
        mask = between(0, 1, 4)
        for _ in range(2):
            store_apart_masked(B, (0, 0), 0, 1, splat(5.0, 4), mask)
            store_apart(B, (0, 1), 0, 1, load_apart_masked(A, 4, (0, 0), 0, 1, mask))

    source, target = np.ones((4, 2)), np.full((4, 2), 9.0)
    twice(source, target)
    assert target.tolist() == [[5.0, 1.0], [9.0, 0.0], [9.0, 0.0], [9.0, 0.0]]


def test_there_must_be_such_an_axis() -> None:
    @njit
    def third(source):
        A = view(source, "A", "A")
        return load_apart(A, 4, (0, 0), 2, 1)

    with pytest.raises(TypingError, match="axis 2"):
        third(np.zeros((4, 4)))


def test_read_only_arrays_are_not_stored_to() -> None:
    source = np.zeros((8, 8))
    source.flags.writeable = False
    with pytest.raises(TypingError, match="read-only"):
        add_columns(np.zeros((5, 6)), source)
