"""The versions of kernels that take long to look for, made by a process beside the application.

A thread of the application's starts the process when such versions are first wanted, and ends it when none have been
wanted for a while; it never outlives the application.  What the process does not make, as it cannot be started or has
been killed, is made by the next call.
"""

from __future__ import annotations

import atexit
import logging
import os
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from polytune.forking import at_fork
from polytune.runtime.background.process import WorkerError, WorkerProcess

__all__ = ["DeferredVersions", "VersionMaker", "version_maker"]

_LOGGER = logging.getLogger(__name__)

_MODULE = "polytune.deferred.worker"

_LONGEST = 120.0
"""The seconds after which a process that has not answered is ended: far more than a kernel's versions may take."""

_IDLE_SECONDS = 5.0
"""The seconds for which the process waits for another kernel before it ends: it takes less than one to start."""


Made = TypeVar("Made")


class DeferredVersions(Generic[Made]):
    """All versions of a kernel, which calls go on without until they are there.

    Args:
        text: the text of their module, or what has become of it.
        kernel: makes the kernel of such a text.

    Attributes:
        case: the class of the last call that went on without them.
    """

    def __init__(self, text: Future[str], kernel: Callable[[str], Made]):
        self.case: Any = None
        self._text, self._kernel = text, kernel
        self._is_taken = threading.Event()
        self._process = os.getpid()

    @property
    def are_lost(self) -> bool:
        """Return whether nobody makes them: this process was forked from the one where they were wanted."""
        return self._process != os.getpid()

    def then(self, take: Callable[[Made | None], None]) -> None:
        """Have the kernel with all versions taken, as soon as it is there; None where it cannot be made here."""
        self._text.add_done_callback(lambda _: self._pass_on(take))

    def _pass_on(self, take: Callable[[Made | None], None]) -> None:
        found: Made | None = None
        try:
            try:
                found = self._kernel(self._text.result())
            except Exception as error:  # a call makes them, or says what is wrong
                _LOGGER.info("versions could not be made beside the application: %s", error)
            take(found)
        finally:
            self._is_taken.set()

    def wait(self) -> None:
        """Wait until they have been taken, or given up."""
        if not self.are_lost:
            self._is_taken.wait()


class VersionMaker:
    """Has versions made by a process, of one kernel after the other; safe to use from several threads."""

    def __init__(self, idle_seconds: float = _IDLE_SECONDS):
        """
        Args:
            idle_seconds: how long the process waits for more before it ends.
        """
        self._idle_seconds = idle_seconds
        self._process: WorkerProcess | None = None
        self._begin_anew()
        atexit.register(self.close)
        at_fork(after_in_child=self._after_fork_in_child)

    def _begin_anew(self) -> None:
        self._lock = threading.Lock()
        self._waiting: queue.SimpleQueue[tuple[bytes, Future[str]]] = queue.SimpleQueue()
        self._under_way = 0
        self._thread: threading.Thread | None = None
        self.is_usable = True

    def _after_fork_in_child(self) -> None:
        # The thread does not exist here, locks may be held by threads that do not, and the process is the parent's.
        if self._process is not None:
            self._process.disown()
        self._process = None
        self._begin_anew()

    def make(self, packed: bytes) -> Future[str]:
        """Have the versions of a kernel made; gives the text of their module.

        Args:
            packed: the kernel, as ``polytune.deferred.packing`` has it.
        """
        text: Future[str] = Future()
        with self._lock:
            if not (self.is_usable and self._have_thread()):
                text.set_exception(WorkerError("the application ends"))
                return text
            self._under_way += 1
            self._waiting.put((packed, text))
        return text

    def close(self) -> None:
        """End the process, whatever it is doing; from now on nothing is made."""
        with self._lock:
            self.is_usable = False
            process, self._process = self._process, None
        if process is not None:
            process.end()

    def _have_thread(self) -> bool:
        """Return whether there is a thread that talks to the process, started now if need be; the lock is held."""
        if self._thread is None:
            thread = threading.Thread(target=self._work, name="polytune-versions", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the interpreter is about to end, or there are too many threads
                return False
            self._thread = thread
        return True

    def _work(self) -> None:
        """Have made what is wanted, until nothing has been for a while."""
        while True:
            try:
                packed, text = self._waiting.get(timeout=self._idle_seconds)
            except queue.Empty:
                if self._has_rest():
                    return
                continue
            start = time.perf_counter()
            try:
                made = self._made(packed)
            except Exception as error:
                with self._lock:
                    process, self._process = self._process, None
                    self._under_way -= 1
                if process is not None:
                    process.end()
                text.set_exception(error)
            else:
                with self._lock:
                    self._under_way -= 1
                _LOGGER.info("versions made beside the application in %.3f s", time.perf_counter() - start)
                text.set_result(made)

    def _made(self, packed: bytes) -> str:
        with self._lock:
            if not self.is_usable:
                raise WorkerError("the application ends")
            process, is_new = self._process, self._process is None
            if process is None:
                process = self._process = WorkerProcess(_MODULE)
                process.lower_priority()
                process.lower_priority()
        if is_new:
            process.wait_until_ready()
        return process.versions_of(packed, _LONGEST)

    def _has_rest(self) -> bool:
        """End the thread and the process unless something is wanted by now.  Return whether they have ended."""
        with self._lock:
            if self._under_way:
                return False
            self._thread = None
            process, self._process = self._process, None
        if process is not None:
            process.end()
        return True


version_maker = VersionMaker()
"""The maker of this process; nothing is started before something is asked of it."""
