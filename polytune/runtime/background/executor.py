"""A thread of the application's, and a process that it talks to, for as long as there is something to do.

Both are started when something is first wanted, and end when nothing has been for a while.  The process never outlives
the application; a forked application has neither.
"""

from __future__ import annotations

import atexit
import queue
import threading
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from polytune.forking import at_fork
from polytune.runtime.background.priority import background_priority
from polytune.runtime.background.process import WorkerError, WorkerProcess

__all__ = ["ProcessExecutor"]

Item = TypeVar("Item")


class ProcessExecutor(ABC, Generic[Item]):
    """Does one thing after the other in a thread, which may have a process do it; safe to use from several threads.

    Args:
        name: of the thread.
        idle_seconds: how long both wait for more before they end.

    Attributes:
        is_usable: False when nothing is done any more: the application ends, or no process can be started.
    """

    def __init__(self, name: str, idle_seconds: float):
        self._name, self._idle_seconds = name, idle_seconds
        self._process: WorkerProcess | None = None
        self._begin_anew()
        atexit.register(self.close)
        at_fork(after_in_child=self._after_fork_in_child)

    def _begin_anew(self) -> None:
        self._lock = threading.Lock()
        self._waiting: queue.SimpleQueue[Item] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self.is_usable = True

    def _after_fork_in_child(self) -> None:
        # The thread does not exist here, locks may be held by threads that do not, and the process is the parent's.
        if self._process is not None:
            self._process.disown()
        self._process = None
        self._begin_anew()

    def close(self) -> None:
        """End the process, whatever it is doing; from now on nothing is done."""
        with self._lock:
            self.is_usable = False
        self._end_process()

    @abstractmethod
    def _is_busy(self) -> bool:
        """Return whether something is waiting or being done; the lock is held."""

    @abstractmethod
    def _do(self, item: Item) -> None:
        """Do one thing, in the thread; raises nothing."""

    @abstractmethod
    def _new_process(self) -> WorkerProcess:
        """Start a process; the lock is held.

        Raises:
            WorkerError: it cannot be started.
        """

    def _before_work(self) -> None:
        """Do what the thread begins with; raises nothing."""

    def _have_thread(self) -> bool:
        """Return whether there is a thread, started now if need be; the lock is held."""
        if self._thread is None:
            thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the interpreter is about to end, or there are too many threads
                return False
            self._thread = thread
        return True

    def _work(self) -> None:
        """Do what is asked for, until there has been nothing for a while."""
        with background_priority.working():
            self._before_work()
        while True:
            try:
                item = self._waiting.get(timeout=self._idle_seconds)
            except queue.Empty:
                if self._has_rest():
                    return
                continue
            with background_priority.working():
                self._do(item)

    def _has_rest(self) -> bool:
        """End the thread and the process unless there is something to do by now.  Return whether they have ended."""
        with self._lock:
            if self._is_busy():
                return False
            self._thread = None
            process, self._process = self._process, None
        if process is not None:
            process.end()
        return True

    def _end_process(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.end()

    def _started_process(self) -> WorkerProcess:
        """The process, ready for a request.

        Raises:
            WorkerError: it cannot be started, or nothing is done any more.
        """
        with self._lock:
            if not self.is_usable:
                raise WorkerError("the application ends")
            if self._process is not None:
                return self._process
            process = self._process = self._new_process()
        try:
            process.wait_until_ready()
        except WorkerError:
            with self._lock:
                self._process = None
            raise
        return process
