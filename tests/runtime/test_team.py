"""Teams: every ticket is worked on once and in order of regions, whatever number of workers runs at once."""

import threading

import numpy as np
import pytest
from numba import njit, prange
from numba.core.errors import TypingError

from polytune.runtime.memory import view
from polytune.runtime.team import (
    STATE_LENGTH,
    complete,
    fetch_add,
    load_acquire,
    new_state,
    pause,
    reset,
    take,
    wait,
    yield_thread,
)

WIDTH = 37
REGIONS = 200


@njit(nogil=True)
def worker(state, first, second, regions, width):
    """Region r writes one array from the other, every element by a ticket of its own: a stencil modulo a prime."""
    a = view(first, "first", "first second")
    b = view(second, "second", "first second")
    ticket = take(state)
    base = 0
    for region in range(regions):
        while ticket < base + width:
            i = ticket - base
            left, right = (i + width - 1) % width, (i + 1) % width
            if region % 2 == 0:
                b[i] = (a[left] + 3 * a[i] + 5 * a[right] + region) % 1000003
            else:
                a[i] = (b[left] + 3 * b[i] + 5 * b[right] + region) % 1000003
            complete(state)
            ticket = take(state)
        base += width
        wait(state, base)


@njit(parallel=True, nogil=True)
def run(threads, state, first, second, regions, width):
    for _ in prange(threads):
        worker(state, first, second, regions, width)
    reset(state)


def expected(values: np.ndarray, regions: int) -> np.ndarray:
    for region in range(regions):
        values = (np.roll(values, 1) + 3 * values + 5 * np.roll(values, -1) + region) % 1000003
    return values


@pytest.fixture
def arrays():
    return np.arange(WIDTH), np.zeros(WIDTH, np.int64)


def test_state_has_its_counters_on_cache_lines_of_their_own():
    states = [new_state() for _ in range(20)]
    for state in states:
        assert state.dtype == np.int64
        assert state.shape == (STATE_LENGTH,)
        assert state.flags.c_contiguous
        assert state.ctypes.data % 128 == 0
        assert not state.any()


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_workers_one_after_another_on_one_thread(arrays, workers):
    state = new_state()
    wanted = expected(arrays[0], REGIONS)
    for _ in range(workers):
        worker(state, *arrays, REGIONS, WIDTH)
    np.testing.assert_array_equal(arrays[REGIONS % 2], wanted)


@pytest.mark.parametrize("workers", [2, 9])
def test_workers_on_threads_of_their_own_more_than_cores(arrays, workers):
    state = new_state()
    wanted = expected(arrays[0], REGIONS)
    threads = [
        threading.Thread(target=worker, args=(state, *arrays, REGIONS, WIDTH), daemon=True) for _ in range(workers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "the team does not come to an end"
    np.testing.assert_array_equal(arrays[REGIONS % 2], wanted)


def test_a_reset_state_serves_again(arrays):
    state = new_state()
    wanted = expected(arrays[0], REGIONS)
    for repeat in range(50):
        first, second = arrays[0].copy(), arrays[1].copy()
        run(1 + repeat % 8, state, first, second, REGIONS, WIDTH)
        np.testing.assert_array_equal(first, wanted)
        assert not state.any()


def test_atomic_additions_lose_nothing():
    @njit(nogil=True)
    def count(array, times):
        for _ in range(times):
            fetch_add(array, 1, 2)

    array = np.zeros(3, np.int64)
    count(array, 0)
    threads = [threading.Thread(target=count, args=(array, 50_000)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert array.tolist() == [0, 400_000, 0]


def test_fetch_add_returns_the_value_before():
    @njit
    def twice(array):
        return fetch_add(array, 0, 5), fetch_add(array, 0, -2), load_acquire(array, 0)

    assert twice(np.array([10, 0])) == (10, 15, 13)


def test_a_waiting_loop_sees_what_another_thread_wrote():
    @njit(nogil=True)
    def wait_for(flag, data):
        while load_acquire(flag, 0) == 0:
            pause()
            yield_thread()
        return data[0]

    flag, data = np.zeros(1, np.int64), np.zeros(1)
    wait_for(np.ones(1, np.int64), data)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(wait_for(flag, data)), daemon=True)
    thread.start()
    data[0] = 7.0
    flag[0] = 1
    thread.join(60)
    assert seen == [7.0]


def test_counters_of_another_type_are_refused_at_compile_time():
    with pytest.raises(TypingError, match="int64"):
        njit(lambda state: take(state))(np.zeros(32))
