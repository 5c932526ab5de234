"""Launching compiled parallel functions from Python, with a thread count of their own.

Numba runs parallel functions on one of three layers.  TBB and OpenMP may be entered by several Python threads at once;
``workqueue``, which is always there, aborts the process then, so launches on it take turns.

After ``fork`` GNU OpenMP cannot go on: Numba ends a child process that tries.  Such a launch is refused here.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numba

from polytune.errors import PolytuneError

__all__ = ["launch", "maximum_threads", "threading_layer"]

Result = TypeVar("Result")


class _Launcher:
    """What is known of this process's threading layer."""

    def __init__(self) -> None:
        self.layer: str | None = None
        self.turn = threading.RLock()
        self.broken_by_fork = False

    def known_layer(self) -> str | None:
        """The layer, or None while Numba has started none."""
        if self.layer is None:
            try:
                self.layer = numba.threading_layer()
            except ValueError:
                return None
        return self.layer

    def after_fork_in_child(self) -> None:
        # Another thread may have held the lock in the parent; that thread does not exist here.
        self.turn = threading.RLock()
        self.broken_by_fork = self.broken_by_fork or (sys.platform == "linux" and self.known_layer() == "omp")


def maximum_threads() -> int:
    """The largest team whose workers all run at once: the threads that Numba has for this process."""
    return numba.config.NUMBA_NUM_THREADS


def threading_layer() -> str:
    """Numba's threading layer, "tbb", "omp" or "workqueue"; started if need be."""
    numba.get_num_threads()
    return _launcher.known_layer() or "unknown"


def launch(function: Callable[..., Result], threads: int, *arguments: Any) -> Result:
    """Call a compiled parallel function as ``function(threads, *arguments)``, its ``prange`` on that many threads.

    The calling thread's own setting of ``numba.set_num_threads`` is the same after the call as before.

    Args:
        function: a Numba function with ``parallel=True`` whose first parameter is the team's size.
        threads: from 1 to ``maximum_threads()``.
        arguments: the rest of its arguments.

    Raises:
        PolytuneError: the process was forked from one that had already run parallel code on GNU OpenMP.
        ValueError: ``threads`` is out of range.
    """
    if _launcher.broken_by_fork:
        raise PolytuneError(
            "this process was forked from one that had already started Numba's OpenMP threads, which GNU OpenMP does "
            "not survive; start processes by multiprocessing's 'spawn' or 'forkserver', or choose another threading "
            "layer (environment variable NUMBA_THREADING_LAYER=workqueue, or tbb with the package tbb installed)"
        )
    before = numba.get_num_threads()
    if before != threads:
        numba.set_num_threads(threads)
    try:
        if (_launcher.layer or threading_layer()) in ("omp", "tbb"):
            return function(threads, *arguments)
        with _launcher.turn:
            return function(threads, *arguments)
    finally:
        if before != threads:
            numba.set_num_threads(before)


_launcher = _Launcher()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_launcher.after_fork_in_child)
