"""The number of threads that work for a kernel, and what others say about that."""

from __future__ import annotations

import functools

import numba
from numba.np.ufunc import parallel

from polytune.environment import NUMBA_THREADS, OPENMP_THREADS, PYTEST_PROCESSES
from polytune.runtime.machine import machine

__all__ = ["current_threads", "first_number", "maximum_threads"]


@functools.cache
def maximum_threads() -> int:
    """The largest team whose workers all run at once in this process: as many as it may keep cores busy, by its
    affinity and its container, or fewer where ``NUMBA_NUM_THREADS`` or ``OMP_NUM_THREADS`` says so, or, where
    neither is set, pytest runs tests in several processes.  Read once."""
    allowed = [numba.config.NUMBA_NUM_THREADS, machine().cores]
    openmp = first_number(OPENMP_THREADS.text)
    if openmp is not None:
        allowed.append(openmp)
    said = NUMBA_THREADS.is_set or openmp is not None
    processes = None if said else first_number(PYTEST_PROCESSES.text)
    if processes is not None:
        allowed.append(machine().cores // processes)
    return int(max(1, min(allowed)))


def first_number(text: str) -> int | None:
    """The number in an environment variable, of a list such as ``4,2``, which OpenMP has for nested teams, the first;
    None where there is none above zero."""
    first = text.partition(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) > 0 else None


def current_threads() -> int:
    """The largest team that a call from this thread may have: ``maximum_threads``, or fewer after
    ``numba.set_num_threads``."""
    # Numba starts its own threads when it is asked, which nobody needs who has not set anything.
    if not parallel._is_initialized:
        return maximum_threads()
    return int(min(numba.get_num_threads(), maximum_threads()))
