"""Memory that is kept for the next call, and what calls undo."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytune.errors import DeviceMemoryError
from polytune.runtime.partitioned.attempt import UndoLog
from polytune.runtime.partitioned.pool import BufferPool, ShadowPool
from tests.runtime.partitioned.fake_device import LIMITS, FakeDevice


def test_buffers_are_used_again():
    device = FakeDevice({})
    pool = BufferPool(device)
    first = pool.take(80)
    pool.give(first)
    assert pool.take(80) is first
    assert pool.take(80) is not first
    assert device.operations.count("allocate") == 2


def test_what_is_kept_makes_room_for_what_is_needed():
    device = FakeDevice({}, limits=replace(LIMITS, memory=1000))
    pool = BufferPool(device)
    kept = [pool.take(100) for _ in range(5)]
    for buffer in kept:
        pool.give(buffer)
    assert device.used == 500
    large = pool.take(800)
    assert device.used == large.nbytes
    with pytest.raises(DeviceMemoryError):
        pool.take(300)


def test_no_more_than_half_of_a_device_is_kept():
    device = FakeDevice({}, limits=replace(LIMITS, memory=1000))
    pool = BufferPool(device)
    for buffer in [pool.take(300), pool.take(300)]:
        pool.give(buffer)
    assert device.used == 300


def test_no_two_threads_get_the_same_memory():
    device = FakeDevice({})
    pool, shadows = BufferPool(device), ShadowPool()

    def work(number):
        for _ in range(100):
            buffer, shadow = pool.take(64), shadows.take((8,), np.dtype(np.float64))
            memory = device.memory[buffer.address]
            memory[:] = shadow[:] = number
            time.sleep(0)
            assert (memory == number).all() and (shadow == number).all()
            pool.give(buffer)
            shadows.give(shadow)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))


def test_shadows_fit_any_type_of_their_size():
    pool = ShadowPool()
    first = pool.take((4, 2), np.dtype(np.float64))
    pool.give(first)
    second = pool.take((16,), np.dtype(np.int32))
    assert (second.shape, second.dtype) == ((16,), np.int32)
    assert np.shares_memory(first, second)


axes = st.tuples(st.integers(0, 5), st.integers(0, 6), st.integers(1, 2))


@given(st.lists(st.tuples(axes, axes), max_size=6))
def test_undo_restores_what_was_there_first(boxes):
    array = np.arange(36.0).reshape(6, 6)
    before, log = array.copy(), UndoLog()
    for number, box in enumerate(boxes):
        log.save(array, [box])
        array[tuple(slice(*axis) for axis in box)] = -number
    log.restore()
    np.testing.assert_array_equal(array, before)
