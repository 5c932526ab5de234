"""The cores that a process may use, and threads that are kept on some of them; where a system has no such thing, all
cores, and nothing."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress

__all__ = ["allowed_cores", "count_of_cores", "keep_thread_on"]


def allowed_cores() -> frozenset[int]:
    """Return the numbers of the cores that this process may use; none where the system does not say (macOS,
    Windows)."""
    return frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset()


def count_of_cores() -> int:
    """Return how many cores this process may use: all that there are, where the system does not say."""
    return len(allowed_cores()) or os.cpu_count() or 1


def keep_thread_on(thread: int, cores: Collection[int]) -> None:
    """Keep a thread on some cores, where the system can do that and the process may use them.

    Args:
        thread: the number that the system has for it.
        cores: their numbers.
    """
    if cores and hasattr(os, "sched_setaffinity"):
        with suppress(OSError):  # the process was moved to other cores
            os.sched_setaffinity(thread, cores)
