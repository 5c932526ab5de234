"""A campaign that runs: which worker does what next, and what becomes of what it has done."""

from __future__ import annotations

import contextlib
import itertools
import platform
import queue
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from pickle import UnpicklingError
from typing import Any

from polytune.campaigns.pools import Pending, Place, Pool
from polytune.campaigns.progress import CampaignEntry, Progress
from polytune.campaigns.search import MachineSearch, Settings
from polytune.campaigns.work import CampaignWork
from polytune.campaigns.worker import Failure, TimedRuns, about, compare, compile_version, describe, measure
from polytune.errors import CampaignError
from polytune.history import HistoryStore
from polytune.records import dataclass
from polytune.tuner import Configuration
from polytune.version import __version__

__all__ = ["Running"]

_MOST_LOSSES = 3  # of workers with one configuration, before it is taken to be what ends them
_DISTURBED = 1.5  # times longer than usual, a fixed piece of work says that something else runs
_SECONDS_BETWEEN_LOOKS = 1.0  # at the workers, and at the clock
_SECONDS_TO_FETCH = 1.0
_MOST_FETCHES = 20  # of a result, before its worker is taken to be gone
_SECONDS_WITHOUT_WORKERS = 120.0


@dataclass
class _Task:
    """The task of a worker."""

    place: Place
    kind: str
    search: MachineSearch | None
    configuration: Configuration | None
    future: Pending
    deadline: float
    fetched: int = 0  # how many times its result was to be fetched in vain


