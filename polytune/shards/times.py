"""The times of calls: each shard tells when it began and ended, and the process that made the call takes that in.

With threads of this process it is told at once.  Workers of a cluster tell it by events, which Dask passes on to the
clients that have subscribed to them: nobody waits for anything.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

from polytune.records import dataclass

__all__ = ["client_of_process", "expect", "is_expected", "tell"]

_TOPIC = "polytune-shards"
_MOST_EXPECTED = 64


@dataclass
class _Expected:
    """A call of which not all shards have told their times.

    Attributes:
        shards: how many have not.
        begun, ended: of those that have, the first begin and the last end, in seconds since 1970.
        take: what the seconds of the whole call are given to.
    """

    shards: int
    begun: float
    ended: float
    take: Callable[[float], object]


_lock = threading.Lock()
_expected: dict[str, _Expected] = {}
_clients: weakref.WeakSet[Any] = weakref.WeakSet()


def expect(call: str, shards: int, take: Callable[[float], object]) -> None:
    """Have the seconds of a call taken in once all of its shards have ended.

    A call that is never computed, or only a part of it, is forgotten after some others.

    Args:
        call: what tells it from others.
        shards: how many it has.
        take: is given the seconds from when the first shard begins until the last one has ended.
    """
    _subscribe()
    with _lock:
        _expected.setdefault(call, _Expected(shards, float("inf"), float("-inf"), take))
        while len(_expected) > _MOST_EXPECTED:
            del _expected[next(iter(_expected))]


def is_expected(call: str) -> bool:
    """Return whether the times of a call have not all been told."""
    with _lock:
        return call in _expected


def tell(call: str, begun: float, ended: float) -> None:
    """Tell when a shard began and ended.

    Args:
        call: what it is a part of.
        begun, ended: in seconds since 1970.
    """
    if is_expected(call):
        _take(call, begun, ended)
    elif "distributed" in sys.modules:
        from distributed import get_worker

        with contextlib.suppress(ValueError):  # this is no worker of a cluster: nobody is told
            get_worker().log_event(_TOPIC, [call, begun, ended])


def _take(call: str, begun: float, ended: float) -> None:
    with _lock:
        found = _expected.get(call)
        if found is None:
            return
        found.shards -= 1
        found.begun, found.ended = min(found.begun, begun), max(found.ended, ended)
        if found.shards:
            return
        del _expected[call]
    found.take(max(found.ended - found.begun, 0.0))


def client_of_process() -> Any:
    """Return the client of a cluster that this process has; None where it has none."""
    if "distributed" not in sys.modules:
        return None
    import distributed

    find: Any = distributed.default_client
    try:
        return find()
    except ValueError:
        return None


def _subscribe() -> None:
    """Have the client of this process, if there is one, pass on what workers tell."""
    client = client_of_process()
    if client is not None and client not in _clients:
        client.subscribe_topic(_TOPIC, _handle)
        _clients.add(client)


def _handle(event: tuple[float, Any]) -> None:
    """Take in an event, which may come from anywhere."""
    match event[1]:
        case [str(call), float(begun), float(ended)]:
            _take(call, begun, ended)
