"""How many threads work for a kernel."""

from __future__ import annotations

import numba

__all__ = ["maximum_threads"]


def maximum_threads() -> int:
    """The largest team whose workers all run at once: the threads that Numba has for this process."""
    return numba.config.NUMBA_NUM_THREADS
