"""isl under a bound on its work: an integer set operation may take exponential time, or fail, and a compiler may not.

Every phase that may take long has a way out when isl gives up: a kernel whose accesses cannot be checked is refused,
dependences become coarser, a schedule, a plan or a version is left out, a count is unknown.  What runs under a budget
must not pass callbacks to isl: exceptions do not come out of them safely.

A phase's own budget counts isl's basic operations, which is the same on every machine.  All phases of a kernel together
have another one, of processor time (``ProcessorTime``): once it is used up, what is not needed for a first version is
left out, and what isl is doing then is ended (``interruption.py``).
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TypeVar

import islpy as isl

from polytune.frontend.polyhedral.interruption import interrupted_after

Result = TypeVar("Result")

QUESTION_BUDGET = 20_000
"""isl's budget for a question while a source is read, as whether two extents are equal: some milliseconds.  All of
these are in its own basic operations."""

ARRAY_BUDGET = 100_000
"""isl's budget for what concerns one array, and for one count: some tens of milliseconds."""

PROOF_BUDGET = 1_000_000
"""isl's budget for one proof, or one bound: a quarter of a second."""

PHASE_BUDGET = 4_000_000
"""isl's budget for one phase, as a schedule, a plan or the loops of a version: a second or two, and three times what
the scheduler takes for any kernel of PolyBench."""

OPERATIONS_A_SECOND = 1_500_000
"""The number of its basic operations that isl does in a second where they are slow, as when it generates loops."""

NEEDED_SECONDS = 2.0
"""The processor time of what is done even when the kernel has used up its own, in seconds."""

OVERTIME = 1.25
"""The share of its processor time that a kernel may use for what nobody is to go without."""

_LEAST = 10_000
_log = logging.getLogger(__name__)


class ProcessorTime:
    """The processor time, in seconds, that all phases of a kernel have together; it runs while one of them does.

    Args:
        seconds: how much there is.
        used: how much of it has been used already.
        on_half: is called once when a phase begins and half of it has been used.

    Attributes:
        was_short: whether something was left out, or made coarser, that more time might have been enough for.
    """

    def __init__(self, seconds: float, *, used: float = 0.0, on_half: Callable[[], None] | None = None):
        self.was_short = False
        self._whole = seconds
        self._used = used
        self._on_half = on_half
        self._since: float | None = None
        self._share = 1.0

    @contextmanager
    def running(self, share: float = 1.0) -> Iterator[None]:
        """Count what this thread does, and end all budgets within when so large a part of the whole has been used.

        The time is counted once where this is within itself.
        """
        outer, self._share = self._share, share
        is_outermost = self._since is None
        token = _running.set(self)
        if is_outermost:
            self._since = time.thread_time()
        try:
            yield
        finally:
            if is_outermost and self._since is not None:
                self._used += time.thread_time() - self._since
                self._since = None
            self._share = outer
            _running.reset(token)

    @contextmanager
    def overtime(self) -> Iterator[None]:
        """Let what is done meanwhile use a fourth more than the whole, whatever part of that others may use."""
        outer, self._share = self._share, max(self._share, OVERTIME)
        try:
            yield
        finally:
            self._share = outer

    def use(self, seconds: float) -> None:
        """Count processor time that has been used by another count, in seconds, unless this one runs all the same."""
        if self._since is None:
            self._used += seconds

    @property
    def used(self) -> float:
        """Return how much has been used so far, in seconds."""
        return self._used + (0.0 if self._since is None else time.thread_time() - self._since)

    @property
    def left(self) -> float:
        """Return how much is left of the part that may be used now, in seconds; less than 0 where it has been
        overdrawn."""
        return self._share * self._whole - self.used

    def look(self) -> float:
        """Return how much is left to a phase that begins, in seconds, and tell whoever waits for half of it."""
        on_half = self._on_half
        if on_half is not None and self.used > 0.5 * self._whole:
            self._on_half = None
            on_half()
        return self.left


_running: ContextVar[ProcessorTime | None] = ContextVar("processor time of the kernel at work", default=None)


def _seconds_left() -> float:
    """Return how much is left of the kernel's processor time, in seconds; infinite where no kernel's is counted."""
    running = _running.get()
    return float("inf") if running is None else running.look()


def note_shortage() -> None:
    """Note that the kernel at work has had too little processor time for something."""
    running = _running.get()
    if running is not None:
        running.was_short = True


def is_time_left() -> bool:
    """Return whether the kernel at work may use more processor time; always where no kernel's is counted."""
    is_left = _seconds_left() > 0
    if not is_left:
        note_shortage()
    return is_left


def overtime() -> AbstractContextManager[None]:
    """Let the kernel at work use more processor time than other work on it may, see ``ProcessorTime.overtime``."""
    running = _running.get()
    return nullcontext() if running is None else running.overtime()


def _operations_in(seconds: float) -> int:
    """Return how many operations isl does in a time, about."""
    return sys.maxsize if seconds > 1e6 else max(_LEAST, int(seconds * OPERATIONS_A_SECOND))


def within_budget(
    context: isl.Context, operations: int, work: Callable[[], Result], *, needed: bool = False
) -> Result | None:
    """The result of ``work``, or None when isl gave up, after ``operations`` of its basic operations or with an error.

    isl reports an exhausted quota as some error of whatever it was doing, or not at all where it can do without, so
    the quota itself is asked whether it has been reached: then nothing that was computed is used.  Its other errors,
    such as "total dimensionality changed unexpectedly", are failures of single operations on relations that are right,
    and leave the context as it was.  Failures of anything but isl are raised as they are.  A budget within another one
    is its own: the outer one counts anew after it.

    Args:
        context: isl's context, which counts the operations.
        operations: how many there may be.
        work: what is to be done.
        needed: whether it is done even when the kernel has used up its processor time, in ``NEEDED_SECONDS`` at most.
    """
    seconds = NEEDED_SECONDS if needed else _seconds_left()
    if seconds <= 0:
        note_shortage()
        return None
    whole = operations
    if not needed:
        operations = min(operations, _operations_in(seconds))
    outer = context.get_max_operations()
    context.reset_operations()
    context.set_max_operations(operations)
    try:
        with interrupted_after(context, seconds):
            try:
                result = work()
            except Exception as error:
                exhausted = is_exhausted(context)
                if not exhausted and not isinstance(error, isl.Error):
                    raise
                _log.debug("isl gave up: %s", error)
                result = None
            else:
                exhausted = is_exhausted(context)
            if exhausted and (operations < whole or _seconds_left() <= 0):
                note_shortage()
            return None if exhausted else result
    finally:
        context.set_max_operations(outer)
        context.reset_operations()


def is_exhausted(context: isl.Context) -> bool:
    """Return whether operations or time are used up: then every further operation fails, the smallest too."""
    try:
        isl.Val.one(context)
    except isl.Error:
        return True
    return False
