"""The threads of the libraries that NumPy and SciPy have for linear algebra, beside what is compiled meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from polytune.forking import at_fork, renew_lock_at_fork
from polytune.runtime.background.priority import background_priority

__all__ = ["LibraryThreads", "library_threads"]


class LibraryThreads:
    """Keeps the libraries' threads off the cores on which something is compiled; safe to use from several threads.

    A thread of OpenBLAS that waits for another offers its core to whatever else would run there (``sched_yield``), and
    since Linux 6.18 gives up the rest of its time with that.  So what compiles has the core for milliseconds whatever
    its priority is, and a system of 200 equations, which waits for threads some hundred times, takes ten times as long.

    Args:
        at_work: how many threads and processes compile at this moment.
    """

    def __init__(self, at_work: Callable[[], int]) -> None:
        self._at_work = at_work
        self._lock = threading.Lock()
        self._calls = 0
        self._limit: Any = None
        self._libraries: Any = None
        renew_lock_at_fork(self)
        at_fork(after_in_child=self._end)

    @contextmanager
    def off_busy_cores(self) -> Iterator[None]:
        """Have as many threads fewer as there are workers that compile, and one at least, until a call is over.

        The limit holds in the whole process, as the libraries have it, from the first of the calls that are made at the
        same time to the end of the last.
        """
        busy = self._at_work()
        if not busy and not self._calls:
            yield
            return
        self._begin(busy)
        try:
            yield
        finally:
            with self._lock:
                self._calls -= 1
                if not self._calls:
                    self._end()

    def _begin(self, busy: int) -> None:
        with self._lock:
            self._calls += 1
            if self._limit is not None:
                return
            if self._libraries is None:
                from threadpoolctl import ThreadpoolController

                self._libraries = ThreadpoolController().select(user_api="blas")
            threads = max((each.num_threads for each in self._libraries.lib_controllers), default=1)
            if threads > 1:
                self._limit = self._libraries.limit(limits=max(1, threads - busy))

    def _end(self) -> None:
        """Give the libraries back what they had; in a forked process, where the calls under way are not."""
        limit, self._limit = self._limit, None
        self._calls = 0
        if limit is not None:
            limit.restore_original_limits()


library_threads = LibraryThreads(background_priority.at_work)
"""The threads of this process's libraries."""
