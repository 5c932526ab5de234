"""Things to be done when a process forks; Windows has no forks, and nothing to be done."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from weakref import WeakSet

__all__ = ["at_fork", "renew_lock_at_fork"]


def _nothing() -> None:
    pass


def at_fork(
    *,
    before: Callable[[], object] = _nothing,
    after_in_parent: Callable[[], object] = _nothing,
    after_in_child: Callable[[], object] = _nothing,
) -> None:
    """Have functions called at each fork of this process from now on.

    Args:
        before: in the process, before it forks.
        after_in_parent: in it, afterwards.
        after_in_child: in the process that it has become.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=before, after_in_parent=after_in_parent, after_in_child=after_in_child)


_owners: WeakSet[object] = WeakSet()


def renew_lock_at_fork(owner: object) -> None:
    """Give an object another lock in each process that is forked from this one: a thread may hold the one in its
    ``_lock``, and does not exist there to release it.

    What the lock guards is then as that thread has left it, which is for the object to bear.
    """
    _owners.add(owner)


def _renew_locks() -> None:
    reentrant = type(threading.RLock())
    for owner in list(_owners):
        lock = owner._lock  # type: ignore[attr-defined]
        owner._lock = threading.RLock() if isinstance(lock, reentrant) else threading.Lock()  # type: ignore[attr-defined]


at_fork(after_in_child=_renew_locks)