class Running:
    """A campaign, from its beginning to its end.

    Args:
        work: every kernel with every shape.
        pool: the workers.
        settings: the limits.
        history: where results go.
        progress: is told how far it is; None for nobody.
    """

    def __init__(
        self,
        work: Sequence[CampaignWork],
        pool: Pool,
        settings: Settings,
        history: HistoryStore,
        progress: Callable[[Progress], None] | None = None,
    ):
        self._work = work
        self._pool = pool
        self._settings = settings
        self._history = history
        self._progress = progress
        self._machines: dict[str, str] = {}  # of workers, by name
        self._searches: dict[tuple[CampaignWork, str], MachineSearch] = {}
        self._turns = itertools.count()
        self._tasks: dict[str, _Task] = {}  # by the worker
        self._free: dict[str, Place] = {}  # the workers that have nothing to do
        self._retired: set[str] = set()
        self._done: queue.SimpleQueue[_Task] = queue.SimpleQueue()
        self._probes: dict[str, float] = {}  # by machine, the least
        self._lost = 0
        self._session = ""
        self._started = self._looked = self._worked = time.monotonic()
        self._places: dict[str, Place] = {}

    # ---- the loop

    def run(self) -> None:
        """Do everything there is to do.

        Raises:
            CampaignError: it cannot be gone on with; what was measured is in the history.
        """
        self._look()
        while True:
            self._share_out()
            if not self._tasks and self._is_over():
                self._tell()
                return
            try:
                task = self._done.get(timeout=_SECONDS_BETWEEN_LOOKS)
            except queue.Empty:
                pass
            else:
                self._take(task)
            if time.monotonic() - self._looked >= _SECONDS_BETWEEN_LOOKS:
                self._look()
                self._tell()

    def _is_over(self) -> bool:
        """Return whether nothing is left to do for the kinds of machines that there are now."""
        machines = {self._machines.get(name) for name in self._places if name not in self._retired}
        return bool(machines) and all(
            machine is not None and self._search(work, machine).is_over for work in self._work for machine in machines
        )

    def _look(self) -> None:
        """See which workers there are, and which of them hang."""
        self._places = dict(self._pool.places())
        now = self._looked = time.monotonic()
        is_new, self._session = self._pool.session != self._session, self._pool.session
        for name, task in list(self._tasks.items()):
            if is_new:
                self._lose(task, "the scheduler ended", is_blamed=False)
            elif name not in self._places:
                self._lose(task, "its worker ended")
            elif now > task.deadline:
                if not self._pool.restart(task.place):
                    self._retired.add(name)
                self._lose(task, f"it took longer than {self._settings.timeout:g} s")
        busy = self._retired.union(self._tasks)
        self._free = {name: place for name, place in self._places.items() if name not in busy}
        if set(self._places) - self._retired:
            self._worked = time.monotonic()
        elif time.monotonic() - self._worked > _SECONDS_WITHOUT_WORKERS or self._are_all_retired():
            raise CampaignError(
                "there is no worker: start some, as with 'dask worker tcp://HOST:PORT --nworkers 1 "
                "--resources polytune=1'; what was measured is kept"
            )

    def _are_all_retired(self) -> bool:
        """Return whether all workers hang, and none can take their places."""
        return bool(self._places) and self._retired.issuperset(self._places) and not hasattr(self._pool, "_client")

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self._state())

    def cancel(self) -> None:
        """Ask for nothing more of what has been submitted."""
        for task in self._tasks.values():
            _cancel(task.future)
        self._tasks.clear()

    # ---- giving work

    def _share_out(self) -> None:
        """Submit what the workers without work should do next, as far as there is anything."""
        without: set[str] = set()  # kinds of machines
        for place in list(self._free.values()):
            machine = self._machines.get(place.name)
            if machine is None:
                self._submit(place, "look", None, None, about, place.threads)
            elif machine not in without and not self._give_work(place, machine):
                without.add(machine)

    def _give_work(self, place: Place, machine: str) -> bool:
        """Submit what a worker of a kind should do next.  Return False where there is nothing."""
        offset = next(self._turns)
        for number in range(len(self._work)):
            search = self._search(self._work[(offset + number) % len(self._work)], machine)
            if not (search.is_over or search.waits) and self._advance(search, place):
                return True
        return False

    def _search(self, work: CampaignWork, machine: str) -> MachineSearch:
        found = self._searches.get((work, machine))
        if found is None:
            found = self._searches[work, machine] = MachineSearch(work, machine, self._settings, self._history)
        return found

    def _advance(self, search: MachineSearch, place: Place) -> bool:
        """Submit the next task of a search.  Return False where it has none now."""
        if not search.has_begun:
            if search.is_described:
                search.waits = True
                return False
            search.is_described = True
            self._submit(place, "describe", search, None, describe, search.work, place.threads)
            return True
        wanted = search.ask()
        if wanted is not None:
            self._measure(search, place, wanted)
            return True
        if search.is_measuring or search.is_compared:
            search.waits = True
            return False
        search.is_compared = True
        return self._compare(search, place)

    def _measure(self, search: MachineSearch, place: Place, configuration: Configuration) -> None:
        """Submit the measurement of a configuration, or first what compiles it."""
        work, settings = search.work, self._settings
        if not search.is_compiled(place.host, configuration):
            self._submit(
                place, "compile", search, configuration, compile_version, work, place.threads, dict(configuration)
            )
            return
        limits = (settings.runs, settings.seconds)
        self._submit(
            place, "measure", search, configuration, measure, work, place.threads, dict(configuration), *limits
        )

    def _compare(self, search: MachineSearch, place: Place) -> bool:
        """Submit a last measurement of the best configurations and the default, in turns."""
        chosen = search.to_compare()
        if not chosen:
            search.is_over = True
            return False
        limits = (self._settings.runs, self._settings.seconds * len(chosen))
        rows = [dict(each) for each in chosen]
        self._submit(place, "compare", search, None, compare, search.work, place.threads, rows, *limits)
        return True

    def _submit(
        self,
        place: Place,
        kind: str,
        search: MachineSearch | None,
        configuration: Configuration | None,
        function: Callable[..., Any],
        *arguments: Any,
    ) -> None:
        name = kind if search is None else f"{kind} {search.work.kernel}"
        future = self._pool.submit(place, name, function, *arguments)
        deadline = time.monotonic() + self._settings.timeout
        task = self._tasks[place.name] = _Task(place, kind, search, configuration, future, deadline)
        self._free.pop(place.name, None)
        future.add_done_callback(lambda _: self._done.put(task))

    # ---- taking results

    def _take(self, task: _Task) -> None:
        """Take in what became of a task, unless it was given up before."""
        if self._tasks.get(task.place.name) is not task:
            return
        try:
            # Where the worker ends before its result is fetched, a cluster would wait for another one with its name.
            result = task.future.result(timeout=_SECONDS_TO_FETCH)
        except KeyboardInterrupt:
            raise
        except TimeoutError:  # the next look at the workers may tell why; the others do not wait for it
            task.fetched += 1
            if task.fetched < _MOST_FETCHES:
                self._done.put(task)
            else:
                self._lose(task, "its result could not be fetched")
            return
        except (ImportError, AttributeError, UnpicklingError) as error:
            raise CampaignError(
                f"the worker {task.place.name} cannot run polytune ({error}): install polytune {__version__} there"
            ) from error
        except BaseException as error:  # a worker that died, and what Dask and executors raise then
            # Where the scheduler is lost, Dask cancels all that it was asked for.
            self._lose(task, f"{type(error).__name__}: {error}", is_blamed=not _is_cancelled(error))
            return
        del self._tasks[task.place.name]
        if task.place.name in self._places:
            self._free[task.place.name] = task.place
        if task.kind == "look":
            self._greet(task.place, *result)
            return
        search = task.search
        assert search is not None
        search.waits = False
        if task.kind == "describe":
            search.begin(result)
        elif task.kind == "compare":
            search.finish(result)
        else:
            assert task.configuration is not None
            self._take_trial(search, task, task.configuration, result)

    def _greet(self, place: Place, polytune: str, python: str, machine: str) -> None:
        """Take in what a worker is.

        Raises:
            CampaignError: it has another version of polytune or Python.
        """
        mine = platform.python_version()
        for name, found, wanted in (("polytune", polytune, __version__), ("Python", python, mine)):
            if found.split(".")[:2] != wanted.split(".")[:2] or (name == "polytune" and found != wanted):
                raise CampaignError(
                    f"the worker {place.name} has {name} {found}, and this process {wanted}: "
                    "start workers with the same"
                )
        self._machines[place.name] = machine

    def _take_trial(
        self, search: MachineSearch, task: _Task, configuration: Configuration, result: TimedRuns | Failure | float
    ) -> None:
        if isinstance(result, Failure):
            search.fail(configuration, result.reason)
        elif isinstance(result, TimedRuns):
            usual = self._probes[result.machine] = min(result.probe, self._probes.get(result.machine, result.probe))
            search.tell(configuration, result, disturbed=result.probe > _DISTURBED * usual)
        else:
            search.note_compiled(task.place.host, configuration)
            self._measure(search, task.place, configuration)

    def _lose(self, task: _Task, reason: str, *, is_blamed: bool = True) -> None:
        """Have what a worker did be done again, or leave it where it has ended several workers.

        Args:
            task: what it did.
            reason: why it is lost.
            is_blamed: whether it may be what has ended the worker.
        """
        self._tasks.pop(task.place.name, None)
        for known in (self._places, self._free):
            known.pop(task.place.name, None)  # until the next look shows that it is there
        _cancel(task.future)
        self._lost += 1
        search = task.search
        if search is None:
            if is_blamed:
                self._retired.add(task.place.name)
            return
        search.waits = False
        losses = search.losses[task.configuration] = search.losses.get(task.configuration, 0) + is_blamed
        if task.configuration is not None:
            if losses < _MOST_LOSSES:
                search.withdraw(task.configuration)
            else:
                search.fail(task.configuration, f"{losses} workers were lost with it: {reason}")
        elif losses >= _MOST_LOSSES:
            raise CampaignError(f"{search.work.title} cannot be tuned: {losses} workers were lost with it: {reason}")
        elif task.kind == "describe":
            search.is_described = False
        else:
            search.is_compared = False

    # ---- what is known

    def entries(self) -> tuple[CampaignEntry, ...]:
        """The findings, in the order of kernels and shapes."""
        found = [each for work in self._work for (of, _), each in self._searches.items() if of == work]
        return tuple(each.entry() for each in found)

    def _state(self) -> Progress:
        elapsed = time.monotonic() - self._started
        measured = sum(each.measured for each in self._searches.values())
        limit = self._settings.trials
        open_ones = [each for each in self._searches.values() if not each.is_over]
        left = sum(max(limit - each.trials, 0) for each in open_ones)
        return Progress(
            entries=self.entries(),
            limit=limit,
            workers=len(self._places),
            busy=len(self._tasks),
            lost=self._lost,
            seconds=elapsed,
            left=left * elapsed / measured if measured else None,
        )


def _cancel(future: Pending) -> None:
    with contextlib.suppress(Exception):  # whom it was submitted to is gone
        future.cancel()


def _is_cancelled(error: BaseException) -> bool:
    import asyncio  # which Dask has imported, and nothing else needs

    return isinstance(error, (CancelledError, asyncio.CancelledError))
