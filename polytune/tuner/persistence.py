"""An online tuner's knowledge in a store: read once when it starts, written seconds apart and when the process ends."""

from __future__ import annotations

import atexit
import math
import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from polytune.records import dataclass
from polytune.tuner.hierarchy.hierarchical import HierarchicalTuner
from polytune.tuner.ledger import Ledger
from polytune.tuner.memory import Key, Memory, RememberedMeasurement
from polytune.tuner.spaces.configuration import Configuration
from polytune.tuner.spaces.space import Space

_SECONDS_BETWEEN_WRITES = 5.0
_REMEMBERED_STARTS = 8
_STATE_VERSION = 7


@dataclass(frozen=True)
class Snapshot:
    """The knowledge of an online tuner at one moment.

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
    where the space has changed since, the records of what is still a configuration of it.  What was measured with other
    code is no measurement: the best of it is where the search starts.  Each time something is
    written, what other processes have measured meanwhile is taken over too.  Where nothing is known under the key,
    the search starts from what was best for the nearest size.

    Args:
        store: where to.
        key: under what.
        snapshot: gives what is to be written, for the configurations measured since the last time.
        learn: takes what other processes have measured, a configuration and its record each.
        code: tells the code that is measured from other code of the same kernel.
    """

    def __init__(
        self,
        store: Memory,
        key: Key,
        snapshot: Callable[[Sequence[Configuration]], Snapshot],
        learn: Callable[[Sequence[tuple[Configuration, RememberedMeasurement]]], None],
        code: str = "",
    ):
        self._store = store
        self._key = key
        self._snapshot = snapshot
        self._learn = learn
        self._code = code
        self._space = Space([])
        self._lock = threading.Lock()
        self._unsaved: dict[Configuration, int] = {}

    def load(
        self,
        space: Space,
        new_search: Callable[[Sequence[Configuration]], HierarchicalTuner],
        starts: Sequence[Configuration],
    ) -> tuple[HierarchicalTuner, Ledger, bool]:
        """The search as it was left, the account, and whether it had converged.

        Args:
            space: every choice there is.
            new_search: makes a search that begins with some configurations.
            starts: what to begin with where nothing is remembered, and else after that.
        """
        self._space = space
        records = self._records()
        saved = self._store.load_search(*self._key)
        resumed = self._resume(saved, new_search)
        if resumed is None:
            ran = [(r.median_seconds, c) for c, r in records if r.status == "ok" and r.median_seconds is not None]
            best_first: Sequence[Configuration] = [c for _, c in sorted(ran, key=lambda entry: entry[0])]
            if not best_first:
                best_first = starts_of_similar(self._store, self._key, space)
            resumed = new_search([*best_first[:_REMEMBERED_STARTS], *starts]), Ledger(), False
        take_over(resumed[0], self._of_this_code(records))
        return resumed

    def _of_this_code(
        self, records: Sequence[tuple[Configuration, RememberedMeasurement]]
    ) -> list[tuple[Configuration, RememberedMeasurement]]:
        return [(configuration, record) for configuration, record in records if record.code == self._code]

    def _records(self) -> list[tuple[Configuration, RememberedMeasurement]]:
        """Return what is known under the key of configurations of the space."""
        records = [record for record in self._store.all(*self._key) if self._space.contains(record.configuration)]
        return [(self._space.configuration(**record.configuration), record) for record in records]

    def _resume(
        self, saved: dict[str, Any] | None, new_search: Callable[[Sequence[Configuration]], HierarchicalTuner]
    ) -> tuple[HierarchicalTuner, Ledger, bool] | None:
        """The state as saved; None if there is none, or it is of another space, other code or another version of
        polytune."""
        wanted = {"version": _STATE_VERSION, "space": self._space.fingerprint, "code": self._code}
        if saved is None or any(saved.get(name) != value for name, value in wanted.items()):
            return None
        search = new_search(())
        try:
            search.restore(saved["search"])
            return search, Ledger.from_json(saved["ledger"]), bool(saved["converged"])
        except (LookupError, TypeError, ValueError, AttributeError):
            return None  # not as we write it: the records alone are enough to go on

    def note(self, configuration: Configuration) -> None:
        """Note that there is something new about the configuration; it will be written before long."""
        with self._lock:
            self._unsaved[configuration] = self._unsaved.get(configuration, 0) + 1
        _WRITER.schedule(self)

    def flush(self) -> None:
        """Write what has not been written yet, waiting for what is being written, and read what others have written."""
        with _WRITER.writing:
            self.write()

    def write(self) -> None:
        """Write as `flush` does, for whoever sees to it that one thread writes at a time."""
        with self._lock:
            unsaved, self._unsaved = self._unsaved, {}
        if not unsaved:
            return
        snapshot = self._snapshot(list(unsaved))
        for configuration, seconds in snapshot.measured.items():
            self._store.record(*self._key, configuration, seconds, "ok", count=unsaved[configuration], code=self._code)
        for configuration, reason in snapshot.failed.items():
            self._store.record(*self._key, configuration, None, "failed", reason=reason, code=self._code)
        state = {
            "version": _STATE_VERSION,
            "space": self._space.fingerprint,
            "code": self._code,
            "search": snapshot.state,
            "ledger": snapshot.ledger.to_json(),
            "converged": snapshot.converged,
        }
        self._store.save_search(*self._key, state)
        self._learn(self._of_this_code(self._records()))


