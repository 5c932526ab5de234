"""Vectors whose lanes lie apart in memory, against NumPy, and at the ends of memory."""

from __future__ import annotations

import ctypes
import mmap
from functools import cache

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from polytune.runtime.intrinsics.memory import view
from polytune.runtime.intrinsics.vectors import between, load, load_masked, store, store_masked
from polytune.runtime.intrinsics.vectors_apart import load_apart, load_apart_masked, store_apart, store_apart_masked

TYPES = ("float64", "float32", "int64", "int32")
STEPS = (-5, -4, -3, -2, -1, 1, 2, 3, 4, 7)
NEAR = tuple(step for step in STEPS if abs(step) <= 4)
LANES = np.arange(8)


@cache
def loading(axis: int, step: int):
    @njit
    def work(source, target, row, column, first, last):
        A, B = view(source, "A", "A B"), view(target, "B", "A B")
        mask = between(first, last, 8)
        store(B, (0, 0), load_apart(A, 8, (row, column), axis, step))
        store(B, (1, 0), load_apart_masked(A, 8, (row, column), axis, step, mask))

    return work


@cache
def storing(axis: int, step: int):
    @njit
    def work(source, target, row, column, first, last):
        A, B = view(source, "A", "A B"), view(target, "B", "A B")
        store_apart(B, (row, column), axis, step, load(A, 8, (0,)))
        store_apart_masked(B, (row + 1, column), axis, step, load(A, 8, (0,)), between(first, last, 8))

    return work


@cache
def moving_some(step: int):
    @njit
    def work(source, target, first, last, begin):
        A, B = view(source, "A", "A B"), view(target, "B", "A B")
        mask = between(first, last, 8)
        store_masked(B, (0,), load_apart_masked(A, 8, (begin,), 0, step, mask), mask)
        store_apart_masked(A, (begin,), 0, step, load_masked(B, 8, (0,), mask), mask)

    return work


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("step", STEPS)
def test_loads(step: int, axis: int, dtype: str) -> None:
    source = np.arange(1, 60 * 60 + 1).reshape(60, 60).astype(dtype)
    target = np.zeros((2, 8), dtype)
    start = [3, 2]
    start[axis] = 50 if step < 0 else 5
    loading(axis, step)(source, target, *start, 2, 7)
    places = [np.full(8, start[0]), np.full(8, start[1])]
    places[axis] = places[axis] + step * LANES
    assert np.array_equal(target[0], source[tuple(places)])
    assert np.array_equal(target[1], np.where((LANES >= 2) & (LANES < 7), target[0], 0))


@pytest.mark.parametrize("layout", ["F", "A"])
def test_other_layouts(layout: str) -> None:
    source = np.arange(60 * 120.0).reshape(60, 120)
    source = np.asfortranarray(source) if layout == "F" else source[:, ::2]
    target = np.zeros((2, 8))
    for axis, step in ((0, -1), (1, 1), (1, -2), (0, 3)):
        start = 40 if step < 0 else 0
        loading(axis, step)(source, target, start, start, 0, 8)
        line = source[start + step * LANES, start] if axis == 0 else source[start, start + step * LANES]
        assert np.array_equal(target, [line, line])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("step", NEAR)
def test_stores(step: int, dtype: str) -> None:
    source = np.arange(1, 9).astype(dtype)
    target = np.zeros((4, 60), dtype)
    expected = target.copy()
    start = 40 if step < 0 else 4
    expected[1, start + step * LANES] = source
    expected[2, (start + step * LANES)[3:5]] = source[3:5]
    storing(1, step)(source, target, 1, start, 3, 5)
    assert np.array_equal(target, expected)


@pytest.mark.parametrize("step", NEAR)
@pytest.mark.parametrize("lanes", [(0, 3), (5, 8), (0, 8)])
def test_nothing_beyond_an_array_is_touched(step: int, lanes: tuple[int, int]) -> None:
    """The array lies between two pages that may not be accessed; its lanes reach from one end to the other."""
    first, last = lanes
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 3 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    size = (last - first - 1) * abs(step) + 1
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    for guard in (start, start + 2 * page):
        assert protect(ctypes.c_void_p(guard), page, mmap.PROT_NONE if hasattr(mmap, "PROT_NONE") else 0) == 0
    try:
        for offset in (0, page // 8 - size):
            array = np.frombuffer(memory, np.float64, size, page + 8 * offset)
            array[:] = np.arange(size)
            target = np.full(8, -1.0)
            begin = -first * step if step > 0 else size - 1 - first * step
            moving_some(step)(array, target, first, last, begin)
            assert np.array_equal(array, np.arange(size))
            assert np.array_equal(target[first:last], (begin + step * LANES)[first:last])
            del array
    finally:
        for guard in (start, start + 2 * page):
            protect(ctypes.c_void_p(guard), page, mmap.PROT_READ | mmap.PROT_WRITE)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("axis, step", [(0, 1), (0, -2), (1, 5), (1, -7)])
def test_stores_far_apart(axis: int, step: int, dtype: str) -> None:
    source = np.arange(1, 9).astype(dtype)
    target = np.zeros((70, 70), dtype)
    expected = target.copy()
    start = [3, 2]
    start[axis] = 60 if step < 0 else 5
    places = [np.full(8, start[0]), np.full(8, start[1])]
    places[axis] = places[axis] + step * LANES
    expected[tuple(places)] = source
    expected[places[0][3:5] + 1, places[1][3:5]] = source[3:5]
    storing(axis, step)(source, target, *start, 3, 5)
    assert np.array_equal(target, expected)


@pytest.mark.parametrize("axis, step", [(2, 1), (-1, 1), (1, 0)])
def test_what_is_no_step_is_refused(axis: int, step: int) -> None:
    with pytest.raises(TypingError, match="apart along axis"):
        loading(axis, step)(np.zeros((9, 99)), np.zeros((2, 8)), 0, 0, 0, 8)
