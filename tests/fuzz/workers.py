"""Processes that check programs, one at a time: what hangs or crashes is its program's failure, not the campaign's."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import multiprocessing
import os
import re
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from tests.fuzz.checking import Failure, Verdict

SECONDS = 20.0
"""The processor time that one program may take."""

_STUCK_SECONDS = 120.0
"""The seconds without any use of the processor after which a program hangs."""
_MEMORY_PAGES = 3 * 2**30 // os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_FRAME = re.compile(r'File ".*/polytune/([\w/]+\.py)", line \d+ in (\w+)')

Work = Callable[[Any], Verdict]


class Worker:
    """A process that does jobs, and is started anew when one has ended it.

    It is forked, so that it has what this process has loaded; ``spawned`` makes one that begins from nothing, for
    processes with threads.

    Attributes:
        job: what it is at; None where it has nothing to do.
    """

    def __init__(self, work: Work, seconds: float = SECONDS, jobs: int = 150):
        """
        Args:
            work: what is done with a job; its verdict is sent back.
            seconds: the processor time that a job may take.
            jobs: after so many a new process takes over.
        """
        self.work, self.seconds, self.jobs = work, seconds, jobs
        self.job: Any = None
        self._start_method: Any = multiprocessing.get_context("fork")
        self._process: Any = None
        self._done = 0

    @classmethod
    @contextlib.contextmanager
    def spawned(cls, work: Work) -> Iterator[Worker]:
        """A worker whose process begins from nothing; it ends with the block."""
        worker = cls(work)
        worker._start_method = multiprocessing.get_context("spawn")
        try:
            yield worker
        finally:
            worker.close()

    def start(self, job: Any) -> None:
        """Begin a job."""
        if self._process is None:
            self._begin()
        self.job = job
        self._began = self._processor_seconds()
        self._seen = self._began, time.monotonic()
        self._connection.send(job)

    @property
    def connection(self) -> Connection:
        """Ready when the job is done, or the process has ended."""
        return self._connection

    def verdict(self) -> Verdict | None:
        """The verdict on the job if it is done or has to be ended, else None."""
        if self._connection.poll():
            try:
                found: Verdict = self._connection.recv()
            except (EOFError, ConnectionError):
                self._process.join()
                code = self._process.exitcode
                how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
                return self._ended(f"ended by {how}")
            self._done += 1
            used = self._processor_seconds() - self._began
            if used > self.seconds:
                found.outcome, found.failure = "failed", self._too_long(used, "", found)
            self.job = None
            if self._done >= self.jobs:
                self.close()
            return found
        now = time.monotonic()
        used = self._processor_seconds()
        if used > self._seen[0]:
            self._seen = used, now
        if used - self._began > self.seconds:
            os.kill(self._process.pid, signal.SIGUSR1)
            time.sleep(0.5)
            return self._ended(f"more than {self.seconds:g} s of processor time")
        if now - self._seen[1] > _STUCK_SECONDS:
            os.kill(self._process.pid, signal.SIGUSR1)
            time.sleep(0.5)
            return self._ended(f"no use of the processor for {_STUCK_SECONDS:g} s")
        if self._pages() > _MEMORY_PAGES:
            return self._ended("more than 3 GiB of memory")
        return None

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._traceback.unlink(missing_ok=True)
            self._process = None

    def _too_long(self, used: float, place: str, verdict: Verdict) -> Failure:
        part = (
            "analysis"
            if verdict.analysis_seconds > used / 2
            else "first call"
            if verdict.call_seconds > used / 2
            else "runs"
        )
        return Failure(f"more than {self.seconds:g} s of processor time in its {part}", f"{used:.1f} s{place}")

    def _ended(self, how: str) -> Verdict:
        """Kill the process, and say where it was."""
        text = self._traceback.read_text(errors="replace")[-6000:]
        frames = [match for match in _FRAME.findall(text) if not match[0].startswith("runtime/helpers")]
        place = f" in {frames[0][0]}:{frames[0][1]}" if frames else ""
        self.close()
        self.job = None
        return Verdict("failed", Failure(f"{how}{place}", text))

    def _begin(self) -> None:
        handle, name = tempfile.mkstemp(prefix="fuzz-traceback-")
        os.close(handle)
        self._traceback = Path(name)
        start = self._start_method
        self._connection, theirs = start.Pipe()
        # A fork has the parent's end too, and would never see it closed.
        inherited = self._connection if start.get_start_method() == "fork" else None
        self._process = start.Process(target=_serve, args=(theirs, inherited, self.work, name), daemon=True)
        self._process.start()
        theirs.close()
        self._connection.recv()
        self._done = 0

    def _processor_seconds(self) -> float:
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def _pages(self) -> int:
        try:
            return int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        except OSError:
            return 0


def _serve(connection: Connection, inherited: Connection | None, work: Work, notes: str) -> None:
    if inherited is not None:
        inherited.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # A fork has the handlers of the libraries that its parent has loaded.  Those of OpenCL's drivers go on after a
    # signal that was sent, as they wait for the fault to come again.
    faulthandler.disable()
    for crash in (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGABRT):
        signal.signal(crash, signal.SIG_DFL)
    with open(notes, "w") as file:
        faulthandler.enable(file)
        faulthandler.register(signal.SIGUSR1, file)
        # Where numbers overflow on purpose, nobody reads of it.
        warnings.simplefilter("ignore")
        gc.freeze()
        connection.send("ready")
        while True:
            try:
                job = connection.recv()
            except (EOFError, ConnectionError):
                os._exit(0)
            file.seek(0)
            file.truncate()
            try:
                verdict = work(job)
            except Exception as error:
                # A defect of the fuzzer; the campaign goes on, and its summary has it.
                message = traceback.format_exc()
                verdict = Verdict("failed", Failure(f"{type(error).__name__} in the fuzzer", message[-3000:]))
            connection.send(verdict)


def judge(worker: Worker, job: Any) -> Verdict:
    """Have a worker do one job, and wait for its verdict."""
    worker.start(job)
    while True:
        wait([worker.connection], timeout=0.2)
        verdict = worker.verdict()
        if verdict is not None:
            return verdict
