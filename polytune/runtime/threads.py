"""How many threads work for a kernel."""

from __future__ import annotations

import functools

import numba
from numba.np.ufunc import parallel

from polytune.runtime.machine import machine

__all__ = ["current_threads", "maximum_threads"]


@functools.cache
def maximum_threads() -> int:
    """The largest team whose workers all run at once in this process: as many as it may keep cores busy, by its
    affinity and its container, or fewer where ``NUMBA_NUM_THREADS`` says so.  Read once."""
    return max(1, min(numba.config.NUMBA_NUM_THREADS, machine().cores))


def current_threads() -> int:
    """The largest team that a call from this thread may have: ``maximum_threads``, or fewer after
    ``numba.set_num_threads``."""
    # Numba starts its own threads when it is asked, which nobody needs who has not set anything.
    if not parallel._is_initialized:
        return maximum_threads()
    return min(numba.get_num_threads(), maximum_threads())
