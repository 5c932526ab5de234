"""Compiling versions of kernels beside the application, which goes on with the best that there is.

A thread of the application's translates versions (``polytune.runtime.native``), one after the other and behind the
application's own threads; LLVM does most of that without Python's lock.  What has to be left to Numba, which holds that
lock for seconds, is compiled by a process into the disk cache that the application reads.  The process is started when
such a version is first wanted, ends when nothing has been wanted for a while, and never outlives the application.

What cannot be shared through the disk is compiled in the application itself, and so is everything where such a process
cannot be started.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable
from typing import Any

from polytune.environment import BACKGROUND
from polytune.runtime.background.executor import ProcessExecutor
from polytune.runtime.background.priority import background_priority
from polytune.runtime.background.process import WorkerError, WorkerProcess
from polytune.runtime.background.protocol import Request
from polytune.runtime.native.translation import is_enabled as translates
from polytune.runtime.teams.entries import has_address, is_kept

__all__ = ["BackgroundCompiler", "background", "is_enabled", "request_for"]

_LOGGER = logging.getLogger(__name__)

_IDLE_SECONDS = 20.0
"""The seconds for which the process waits for more before it ends: it holds more than a hundred megabytes of memory."""

_ATTEMPTS = 2
"""The number of times that a function may end the process before it is given up: once may be no fault of its own."""


class BackgroundCompiler(ProcessExecutor[tuple[Any, Request, bool]]):
    """Has functions of generated modules translated by a thread, or compiled by a process; safe to use from several
    threads.

    Args:
        idle_seconds: how long the process waits for more before it ends.

    Attributes:
        activity: grows by one when compiling begins and when it ends: odd while something is being compiled.
    """

    def __init__(self, idle_seconds: float = _IDLE_SECONDS):
        super().__init__("polytune-background", idle_seconds)

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self.activity = 0
        self._failures: dict[Request, str] = {}  # of all that was asked for; empty where there is none
        self._under_way: set[Request] = set()
        self._has_answered = False  # any process, ever

    def provides(self, functions: Iterable[tuple[Any, int]], *, urgent: bool = False) -> bool:
        """Return whether functions can be made ready without waiting for a compiler.

        Those that cannot will be compiled, beginning now; asking again tells when that is done.  Where nothing can be
        compiled in the background, everything is at hand: whoever calls compiles it.

        Args:
            functions: Numba functions of generated modules, each with the number of int64 that it takes.
            urgent: whether the application would rather wait for them than go on without: then the process that
                compiles them has the application's own priority, unless it has compiled something else before.
        """
        if not (self.is_usable and is_enabled()):
            return True
        with self._lock:
            is_provided = True
            for function, words in functions:
                request = request_for(function, words)
                if request is not None and request not in self._failures:
                    self._failures[request] = ""
                    if not is_kept(function):
                        self._begin(function, request, urgent)
                is_provided &= request not in self._under_way
            return is_provided

    def expect(self) -> None:
        """Have the process started, as something will be wanted of it before long: its imports take half a second."""
        if self.is_usable and is_enabled() and not translates():
            with self._lock:
                self._have_thread()

    def failure_of(self, function: Any, words: int) -> str:
        """Return why a function cannot be compiled; empty where nothing is known of that."""
        request = request_for(function, words) if self._failures else None
        return "" if request is None else self._failures.get(request, "")

    def disturbs_since(self, activity: int) -> bool:
        """Return whether something was compiled at any time since ``self.activity`` was ``activity``."""
        return activity % 2 == 1 or activity != self.activity

    # ---- the thread that talks to the process

    def _begin(self, function: Any, request: Request, is_urgent: bool) -> None:
        """Have a function compiled; the lock is held."""
        if not self._have_thread():
            return
        self.activity += not self._under_way
        self._under_way.add(request)
        self._waiting.put((function, request, is_urgent))

    def _is_busy(self) -> bool:
        return bool(self._under_way)

    def _new_process(self) -> WorkerProcess:
        return WorkerProcess()

    def _before_work(self) -> None:
        if not translates():
            try:
                self._started_process()
            except Exception:  # versions are compiled where they are wanted
                self.is_usable = False

    def _do(self, item: tuple[Any, Request, bool]) -> None:
        function, request, is_urgent = item
        if not is_urgent:
            background_priority.lower_thread()
        start = time.perf_counter()
        is_translated = False
        try:
            is_translated = has_address(function)
            failure = "" if is_translated else self._compile(request, is_urgent)
        except Exception as error:  # which costs this function, and no other that is wanted later
            failure = f"{type(error).__name__}: {error}"
        seconds = time.perf_counter() - start
        if failure:
            _LOGGER.info("gave up %s beside the application, after %.3f s: %s", request.function, seconds, failure)
        else:
            _LOGGER.info("compiled %s beside the application in %.3f s", request.function, seconds)
        with self._lock:
            # A process that has never done anything right is no reason to do without a version.
            self.is_usable &= is_translated or self._has_answered
            self._failures[request] = failure if self.is_usable else ""
            self._under_way.discard(request)
            self.activity += not self._under_way

    def _compile(self, request: Request, is_urgent: bool) -> str:
        """Have a function compiled by the process; why it cannot be, or nothing."""
        failure = ""
        for _ in range(_ATTEMPTS):
            try:
                process = self._started_process()
            except WorkerError:
                self.is_usable = False
                return ""
            try:
                if not is_urgent:
                    background_priority.lower(process)
                answer = process.compile(request)
            except WorkerError as error:
                failure = str(error)
                with self._lock:
                    self._process = None
                continue
            self._has_answered |= answer.kept or bool(answer.failure)
            return answer.failure
        return failure


def is_enabled() -> bool:
    """Return whether the environment allows to compile in the background: ``POLYTUNE_BACKGROUND=0`` forbids it."""
    return not BACKGROUND.is_off


def request_for(function: Any, words: int) -> Request | None:
    """Return what to ask for to have a Numba function compiled; None where its machine code is not kept on disk.

    Args:
        function: a function of a generated module.
        words: how many int64 it takes.
    """
    plain = function.py_func
    if function.stats.cache_path is None or plain.__module__ == "__main__":
        return None
    return Request(plain.__module__, os.path.abspath(plain.__code__.co_filename), function.__name__, words)


background = BackgroundCompiler()
"""The compiler of this process; nothing is started before something is asked of it."""
