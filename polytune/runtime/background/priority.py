"""Work beside the application: its priority relative to the application, and how much of it is at work."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from polytune.forking import at_fork

__all__ = ["BackgroundPriority", "background_priority", "stand_behind"]

_NICENESS = 5
"""Relative to the application: beside a kernel that keeps all cores busy there is a quarter of one left on Linux.  Much
less would make compiling last for minutes, and cost no less in all."""

_BESIDE_LIBRARY = 15
"""The same beside an application that calls a library whose threads wait for each other: what one of them loses, all
lose, and calls may take five times as long.  So there is a thirtieth of a core left, and what the application leaves
idle."""


class Follower(Protocol):
    """Something that stands behind the application, and can stand farther."""

    def stand_behind(self, niceness: int) -> None:
        """Have a niceness relative to the application's, if that is more than now."""


class BackgroundPriority:
    """The priority of what compiles, in this process; it only ever falls, as systems have it."""

    def __init__(self) -> None:
        self._niceness = _NICENESS
        self._followers: weakref.WeakSet[Follower] = weakref.WeakSet()
        self._working: set[int] = set()
        at_fork(after_in_child=self._working.clear)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Count this thread, or the process that it waits for, among what is at work."""
        number = threading.get_ident()
        self._working.add(number)
        try:
            yield
        finally:
            self._working.discard(number)

    def at_work(self) -> int:
        """Return how many threads and processes compile at this moment."""
        return len(self._working)

    def lower(self, follower: Follower) -> None:
        """Have something stand behind the application from now on, and farther when that is found better."""
        self._followers.add(follower)
        follower.stand_behind(self._niceness)

    def lower_thread(self) -> None:
        """Have this thread stand behind the application's others, where threads have a priority each."""
        if sys.platform.startswith("linux"):
            stand_behind(threading.get_native_id(), self._niceness)

    def stand_farther(self) -> None:
        """Leave the cores to the library that the application calls."""
        if self._niceness == _BESIDE_LIBRARY:
            return
        self._niceness = _BESIDE_LIBRARY
        for follower in list(self._followers):
            follower.stand_behind(self._niceness)


def stand_behind(number: int, niceness: int) -> None:
    """Give a process or a thread a niceness relative to the application's; where the system cannot do that, none.

    Args:
        number: the system's, of the process or the thread.
        niceness: what is added to the application's.
    """
    with suppress(AttributeError, OSError):
        own = os.getpriority(os.PRIO_PROCESS, os.getpid())
        os.setpriority(os.PRIO_PROCESS, number, min(own + niceness, 19))


background_priority = BackgroundPriority()
"""The priority in this process."""
