"""An online tuner's knowledge in a store: read once when it starts, written seconds apart and when the process ends."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polytune.forking import at_fork, renew_lock_at_fork
from polytune.records import dataclass
from polytune.tuner.hierarchy.hierarchical import HierarchicalTuner
from polytune.tuner.historical.experience import note_experience
from polytune.tuner.historical.sources import FARTHEST, distance, sources_of
from polytune.tuner.historical.transfer import PrunedSpace, pruned_space
from polytune.tuner.ledger import Ledger
from polytune.tuner.memory import Key, Memory, RememberedMeasurement
from polytune.tuner.spaces.condition import Value
from polytune.tuner.spaces.configuration import Configuration
from polytune.tuner.spaces.space import Space

_LOGGER = logging.getLogger(__name__)

_SECONDS_BETWEEN_WRITES = 5.0
_REMEMBERED_STARTS = 8
_STATE_VERSION = 7
_STATE_VERSION_PRUNED = 8  # of a search of a part of the space, which earlier versions of polytune cannot go on with


@dataclass(frozen=True)
class Snapshot:
    """The knowledge of an online tuner at one moment.

    Attributes:
        state: the search, as JSON keeps it.
        measured: median seconds of the configurations asked about that ran.
        failed: the reasons of those that did not.
        ledger: the account.
        converged: whether the tuner has settled.
        pruned: the part of the space that is searched; None where it is the whole space.
    """

    state: dict[str, Any]
    measured: dict[Configuration, float]
    failed: dict[Configuration, str]
    ledger: Ledger
    converged: bool
    pruned: PrunedSpace | None = None


@dataclass(frozen=True)
class Beginning:
    """The beginning of a search.

    Attributes:
        search: as it was left, or a new one.
        ledger: its account.
        converged: whether it had converged.
        pruned: the part of the space that it searches; None where it is the whole space.
    """

    search: HierarchicalTuner
    ledger: Ledger
    converged: bool
    pruned: PrunedSpace | None


NewSearch = Callable[[Sequence[Configuration], PrunedSpace | None], HierarchicalTuner]
"""Makes a search that begins with some configurations, of a part of the space or of all of it."""


class Persistence:
    """Reads and writes one tuner's knowledge under one key.

    The store holds every configuration's record, which several processes add to, and the state of the search, which
    the last one to write replaces.  A new process takes over the state and then what others have measured besides;
    where the space has changed since, the records of what is still a configuration of it.  What was measured with other
    code is no measurement: the best of it is where the search starts.  Each time something is
    written, what other processes have measured meanwhile is taken over too.  Where nothing is known under the key,
    the search begins in the part of the space that measurements of other sizes and on other machines lead to, or, where
    there are few of them, from what was best for the nearest size.

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
        renew_lock_at_fork(self)
        self._unsaved: dict[Configuration, int] = {}
        self._then: Callable[[], None] = lambda: None

    def then(self, act: Callable[[], None]) -> None:
        """Have something done each time something has been written."""
        self._then = act

    def load(
        self,
        space: Space,
        new_search: NewSearch,
        starts: Sequence[Configuration],
        refused: Mapping[str, Mapping[Value, str]],
    ) -> Beginning:
        """The search as it was left, or a new one.

        Args:
            space: every choice there is.
            new_search: makes a search.
            starts: what to begin with where nothing is remembered, and else after that.
            refused: by parameter, values that are never chosen, with the reason.
        """
        self._space = space
        records = self._records()
        saved = self._store.load_search(*self._key)
        resumed = self._resume(saved, new_search)
        if resumed is None:
            ran = [(r.median_seconds, c) for c, r in records if r.status == "ok" and r.median_seconds is not None]
            best_first: Sequence[Configuration] = [c for _, c in sorted(ran, key=lambda entry: entry[0])]
            pruned = None if best_first else self._pruned(space, refused)
            if not best_first and pruned is None:
                best_first = starts_of_similar(self._store, self._key, space)
            search = new_search([*best_first[:_REMEMBERED_STARTS], *starts], pruned)
            resumed = Beginning(search, Ledger(), False, pruned)
        take_over(resumed.search, self._of_this_code(records))
        return resumed

    def _pruned(self, space: Space, refused: Mapping[str, Mapping[Value, str]]) -> PrunedSpace | None:
        return pruned_space(space, sources_of(self._store, self._key, space), refused)

    def _of_this_code(
        self, records: Sequence[tuple[Configuration, RememberedMeasurement]]
    ) -> list[tuple[Configuration, RememberedMeasurement]]:
        return [(configuration, record) for configuration, record in records if record.code == self._code]

    def _records(self) -> list[tuple[Configuration, RememberedMeasurement]]:
        """Return what is known under the key of configurations of the space."""
        records = [record for record in self._store.all(*self._key) if self._space.contains(record.configuration)]
        return [(self._space.configuration(**record.configuration), record) for record in records]

    def _resume(self, saved: dict[str, Any] | None, new_search: NewSearch) -> Beginning | None:
        """The state as saved; None if there is none, or it is of another space, other code or another version of
        polytune."""
        wanted = {"space": self._space.fingerprint, "code": self._code}
        if saved is None or any(saved.get(name) != value for name, value in wanted.items()):
            return None
        if saved.get("version") != (_STATE_VERSION if saved.get("pruned") is None else _STATE_VERSION_PRUNED):
            return None
        try:
            pruned = None if saved.get("pruned") is None else PrunedSpace.from_json(saved["pruned"])
            search = new_search((), pruned)
            search.restore(saved["search"])
            return Beginning(search, Ledger.from_json(saved["ledger"]), bool(saved["converged"]), pruned)
        except Exception:
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
        """Write as `flush` does, for whoever sees to it that one thread writes at a time.

        What cannot be written, by a defect, is told to the logger, and written with what comes next.
        """
        with self._lock:
            unsaved, self._unsaved = self._unsaved, {}
        if not unsaved:
            return
        try:
            self._write(unsaved)
        except Exception:
            _LOGGER.warning("what was measured of %s could not be written", self._key, exc_info=True)
            with self._lock:
                for configuration, count in unsaved.items():
                    self._unsaved[configuration] = self._unsaved.get(configuration, 0) + count
            return
        try:
            self._then()
        except Exception:
            _LOGGER.warning("what follows from what was measured of %s was not kept", self._key, exc_info=True)

    def _write(self, unsaved: Mapping[Configuration, int]) -> None:
        """Write what is known of configurations, each with how many measurements of it are new."""
        snapshot = self._snapshot(list(unsaved))
        for configuration, seconds in snapshot.measured.items():
            self._store.record(*self._key, configuration, seconds, "ok", count=unsaved[configuration], code=self._code)
        for configuration, reason in snapshot.failed.items():
            self._store.record(*self._key, configuration, None, "failed", reason=reason, code=self._code)
        state = {
            "version": _STATE_VERSION if snapshot.pruned is None else _STATE_VERSION_PRUNED,
            "space": self._space.fingerprint,
            "code": self._code,
            "pruned": None if snapshot.pruned is None else snapshot.pruned.to_json(),
            "search": snapshot.state,
            "ledger": snapshot.ledger.to_json(),
            "converged": snapshot.converged,
        }
        self._store.save_search(*self._key, state)
        note_experience(self._store, self._key, snapshot.ledger)
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
        # A fork waits for the write under way: a child must not inherit a lock that the writing thread, which does not
        # live on in it, would have to release.
        release = self.writing.release
        at_fork(before=self.writing.acquire, after_in_parent=release, after_in_child=self._begin_in_child)

    def _begin_in_child(self) -> None:
        self._lock, self._thread = threading.Lock(), None
        self.writing.release()

    def schedule(self, persistence: Persistence) -> None:
        """Write this one's news with the next batch."""
        with self._lock:
            self._waiting.add(persistence)
            if self._thread is not None:  # it looks, under the lock, for what waits before it ends
                return
            if time.monotonic() - self._last < _SECONDS_BETWEEN_WRITES:
                return
            thread = threading.Thread(target=self._write_all, name="polytune-history", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the interpreter is shutting down; the exit handler writes
                return
            self._thread = thread

    def _write_all(self) -> None:
        """Write what waits, and what has come meanwhile, until nothing does."""
        try:
            while True:
                self.write()
                with self._lock:
                    self._last = time.monotonic()
                    if not self._waiting:
                        self._thread = None
                        return
                time.sleep(_SECONDS_BETWEEN_WRITES)
        except BaseException:
            with self._lock:
                self._thread = None  # what comes next has another one
            raise

    def write(self) -> None:
        """Write everything that waits."""
        with self.writing:
            with self._lock:
                waiting, self._waiting = self._waiting, set()
            for persistence in waiting:
                persistence.write()


_WRITER = _StateWriter()


_MOST_STARTS = 3


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
    if nearest is None or distance(nearest, key.shape) > FARTHEST:
        return ()
    ranked = sorted(found[nearest], key=lambda record: record.median_seconds or 0.0)
    return [space.configuration(**record.configuration) for record in ranked[:_MOST_STARTS]]
