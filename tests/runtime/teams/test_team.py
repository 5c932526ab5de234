"""Teams: every task is worked on once and in order of regions, whatever number of workers runs at once."""

import sys
import threading
import time

import numpy as np
import pytest
from numba import njit, prange
from numba.core.errors import TypingError

from polytune.runtime.intrinsics.library import call_library, memory_of
from polytune.runtime.intrinsics.memory import view
from polytune.runtime.teams.team import (
    LIBRARY_CALLS,
    MOST_SHARES,
    STATE_LENGTH,
    claim,
    complete,
    fetch_add,
    load_acquire,
    new_state,
    pause,
    reset,
    wait,
    yield_thread,
)

WIDTH = 37
REGIONS = 200


@njit(nogil=True)
def worker(state, number, workers, first, second, regions, width):
    """Region r writes one array from the other, every element by a task of its own: a stencil modulo a prime."""
    a = view(first, "first", "first second")
    b = view(second, "second", "first second")
    base = 0
    for region in range(regions):
        task = claim(state, number, workers, base, width)
        while task < base + width:
            i = task - base
            left, right = (i + width - 1) % width, (i + 1) % width
            if region % 2 == 0:
                b[i] = (a[left] + 3 * a[i] + 5 * a[right] + region) % 1000003
            else:
                a[i] = (b[left] + 3 * b[i] + 5 * b[right] + region) % 1000003
            complete(state)
            task = claim(state, number, workers, base, width)
        base += width
        wait(state, base)


@njit(parallel=True, nogil=True)
def run(threads, state, first, second, regions, width):
    for number in prange(threads):
        worker(state, number, threads, first, second, regions, width)
    reset(state)


@njit
def claim_one(state, worker, workers, base, total):
    return claim(state, worker, workers, base, total)


@njit
def claim_all(state, worker, workers, base, total, most):
    """The tasks that one worker claims, at most so many."""
    claimed = []
    while len(claimed) < most:
        task = claim(state, worker, workers, base, total)
        if task == base + total:
            break
        claimed.append(task)
    return claimed


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
    for number in range(workers):
        worker(state, number, workers, *arrays, REGIONS, WIDTH)
    np.testing.assert_array_equal(arrays[REGIONS % 2], wanted)


@pytest.mark.parametrize("present", [range(2), range(9), range(2, 5), range(0, 2 * MOST_SHARES, 31)], ids=str)
def test_workers_on_threads_of_their_own_more_than_cores_and_some_that_never_come(arrays, present):
    state = new_state()
    wanted = expected(arrays[0], REGIONS)
    threads = [
        threading.Thread(target=worker, args=(state, number, present.stop, *arrays, REGIONS, WIDTH), daemon=True)
        for number in present
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


def test_each_worker_has_a_share_of_tasks_that_follow_one_another():
    for base in (0, 100, 200):
        state = new_state()
        shares = [claim_all(state, worker, 3, base, 11, most) for worker, most in enumerate((4, 4, 3))]
        assert shares == [[base + i for i in range(*share)] for share in ((0, 4), (4, 8), (8, 11))]


def test_shares_are_the_same_in_the_next_region():
    state = new_state()
    for base in range(0, 700, 70):
        assert [claim_one(state, worker, 7, base, 70) - base for worker in range(7)] == list(range(0, 70, 10))
        assert len(claim_all(state, 0, 7, base, 70, 70)) == 63


def test_a_worker_takes_from_the_others_when_nothing_is_left_of_its_own():
    state = new_state()
    assert claim_all(state, 1, 3, 5, 11, 2) == [9, 10]
    assert claim_all(state, 2, 3, 5, 11, 20) == [13, 14, 15, 5, 6, 7, 8, 11, 12]
    for worker in range(3):
        assert claim_all(state, worker, 3, 5, 11, 20) == []


def test_nothing_is_claimed_of_a_region_that_others_have_left_behind():
    state = new_state()
    assert len(claim_all(state, 0, 4, 0, 10, 20)) == 10
    assert claim_one(state, 3, 4, 10, 40) == 40
    assert claim_one(state, 3, 4, 0, 10) == 10
    assert claim_one(state, 1, 4, 0, 10) == 10
    assert claim_one(state, 3, 4, 10, 40) == 41


@pytest.mark.parametrize("total", [0, -1, -5])
def test_a_region_without_tasks(total):
    state = new_state()
    assert [claim_one(state, worker, 3, 7, total) for worker in range(3)] == [7 + total] * 3
    assert not state.any()


def test_serial_work_is_for_the_first_worker_that_comes():
    for worker in range(4):
        state = new_state()
        assert claim_one(state, worker, 4, 9, 1) == 9
        assert [claim_one(state, other, 4, 9, 1) for other in range(4)] == [10] * 4


def test_more_workers_than_shares():
    state = new_state()
    workers = 3 * MOST_SHARES + 1
    claimed = [claim_one(state, worker, workers, 2, workers) for worker in range(workers)]
    assert sorted(claimed) == list(range(2, 2 + workers))


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
        njit(lambda state: claim(state, 0, 1, 0, 1))(np.zeros(STATE_LENGTH))


@njit(nogil=True)
def wait_for_one(state):
    wait(state, 1)


@pytest.mark.skipif(sys.platform == "win32", reason="no short sleep there")
def test_a_worker_takes_little_of_its_core_while_another_is_in_a_library():
    wait_for_one(completed_state())  # compiled before
    state = new_state()
    state[LIBRARY_CALLS] = 1
    used = []

    def follow() -> None:
        begun, before = time.perf_counter(), time.thread_time()
        wait_for_one(state)
        used.append((time.thread_time() - before) / (time.perf_counter() - begun))

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    time.sleep(0.5)
    state[LIBRARY_CALLS] = 0
    state[0] = 1
    thread.join(60)
    assert not thread.is_alive()
    assert used[0] < 0.5  # on a busy machine half a second may be several


def completed_state() -> np.ndarray:
    state = new_state()
    state[0] = 1
    return state


@njit(nogil=True)
def counted_in_a_library(state, failed, source, target):
    address = state.ctypes.data
    report, values, calls = (
        view(failed, "failed", "failed source target"),
        view(source, "source", "failed source target"),
        view(target, "target", "failed source target"),
    )
    call_library(
        address,
        "def kept(target, source):\n    target[:] = source\n",
        1,
        (
            memory_of(report, (0,), ((1,),), (1,)),
            memory_of(calls, (0,), ((1,),), (3,)),
            memory_of(calls, (0,), ((1,),), (3,)),
            memory_of(values, (0,), ((1,),), (3,)),
        ),
    )


def test_a_call_of_a_library_is_counted_while_it_goes_on():
    state, target = new_state(), np.full(3, -1)
    counted_in_a_library(state, np.zeros(1, np.int64), state[:3], target)
    assert list(target) == [0, 0, 1]
    assert state[LIBRARY_CALLS] == 0
