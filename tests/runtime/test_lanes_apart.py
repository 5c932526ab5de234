"""Vectors whose lanes lie a step apart in memory, against NumPy, and at the ends of memory."""

from __future__ import annotations

import ctypes
import mmap
from functools import cache

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from polytune.runtime.lanes_apart import load_apart, load_some_apart, store_apart, store_some_apart
from polytune.runtime.memory import view
from polytune.runtime.vectors import between, load, load_some, store, store_some

TYPES = ("float64", "float32", "int64", "int32")
STEPS = (-4, -3, -2, -1, 1, 2, 3, 4)
LANES = np.arange(8)


@cache
def loading(step: int):
    @njit
    def work(source, target, row, column, first, last):
        A, B = view(source, "A", "A B"), view(target, "B", "A B")
        mask = between(first, last, 8)
        store(B, (0, 0), load_apart(A, 8, (row, column), step))
        store(B, (1, 0), load_some_apart(A, 8, (row, column), step, mask))

    return work


@cache
def storing(step: int):
    @njit
    def work(source, target, row, column, first, last):
        A, B = view(source, "A", "A B"), view(target, "B", "A B")
        store_apart(B, (row, column), step, load(A, 8, (0,)))
        store_some_apart(B, (row + 1, column), step, load(A, 8, (0,)), between(first, last, 8))

    return work


@cache
def moving_some(step: int):
    @njit
    def work(source, target, first, last, begin):
        A, B = view(source, "A", "A B"), view(target, "B", "A B")
        mask = between(first, last, 8)
        store_some(B, (0,), load_some_apart(A, 8, (begin,), step, mask), mask)
        store_some_apart(A, (begin,), step, load_some(B, 8, (0,), mask), mask)

    return work


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("step", STEPS)
def test_loads(step: int, layout: str, dtype: str) -> None:
    source = np.arange(1, 60 * 60 + 1).reshape(60, 60).astype(dtype, order=layout)  # type: ignore[call-overload]
    target = np.zeros((2, 8), dtype)
    start = 50 if step < 0 else 5
    along = start + step * LANES
    loading(step)(source, target, start, start, 2, 7)
    assert np.array_equal(target[0], source[start, along] if layout == "C" else source[along, start])
    assert np.array_equal(target[1], np.where((LANES >= 2) & (LANES < 7), target[0], 0))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("step", STEPS)
def test_stores(step: int, dtype: str) -> None:
    source = np.arange(1, 9).astype(dtype)
    target = np.zeros((4, 60), dtype)
    expected = target.copy()
    start = 40 if step < 0 else 4
    expected[1, start + step * LANES] = source
    expected[2, (start + step * LANES)[3:5]] = source[3:5]
    storing(step)(source, target, 1, start, 3, 5)
    assert np.array_equal(target, expected)


@pytest.mark.parametrize("step", STEPS)
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


@pytest.mark.parametrize("step", [0, 5, -7])
def test_other_steps_are_refused(step: int) -> None:
    with pytest.raises(TypingError, match="at most"):
        loading(step)(np.zeros((9, 99)), np.zeros((2, 8)), 0, 0, 0, 8)
    with pytest.raises(TypingError, match="at most"):
        storing(step)(np.zeros(8), np.zeros((9, 99)), 0, 0, 0, 8)


def test_views_without_a_contiguous_axis_are_refused() -> None:
    with pytest.raises(TypingError, match="does not have"):
        loading(2)(np.zeros((9, 99))[:, ::2], np.zeros((2, 8)), 0, 0, 0, 8)
