"""An online tuner's knowledge in a store: read once when it starts, written seconds apart and when the process ends."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from polytune.tuner.configuration import Configuration
from polytune.tuner.hierarchical import HierarchicalTuner
from polytune.tuner.ledger import Ledger
from polytune.tuner.memory import Key, Memory, RememberedMeasurement
from polytune.tuner.space import Space

_SECONDS_BETWEEN_WRITES = 5.0
_REMEMBERED_STARTS = 8
_STATE_VERSION = 1


@dataclass(frozen=True)
class Snapshot:
    """What an online tuner knows at one moment.

    Attributes:
        state: the search, as JSON keeps it.
        measured: median seconds of the configurations asked about that ran.
        failed: the reasons of those that did not.
        ledger: the account.
        converged: whether the tuner has settled.
    """

    state: dict[str, Any]
    measured: dict[Configuration, float]
    failed: dict[Configuration, str]
    ledger: Ledger
    converged: bool


class Persistence:
    """Reads and writes one tuner's knowledge under one key.

    The store holds every configuration's record, which several processes add to, and the state of the search, which
    the last one to write replaces.  A new process takes over the state and then what others have measured besides;
    where the space has changed since, the records of what is still a configuration of it.

    Args:
        store: where to.
        key: under what.
        snapshot: gives what is to be written, for the configurations measured since the last time.
    """

    def __init__(self, store: Memory, key: Key, snapshot: Callable[[Sequence[Configuration]], Snapshot]):
        self._store = store
        self._key = key
        self._snapshot = snapshot
        self._fingerprint = ""
        self._lock = threading.Lock()
        self._unsaved: dict[Configuration, int] = {}

    def load(
        self,
        space: Space,
        new_search: Callable[[Sequence[Configuration]], HierarchicalTuner],
        starts: Sequence[Configuration],
    ) -> tuple[HierarchicalTuner, Ledger, bool]:
        """The search as it was left, the account, and whether it had converged."""
        self._fingerprint = space.fingerprint
        records = [r for r in self._store.all(*self._key) if space.contains(r.configuration)]
        saved = self._store.load_search(*self._key)
        resumed = self._resume(saved, new_search)
        if resumed is None:
            ran = [r for r in records if r.status == "ok" and r.median_seconds is not None]
            best_first = [_member(space, r) for r in sorted(ran, key=lambda r: r.median_seconds or 0.0)]
            resumed = new_search([*best_first[:_REMEMBERED_STARTS], *starts]), Ledger(), False
        search = resumed[0]
        for record in records:
            configuration = _member(space, record)
            if configuration in search.measurements or configuration in search.failures:
                continue
            if record.status == "ok" and record.median_seconds is not None:
                search.remember(configuration, record.median_seconds, record.count)
            elif record.status == "failed":
                search.fail(configuration, record.reason)
        return resumed

    def _resume(
        self, saved: dict[str, Any] | None, new_search: Callable[[Sequence[Configuration]], HierarchicalTuner]
    ) -> tuple[HierarchicalTuner, Ledger, bool] | None:
        """The state as saved; None if there is none, or it is of another space or another version of polytune."""
        if saved is None or saved.get("version") != _STATE_VERSION or saved.get("space") != self._fingerprint:
            return None
        search = new_search(())
        try:
            search.restore(saved["search"])
            return search, Ledger(**saved["ledger"]), bool(saved["converged"])
        except (LookupError, TypeError, ValueError, AttributeError):
            return None  # not as we write it: the records alone are enough to go on

    def note(self, configuration: Configuration) -> None:
        """There is something new about the configuration; it will be written before long."""
        with self._lock:
            self._unsaved[configuration] = self._unsaved.get(configuration, 0) + 1
        _WRITER.schedule(self)

    def flush(self) -> None:
        """Write what has not been written yet."""
        with self._lock:
            unsaved, self._unsaved = self._unsaved, {}
        if not unsaved:
            return
        snapshot = self._snapshot(list(unsaved))
        for configuration, seconds in snapshot.measured.items():
            self._store.record(*self._key, configuration, seconds, "ok", count=unsaved[configuration])
        for configuration, reason in snapshot.failed.items():
            self._store.record(*self._key, configuration, None, "failed", reason=reason)
        state = {
            "version": _STATE_VERSION,
            "space": self._fingerprint,
            "search": snapshot.state,
            "ledger": snapshot.ledger.to_json(),
            "converged": snapshot.converged,
        }
        self._store.save_search(*self._key, state)


def _member(space: Space, record: RememberedMeasurement) -> Configuration:
    return space.configuration(**record.configuration)


class _Writer:
    """Writes for all tuners of the process, from a thread that lives only as long as there is something to write."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._waiting: set[Persistence] = set()
        self._thread: threading.Thread | None = None
        self._last = time.monotonic()
        atexit.register(self.write)
        if hasattr(os, "register_at_fork"):
            # A fork waits for the write under way: a child must not inherit a lock that the writing thread, which does
            # not live on in it, would have to release.
            release = self._writing.release
            os.register_at_fork(before=self._writing.acquire, after_in_parent=release, after_in_child=release)

    def schedule(self, persistence: Persistence) -> None:
        """Write this one's news with the next batch."""
        with self._lock:
            self._waiting.add(persistence)
            busy = self._thread is not None and self._thread.is_alive()  # a thread does not live on in a forked child
            if busy or time.monotonic() - self._last < _SECONDS_BETWEEN_WRITES:
                return
            self._last = time.monotonic()
            thread = threading.Thread(target=self.write, name="polytune-history", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the interpreter is shutting down; the exit handler writes
                return
            self._thread = thread

    def write(self) -> None:
        """Write everything that waits."""
        with self._writing:
            with self._lock:
                waiting, self._waiting = self._waiting, set()
            for persistence in waiting:
                persistence.flush()


_WRITER = _Writer()
