"""The versions of kernels that take long to look for, made by a process beside the application.

A thread of the application's starts the process when such versions are likely to be wanted, and ends it when none have
been wanted for a while; it never outlives the application.  What the process does not make, as it cannot be started or
has been killed, is made by the next call.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Generic, TypeVar

from polytune.runtime.background.executor import ProcessExecutor
from polytune.runtime.background.priority import background_priority
from polytune.runtime.background.process import WorkerError, WorkerProcess

__all__ = ["DeferredVersions", "VersionMaker", "version_maker"]

_LOGGER = logging.getLogger(__name__)

_MODULE = "polytune.deferred.worker"

_LONGEST = 600.0
"""The seconds after which a process that has not answered is ended: far more than a kernel's versions may take, beside
an application that leaves it a thirtieth of a core too."""

_IDLE_SECONDS = 5.0
"""The seconds for which the process waits for another kernel before it ends: it takes less than one to start."""


_PATIENCE = 3.0
"""The seconds after which calls leave a core to the process.  Beside a kernel that keeps all cores busy it has a
quarter of one, and needs one for some two seconds: so tuning would begin after eight.  Calls lose as much in all, but
sooner, and programs that end meanwhile have lost it for nothing: so it is not done before."""


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
        self._since = time.monotonic()

    @property
    def are_lost(self) -> bool:
        """Return whether nobody makes them: this process was forked from the one where they were wanted."""
        return self._process != os.getpid()

    def are_overdue(self) -> bool:
        """Return whether they have been waited for so long that calls are to leave a core to what makes them."""
        return time.monotonic() > self._since + _PATIENCE

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

    def are_taken_within(self, seconds: float) -> bool:
        """Wait until they have been taken, or given up, but no longer than so many seconds after they were first
        wanted.  Return whether that was in time; so too where nobody makes them."""
        return self.are_lost or self._is_taken.wait(max(0.0, self._since + seconds - time.monotonic()))


class VersionMaker(ProcessExecutor[tuple[bytes, Future[str]]]):
    """Has versions made by a process, of one kernel after the other; safe to use from several threads.

    Args:
        idle_seconds: how long the process waits for more before it ends.
    """

    def __init__(self, idle_seconds: float = _IDLE_SECONDS):
        super().__init__("polytune-versions", idle_seconds)

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._under_way = 0

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

    def expect(self) -> None:
        """Have the process started, as versions are likely to be wanted before long: its imports take half a second."""
        with self._lock:
            if self.is_usable:
                self._have_thread()

    def _is_busy(self) -> bool:
        return self._under_way > 0

    def _before_work(self) -> None:
        with suppress(Exception):  # who wants versions is told
            self._started_process()

    def _new_process(self) -> WorkerProcess:
        process = WorkerProcess(_MODULE)
        background_priority.lower(process)
        return process

    def _do(self, item: tuple[bytes, Future[str]]) -> None:
        packed, text = item
        start = time.perf_counter()
        failure: Exception | None = None
        made = ""
        try:
            made = self._started_process().versions_of(packed, _LONGEST)
        except Exception as error:
            failure = error
            self._end_process()
        with self._lock:
            self._under_way -= 1
        if failure is not None:
            text.set_exception(failure)
            return
        _LOGGER.info("versions made beside the application in %.3f s", time.perf_counter() - start)
        text.set_result(made)


version_maker = VersionMaker()
"""The maker of this process; nothing is started before something is asked of it."""
