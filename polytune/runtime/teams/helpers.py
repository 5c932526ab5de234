"""The threads that help teams, and calls of compiled versions by a team.

The calling thread is a team's first worker.  Its helpers are threads that wait at a mailbox
(`polytune.runtime.teams.admission`): on their cores for one to ten milliseconds after they were needed, then asleep.  A
call wakes them and begins at once; it ends when the work is done, whoever has done it.  So on a machine with other
things to do, where a helper may not get a core for many milliseconds, a call takes about as long as on one thread, and
not until the helper has had its turn.

Each call that is under way has helpers of its own, so that calls from several threads do not wait for each other.
"""

from __future__ import annotations

import atexit
import threading
from contextlib import suppress

from polytune.cores import allowed_cores, keep_thread_on
from polytune.forking import at_fork
from polytune.runtime.teams import admission
from polytune.runtime.teams.admission import CORE, event, mailbox_length
from polytune.runtime.teams.context_memory import ContextMemory
from polytune.runtime.teams.entries import Entry
from polytune.runtime.teams.events import new_event
from polytune.runtime.teams.threads import maximum_threads

__all__ = ["HelperPool", "Helpers", "compile_team", "run_team"]

_SECONDS_TO_STOP = 1.0  # that the end of a process waits for helpers

lead = Entry(admission.lead, 4, returns=True)
inside = Entry(admission.inside, 1, returns=True)
serve = Entry(admission.serve, 2)
dismiss = Entry(admission.dismiss, 2)


class Helpers:
    """The helpers of one caller at a time, started when they are first needed.

    Args:
        helpers: how many there may be.

    Attributes:
        address: of the mailbox.
        words: the mailbox.
        workers: how many there are, with the caller.
        core_left_out: the core that helpers are kept off.
        left_behind: the context of an earlier call that a helper may still be inside of; None where none is.
    """

    def __init__(self, helpers: int):
        self._memory = ContextMemory(8 * mailbox_length(helpers), None)
        self.address, self.words = self._memory.address, self._memory.memory.cast("q")
        for number in range(1, helpers + 1):
            self.words[event(number)] = new_event()
        self._threads: list[threading.Thread] = []
        self.workers = 1
        self.left_behind: ContextMemory | None = None
        self._cores = allowed_cores()
        self.core_left_out = -1

    @property
    def is_free(self) -> bool:
        """Return whether no helper is still inside of an earlier call."""
        if self.left_behind is not None:
            if inside(self.address):
                return False
            self.left_behind = None
        return True

    def prepare(self, workers: int) -> bool:
        """Have the helpers ready that a team needs, off the caller's core.  Return whether they may come, as none is
        still inside of an earlier call.

        Args:
            workers: how many the team may have, the caller among them.
        """
        if not self.is_free:
            return False
        if self.workers < workers:
            # Where the system has no more threads, or the interpreter is ending, the work is done all the same.
            with suppress(RuntimeError):
                while len(self._threads) < workers - 1:
                    self._start()
        core = self.words[CORE]
        if core != self.core_left_out:
            self._leave_out(core)
        return True

    def _start(self) -> None:
        number = len(self._threads) + 1
        thread = threading.Thread(target=self._help, args=(number,), name=f"polytune-worker-{number}", daemon=True)
        thread.start()
        self._threads.append(thread)
        self.workers = 1 + len(self._threads)
        self.core_left_out = -1

    def _leave_out(self, core: int) -> None:
        """Keep the helpers off the caller's core, where a system that wakes a thread likes to put it: there it would
        keep the caller from its work."""
        self.core_left_out = core
        others = self._cores - {core}
        for thread in self._threads:
            keep_thread_on(thread.native_id or 0, others)

    def _help(self, number: int) -> None:
        serve(self.address, number)

    def stop(self) -> None:
        """End the helpers, who must not run compiled code while an interpreter ends that owns it."""
        dismiss(self.address, len(self._threads))
        for thread in self._threads:
            thread.join(_SECONDS_TO_STOP)


class HelperPool:
    """The helpers of a process; a caller takes some for the time of a call."""

    def __init__(self, helpers: int):
        self._helpers = helpers
        self._idle: list[Helpers] = []
        self._all: list[Helpers] = []

    def run(self, function: int, context: ContextMemory, workers: int) -> None:
        """Run a version by a team of at most so many workers, by the caller alone where no helpers are free.

        A helper that is still inside afterwards keeps the context: it is then marked as left.  Where a program's data
        leave none of Python's in the caches, each function that is entered takes as long as hundreds of operations: so
        this is one.

        Args:
            function: the address of the version's C entry.
            context: the call's, filled in, with the state of a team that has not begun; marked as left where it must
                not be written to any more.
            workers: how many, from 1 to the number of helpers and one.

        Raises:
            ValueError: ``workers`` is out of range.
        """
        if not 1 <= workers <= self._helpers + 1:
            raise ValueError(f"a team has from 1 to {self._helpers + 1} workers, not {workers}")
        run = lead.call or lead.ready()
        if workers == 1:
            run(0, function, context.address, 1)
            return
        try:
            helpers = self._idle.pop()
        except IndexError:  # as many calls are under way as the pool has helpers for
            helpers = Helpers(self._helpers)
            self._all.append(helpers)
        try:
            if (
                helpers.left_behind is None
                and helpers.workers >= workers
                and helpers.words[CORE] == helpers.core_left_out
            ) or helpers.prepare(workers):
                # Left until it is known that nobody is inside, also where an interrupt comes between.
                context.is_left, helpers.left_behind = True, context
                if run(helpers.address, function, context.address, workers) == 0:
                    context.is_left, helpers.left_behind = False, None
            else:
                # A helper has not had a core since the last call: there are not as many as there seem to be.
                run(0, function, context.address, 1)
        finally:
            self._idle.append(helpers)

    def stop(self) -> None:
        """End all helpers."""
        for helpers in self._all:
            helpers.stop()

    def forget(self) -> None:
        """Start anew in a forked process, where there are no helpers."""
        self._idle, self._all = [], []


def compile_team() -> None:
    """Have ready what every team needs, once for all kernels."""
    for each in (lead, inside, serve, dismiss):
        each.ready()


_pool = HelperPool(maximum_threads() - 1)
run_team = _pool.run
"""Run a version by a team of this process's threads, as `HelperPool.run` says."""

atexit.register(_pool.stop)
at_fork(after_in_child=_pool.forget)
