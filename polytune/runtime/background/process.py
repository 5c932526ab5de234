"""The process that compiles, as the application sees it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator

from polytune.runtime.background.priority import stand_behind
from polytune.runtime.background.protocol import READY, Answer, Request

__all__ = ["WorkerError", "WorkerProcess"]

_MODULE = "polytune.runtime.background.worker"

_START_SECONDS = 120.0
"""A process that has not said a word by then is no worker: far more than its imports take on a busy machine."""


class WorkerError(Exception):
    """The process could not be started, or ended before it answered; the message says how."""


class WorkerProcess:
    """A process that compiles what it is asked to, one function at a time, or makes versions of one kernel at a time.

    Args:
        module: what it runs; by default what compiles functions.

    Raises:
        WorkerError: it cannot be started.
    """

    def __init__(self, module: str = _MODULE) -> None:
        # In an application that has Python built in, the "interpreter" is the application itself.
        if not sys.executable or getattr(sys, "frozen", False):
            raise WorkerError("there is no Python interpreter to run")
        # It has to find the same packages, wherever the application has them from, and none in the current folder.
        path = [os.path.abspath(entry) for entry in sys.path if isinstance(entry, str)]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # Without buffers there are no locks that a child of the application could inherit in a locked state.
                bufsize=0,
                # Ctrl-C is for the application, which ends this process when it ends itself.
                process_group=0 if os.name == "posix" else None,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
                creationflags=_creation_flags(),
            )
        except (OSError, ValueError) as error:
            raise WorkerError(f"it cannot be started: {error}") from error
        with contextlib.suppress(AttributeError, OSError):
            # The process inherits the scheduling of a real-time application, too.
            os.sched_setscheduler(self.pid, os.SCHED_OTHER, os.sched_param(0))
        self._niceness = 0

    def stand_behind(self, niceness: int) -> None:
        """Have a niceness relative to the application's, if that is more than now, and the process has not ended."""
        if niceness > self._niceness and self._process.poll() is None:
            self._niceness = niceness
            stand_behind(self.pid, niceness)

    @property
    def pid(self) -> int:
        """The system's number of the process."""
        return self._process.pid

    def wait_until_ready(self) -> None:
        """Wait until it has imported all that it needs.

        Raises:
            WorkerError: it ends, says something else, or says nothing for minutes; then it is ended.
        """
        try:
            with self._ended_after(_START_SECONDS):
                line = self._read()
        except (OSError, ValueError):
            line = ""
        if line.strip() != READY:
            raise WorkerError(f"it did not start ({self.end()})")

    def compile(self, request: Request) -> Answer:
        """Have a function compiled, and wait for it.

        Raises:
            WorkerError: the process has ended over it, or answers something else; then it is ended.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(request.line().encode())
            return Answer.read(self._read())
        except (OSError, ValueError) as error:
            raise WorkerError(f"the process that compiled it ended ({self.end()})") from error

    def versions_of(self, packed: bytes, seconds: float) -> str:
        """Have the versions of a kernel made, and wait for the text of its module.

        Args:
            packed: the kernel, as the process reads it.
            seconds: after how many it is ended, if it has not answered.

        Raises:
            WorkerError: the process has ended over it, or cannot make them; then it is ended.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            with self._ended_after(seconds):
                rest = memoryview(b"%d\n" % len(packed) + packed)
                while rest:
                    rest = rest[self._process.stdin.write(rest) :]
                missing = int(self._read())
                parts: list[bytes] = []
                while missing > 0:
                    parts.append(self._process.stdout.read(missing))
                    if not parts[-1]:
                        raise ValueError("the text is cut off")
                    missing -= len(parts[-1])
            return b"".join(parts).decode()
        except (OSError, ValueError) as error:
            raise WorkerError(f"the process that made versions ended ({self.end()})") from error

    @contextlib.contextmanager
    def _ended_after(self, seconds: float) -> Iterator[None]:
        """End the process where a block takes longer."""
        limit = threading.Timer(seconds, self._process.kill)
        limit.daemon = True
        limit.start()
        try:
            yield
        finally:
            limit.cancel()

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().decode()

    def end(self) -> str:
        """End it now, whatever it is doing, and leave nothing of it behind; says how it has ended."""
        process = self._process
        process.kill()
        code = process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def disown(self) -> None:
        """Forget the process: in a child of the application, whose process it is not."""
        self._process.returncode = 0


def _creation_flags() -> int:
    """Windows' flags for a process of low priority, without a window and out of Ctrl-C's reach; no flags elsewhere."""
    if sys.platform == "win32":
        own = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
        return own | subprocess.BELOW_NORMAL_PRIORITY_CLASS
    return 0
