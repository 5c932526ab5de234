"""Private sums of a team: every task's share arrives once, however many workers there are and run at once."""

import numpy as np
import pytest
from numba import njit, prange

from polytune.runtime.intrinsics.memory import keep_alive, view
from polytune.runtime.intrinsics.private_sums import complete_all, enter, leave, pieces
from polytune.runtime.teams.team import MOST_SHARES, claim, new_state, reset, wait


@njit(nogil=True)
def worker(state, number, workers, values, seen, regions, tasks):
    """In each region task t adds t + 1 to every value; between regions a worker looks at all of them."""
    shared = view(values, "shared", "shared own")
    copy = np.empty(values.shape[0], np.int64)
    own = view(copy, "own", "shared own")
    base = 0
    for region in range(regions):
        claimed = 0
        task = claim(state, number, workers, base, tasks)
        if task < base + tasks:
            for i in range(values.shape[0]):
                own[i] = 0
        while task < base + tasks:
            for i in range(values.shape[0]):
                own[i] += task - base + 1
            claimed += 1
            task = claim(state, number, workers, base, tasks)
        if claimed > 0:
            count = pieces(workers)
            for turn in range(count):
                piece = enter(state, number, workers, turn)
                for i in range(values.shape[0] * piece // count, values.shape[0] * (piece + 1) // count):
                    shared[i] += own[i]
                leave(state, piece)
            complete_all(state, claimed)
        base += tasks
        wait(state, base)
        task = claim(state, number, workers, base, 1)
        if task == base:
            for i in range(values.shape[0]):
                seen[region, i] = shared[i]
            complete_all(state, 1)
        base += 1
        wait(state, base)
    keep_alive(copy)


@njit(parallel=True, nogil=True)
def run(threads, state, values, seen, regions, tasks):
    for number in prange(threads):
        worker(state, number, threads, values, seen, regions, tasks)
    reset(state)


@pytest.mark.parametrize("threads", [1, 2, 3, 7, MOST_SHARES, MOST_SHARES + 5])
@pytest.mark.parametrize("length, tasks", [(1, 1), (37, 5), (1000, 1), (3, 40)])
def test_every_share_arrives_once(threads: int, length: int, tasks: int) -> None:
    """More workers than threads run one after another, and still end."""
    regions = 20
    values, seen = np.zeros(length, np.int64), np.zeros((regions, length), np.int64)
    state = new_state()
    for call in range(3):
        run(threads, state, values, seen, regions, tasks)
        added = tasks * (tasks + 1) // 2
        expected = added * (regions * call + np.arange(1, regions + 1))
        assert np.array_equal(seen, np.repeat(expected[:, None], length, 1))
