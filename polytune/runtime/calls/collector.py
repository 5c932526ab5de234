"""Python's collector of cyclic garbage, and how to do without it for a while."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from polytune.forking import at_fork

__all__ = ["collector_paused"]


class _Pauses:
    """The number of pauses that there are now, in all threads, and whether the collector was on before the first of
    them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self.was_enabled = False


_pauses = _Pauses()


def _end_in_child() -> None:
    """Have the collector on in a forked process, where the threads do not exist that had it at rest."""
    if _pauses.count and _pauses.was_enabled:
        gc.enable()
    _pauses.lock, _pauses.count = threading.Lock(), 0


at_fork(after_in_child=_end_in_child)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Compile with the collector at rest, in all threads.

    Compilers make many objects that live on, and so make the collector look through all that the application has, again
    and again, for next to nothing: a fifth of the time of a first call.
    """
    with _pauses.lock:
        if _pauses.count == 0:
            _pauses.was_enabled = gc.isenabled()
            gc.disable()
        _pauses.count += 1
    try:
        yield
    finally:
        with _pauses.lock:
            _pauses.count = max(0, _pauses.count - 1)  # none are left in a process that was forked meanwhile
            if _pauses.count == 0 and _pauses.was_enabled:
                gc.enable()