def take_over(search: HierarchicalTuner, records: Sequence[tuple[Configuration, RememberedMeasurement]]) -> None:
    """Have a search know what others have measured and it has not."""
    for configuration, record in records:
        if configuration in search.measurements or configuration in search.failures:
            continue
        if record.status == "ok" and record.median_seconds is not None:
            search.remember(configuration, record.median_seconds, record.count)
        elif record.status == "failed":
            search.fail(configuration, record.reason)


class _StateWriter:
    """Writes for all tuners of the process, from a thread that lives only as long as there is something to write.

    Attributes:
        writing: held while something is written, so that states are written in the order in which they were taken.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.writing = threading.Lock()
        self._waiting: set[Persistence] = set()
        self._thread: threading.Thread | None = None
        self._last = time.monotonic()
        atexit.register(self.write)
        if hasattr(os, "register_at_fork"):
            # A fork waits for the write under way: a child must not inherit a lock that the writing thread, which does
            # not live on in it, would have to release.
            release = self.writing.release
            os.register_at_fork(before=self.writing.acquire, after_in_parent=release, after_in_child=release)

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
        with self.writing:
            with self._lock:
                waiting, self._waiting = self._waiting, set()
            for persistence in waiting:
                persistence.write()


_WRITER = _StateWriter()


_SIZE = re.compile(r"(\w+)=(-?\d+)")
_MOST_STARTS = 3
_FARTHEST = math.log(64)  # beyond, what was best says little


def distance(first: str, second: str) -> float:
    """Return how far two classes of inputs are apart: the Euclidean distance of the logarithms of their sizes.

    Args:
        first, second: texts with sizes in the form ``name=number``, as kernels are remembered under.

    Returns:
        Infinity where anything but the numbers differs.
    """
    if _SIZE.sub(r"\1=", first) != _SIZE.sub(r"\1=", second):
        return math.inf
    sizes = [[abs(int(number)) for _, number in _SIZE.findall(text)] for text in (first, second)]
    return math.dist(*([math.log1p(size) for size in listed] for listed in sizes))


def starts_of_similar(store: Memory, key: Key, space: Space) -> Sequence[Configuration]:
    """The best configurations of the nearest size remembered for the kernel on this machine, the best first.

    Args:
        store: what remembers.
        key: the class of inputs; those of its kernel and machine are looked at.
        space: what the configurations must be members of.
    """
    found: dict[str, list[RememberedMeasurement]] = {}
    for record in store.all(key.kernel, None, key.machine):
        if record.status == "ok" and record.median_seconds is not None and space.contains(record.configuration):
            found.setdefault(record.shape, []).append(record)
    nearest = min(found, key=lambda shape: distance(shape, key.shape), default=None)
    if nearest is None or distance(nearest, key.shape) > _FARTHEST:
        return ()
    ranked = sorted(found[nearest], key=lambda record: record.median_seconds or 0.0)
    return [space.configuration(**record.configuration) for record in ranked[:_MOST_STARTS]]
