"""A history on a server, with this machine's file beside it for when the server cannot be reached."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from polytune.errors import CacheWarning, HistoryUnavailableError
from polytune.forking import at_fork
from polytune.history.local import LocalHistory
from polytune.history.outbox import Outbox
from polytune.history.server import Server

__all__ = ["SharedHistory"]

Result = TypeVar("Result")

_SECONDS_TO_COLLECT = 2.0  # in which writes become a batch, where nothing is read before
_SHORTEST_PAUSE = 2.0  # between a failure and the next attempt
_LONGEST_PAUSE = 60.0
_LIVING: weakref.WeakSet[SharedHistory] = weakref.WeakSet()


class SharedHistory:
    """Rows on a server, which reading asks first of all.

    What is written goes to this machine's file and to the outbox, and from there to the server: before anything is
    read, when the history is closed, and some seconds later in a thread.  While the server cannot be reached, this
    machine's file answers, and nothing asks the server again before a pause is over; one `CacheWarning` says so.

    Args:
        address: of the server.
        path: this machine's file.

    Raises:
        HistoryError: the address cannot be read.
        MissingLibraryError: SQLAlchemy or the driver is not installed.
    """

    def __init__(self, address: str, path: Path):
        self.server = Server(address)
        self.local = LocalHistory(path)
        digest = hashlib.sha256(self.server.place.encode()).hexdigest()[:12]
        self.outbox = Outbox(path.with_name(f"outbox-{digest}.sqlite"))
        self._pause = 0.0
        self._asks_again = 0.0  # when, by the monotonic clock
        self._is_told = False
        self.renew_locks()
        _LIVING.add(self)

    def renew_locks(self) -> None:
        """Take new locks, in a process that was forked while a thread may have held the old ones."""
        self._sending = threading.Lock()
        self._thread_lock = threading.Lock()
        self._thread: threading.Thread | None = None
        for each in (self.server, self.local.database, self.outbox.database):
            each.renew_locks()

    @property
    def place(self) -> str:
        """Return the server's address, without a password."""
        return self.server.place

    @property
    def path(self) -> Path:
        """Return where this machine's file is, or should be."""
        return self.local.path

    @property
    def in_memory(self) -> bool:
        """Return whether nothing of what is written outlives this process, while the server cannot be reached."""
        return self.outbox.database.in_memory

    # ---- writing

    def record(self, values: Mapping[str, Any]) -> None:
        """Add to the record of one configuration.

        Args:
            values: a column's value each, with ``seconds`` in place of those for the best and the median.
        """
        self.local.record(values)
        self._put("record", values)

    def save_search(self, values: Mapping[str, Any]) -> None:
        """Replace the state of a search by a row."""
        self.local.save_search(values)
        self._put("search", values)

    def _put(self, kind: str, values: Mapping[str, Any]) -> None:
        self.outbox.put(kind, [values])
        self._send_later(_SECONDS_TO_COLLECT)

    def add(self, several: Iterable[Mapping[str, Any]]) -> int:
        """Take in rows of another history where nothing newer is known.  Return how many were taken in.

        Raises:
            HistoryUnavailableError: the server cannot be reached; nothing was taken in.
        """
        return self.server.add(list(several))

    def clear(self, kernel: str | None) -> int:
        """Delete everything, or all of one kernel, on the server and here.  Return how many configurations had a
        record.

        Raises:
            HistoryUnavailableError: the server cannot be reached; nothing was deleted.
        """
        self.send()
        deleted = self.server.clear(kernel)
        self.outbox.forget(kernel)
        self.local.clear(kernel)
        return deleted

    # ---- reading

    def rows(self, kernel: str | None, shape: str | None, machine: str | None) -> list[tuple[Any, ...]]:
        """The rows of a kernel, a shape, a machine, the fastest of each first.

        Args:
            kernel, shape, machine: which; None for all.
        """
        key = (kernel, shape, machine)
        return self._read(lambda: self.server.rows(*key), lambda: self.local.rows(*key))

    def load_search(self, kernel: str, shape: str, machine: str) -> str | None:
        """The text of the state that was saved last; None where there is none.

        Args:
            kernel, shape, machine: what the search is for.
        """
        key = (kernel, shape, machine)
        return self._read(lambda: self.server.load_search(*key), lambda: self.local.load_search(*key))

    def counts(self) -> tuple[Any, ...]:
        """The numbers of kernels, pairs of kernel and shape, measurements and failures, and the last change."""
        return self._read(lambda: self.server.counts()[:5], self.local.counts)

    def size(self) -> int | None:
        """Return how many bytes the tables have; None where the server cannot be reached."""
        return self._read(lambda: int(self.server.counts()[5]), lambda: None)

    def _read(self, asked: Callable[[], Result], instead: Callable[[], Result]) -> Result:
        if not self.send():
            return instead()
        try:
            return asked()
        except HistoryUnavailableError as error:
            self._failed(error)
            return instead()

    # ---- sending

    def send(self, *, at_once: bool = False) -> bool:
        """Send what waits.  Return whether the server can be reached, as far as is known.

        Args:
            at_once: whether it is tried although the pause since the last failure is not over.
        """
        with self._sending:
            if time.monotonic() < self._asks_again and not at_once:
                return False
            while (batch := self.outbox.take()) is not None:
                try:
                    refused = self.server.send(batch)
                except HistoryUnavailableError as error:
                    self.outbox.release(batch)
                    self._failed(error)
                    return False
                except BaseException:
                    self.outbox.release(batch)
                    raise
                self._pause, self._is_told = 0.0, False
                if refused:
                    self.outbox.refuse(batch, refused)
                    warnings.warn(
                        f"the history {self.place} does not take {len(refused)} of the measurements; they are kept in "
                        f"{self.outbox.database.path}",
                        CacheWarning,
                        stacklevel=2,
                    )
                else:
                    self.outbox.done(batch)
            return True

    def _failed(self, error: HistoryUnavailableError) -> None:
        """Pause, and say once that the server cannot be reached."""
        self._pause = min(max(2 * self._pause, _SHORTEST_PAUSE), _LONGEST_PAUSE)
        self._asks_again = time.monotonic() + self._pause
        self._send_later(self._pause)
        if not self._is_told:
            self._is_told = True
            warnings.warn(
                f"the history {self.place} cannot be used ({error}); what is measured is kept in "
                f"{self.outbox.database.path} and sent once it can be. Start the server, or set POLYTUNE_HISTORY to "
                "another history.",
                CacheWarning,
                stacklevel=3,
            )

    def _send_later(self, seconds: float) -> None:
        """Send in a thread, which lives only while something waits.

        Args:
            seconds: how long it waits before, so that what is written meanwhile goes with it.
        """
        with self._thread_lock:
            if self._thread is not None and self._thread.is_alive():
                return
            thread = threading.Thread(
                target=_send_until_done, args=(weakref.ref(self), seconds), name="polytune-outbox", daemon=True
            )
            with contextlib.suppress(RuntimeError):  # the interpreter ends, and sends at its exit
                thread.start()
                self._thread = thread

    def seconds_to_wait(self) -> float | None:
        """Return how long the thread waits before it sends again; None where nothing waits for it."""
        with self._thread_lock:
            if self.outbox.waiting():
                return max(self._asks_again - time.monotonic(), _SECONDS_TO_COLLECT)
            self._thread = None  # what is put from now on starts another one
            return None

    def check(self) -> None:
        """See to it that the server has all that was written.

        Raises:
            HistoryUnavailableError: it cannot be reached.
        """
        self.server.counts()
        self.send(at_once=True)

    def close(self) -> None:
        """Send what waits, and close files and connections; they are opened again when needed."""
        if self.outbox.waiting():
            self.send()
        self.outbox.close()
        self.local.close()
        self.server.close()


def _send_until_done(reference: weakref.ref[SharedHistory], seconds: float | None) -> None:
    """Send what waits, again and again, until nothing does or nobody has the history any more."""
    while seconds is not None:
        time.sleep(seconds)
        history = reference()
        if history is None:
            return
        with contextlib.suppress(CacheWarning):  # where warnings are errors, one in a thread would reach nobody
            history.send()
        seconds = history.seconds_to_wait()
        del history


@atexit.register
def _close_all() -> None:
    for history in list(_LIVING):
        with contextlib.suppress(Exception):  # the interpreter ends: what was not sent is sent by the next process
            history.close()


def _renew_all_locks() -> None:
    for history in list(_LIVING):
        history.renew_locks()


at_fork(after_in_child=_renew_all_locks)
