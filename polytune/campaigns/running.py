"""A campaign that runs: which worker does what next, and what becomes of what it has done."""

from __future__ import annotations

import itertools
import platform
import queue
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import field
from pickle import UnpicklingError
from typing import Any

import numpy as np

from polytune.campaigns.pools import Pending, Place, Pool
from polytune.campaigns.work import CampaignWork
from polytune.campaigns.worker import Failure, TimedRuns, about, compare, compile_version, describe, measure
from polytune.errors import CampaignError
from polytune.history import HistoryStore
from polytune.records import dataclass
from polytune.runtime.calls import TuningProblem
from polytune.tuner import Configuration, HierarchicalTuner, Search
from polytune.tuner.concurrent import ConcurrentSearch
from polytune.version import __version__

__all__ = ["CampaignEntry", "Progress", "Running", "Settings"]

_MOST_LOSSES = 3  # of workers with one configuration, before it is taken to be what ends them
_MOST_DISTURBANCES = 2  # of one configuration, before its measurement is taken as it is
_DISTURBED = 1.5  # times longer than usual, a fixed piece of work says that something else runs
_COMPARED = 4  # configurations that are measured in turns at the end, beside the default
_SECONDS_BETWEEN_LOOKS = 1.0  # at the workers, and at the clock
_SECONDS_TO_FETCH = 1.0
_MOST_FETCHES = 20  # of a result, before its worker is taken to be gone
_SECONDS_WITHOUT_WORKERS = 120.0


@dataclass(frozen=True)
class Settings:
    """The arguments of a campaign, as `polytune.campaign` describes them."""

    trials: int
    runs: int
    seconds: float
    timeout: float
    search: Search | None
    seed: int


@dataclass(frozen=True)
class CampaignEntry:
    """The findings for a kernel and a shape on one kind of machine.

    Attributes:
        kernel: its name.
        shape: the sizes, by name.
        machine: the key of the machine.
        trials: how many configurations have been measured, earlier ones among them.
        failed: how many could not be run.
        best: the fastest; None where none has run.
        seconds: what it takes.
        default: the default, where it has run.
        default_seconds: what that takes.
        finished: whether the search has come to its end, or to the limit of trials.
    """

    kernel: str
    shape: Mapping[str, int]
    machine: str
    trials: int
    failed: int
    best: Configuration | None
    seconds: float | None
    default: Configuration | None
    default_seconds: float | None
    finished: bool

    def to_json(self) -> dict[str, Any]:
        """The entry as JSON has it."""
        return {
            name: dict(value) if isinstance(value, Mapping) else value
            for name, value in ((name, getattr(self, name)) for name in self.__annotations__)
        }


@dataclass(frozen=True)
class Progress:
    """The state of a campaign that runs.

    Attributes:
        entries: what has been found so far.
        limit: how many trials each of them may have.
        workers: how many workers there are.
        busy: how many of them do something.
        lost: how many tasks were lost with workers that ended or hung, and done again.
        seconds: for how long the campaign has run.
        left: how many seconds more it may take; None while that is not known.
    """

    entries: tuple[CampaignEntry, ...]
    limit: int
    workers: int
    busy: int
    lost: int
    seconds: float
    left: float | None


@dataclass
class _Search:
    """The search for a kernel and a shape on one kind of machine."""

    work: CampaignWork
    machine: str
    problem: TuningProblem | None = None
    search: ConcurrentSearch | None = None
    is_described: bool = False  # or about to be
    is_compared: bool = False
    final: dict[Configuration, float] = field(default_factory=dict)
    measured: int = 0  # by this campaign
    losses: dict[Configuration | None, int] = field(default_factory=dict)
    disturbances: dict[Configuration, int] = field(default_factory=dict)
    compiled: set[tuple[str, Any]] = field(default_factory=set)  # hosts, with versions that are in their caches
    waits: bool = False  # for what is being done: until then there is nothing to ask for
    is_over: bool = False

    @property
    def trials(self) -> int:
        return 0 if self.search is None else len(self.search.costs) + len(self.search.failures)


@dataclass
class _Task:
    """The task of a worker."""

    place: Place
    kind: str
    search: _Search | None
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
        self._searches: dict[tuple[CampaignWork, str], _Search] = {}
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
            task.future.cancel()
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

    def _search(self, work: CampaignWork, machine: str) -> _Search:
        found = self._searches.get((work, machine))
        if found is None:
            found = self._searches[work, machine] = _Search(work, machine)
        return found

    def _advance(self, search: _Search, place: Place) -> bool:
        """Submit the next task of a search.  Return False where it has none now."""
        if search.search is None:
            if search.is_described:
                search.waits = True
                return False
            search.is_described = True
            self._submit(place, "describe", search, None, describe, search.work, place.threads)
            return True
        room = self._settings.trials - search.trials - len(search.search.pending)
        wanted = search.search.ask() if room > 0 else None
        if wanted is not None:
            self._measure(search, place, wanted)
            return True
        if search.search.pending or search.is_compared:
            search.waits = True
            return False
        search.is_compared = True
        return self._compare(search, place)

    def _measure(self, search: _Search, place: Place, configuration: Configuration) -> None:
        """Submit the measurement of a configuration, or first what compiles it."""
        work, settings = search.work, self._settings
        if (place.host, _version(configuration)) not in search.compiled:
            self._submit(
                place, "compile", search, configuration, compile_version, work, place.threads, dict(configuration)
            )
            return
        limits = (settings.runs, settings.seconds)
        self._submit(
            place, "measure", search, configuration, measure, work, place.threads, dict(configuration), *limits
        )

    def _compare(self, search: _Search, place: Place) -> bool:
        """Submit a last measurement of the best configurations and the default, in turns."""
        assert search.search is not None and search.problem is not None
        ranked = sorted(search.search.costs, key=search.search.costs.__getitem__)
        default = search.problem.space.default()
        chosen = list(dict.fromkeys([*ranked[:_COMPARED], *([default] if default in search.search.costs else [])]))
        if len(chosen) < 2 or not search.measured:
            search.is_over = True
            return False
        settings = self._settings
        limits = (settings.runs, settings.seconds * len(chosen))
        rows = [dict(each) for each in chosen]
        search.final = dict.fromkeys(chosen, float("nan"))
        self._submit(place, "compare", search, None, compare, search.work, place.threads, rows, *limits)
        return True

    def _submit(
        self,
        place: Place,
        kind: str,
        search: _Search | None,
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
            self._begin(search, result)
        elif task.kind == "compare":
            self._finish(search, result)
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

    def _begin(self, search: _Search, problem: TuningProblem | Failure) -> None:
        """Begin a search, with what the history has."""
        if isinstance(problem, Failure):
            raise CampaignError(f"{search.work.title} cannot be tuned: {problem.reason}")
        settings, space = self._settings, problem.space
        search.problem = problem
        search.search = ConcurrentSearch(
            HierarchicalTuner(
                space,
                rng=np.random.default_rng(settings.seed),
                refused=problem.refused,
                starts=problem.starts,
                searchers=settings.search,
                repeats=1,
                numeric=lambda: "portfolio",
                may_be_exact=True,
            )
        )
        for record in self._history.all(*problem.key):
            if record.code != problem.code or not space.contains(record.configuration):
                continue
            if record.status == "ok" and record.median_seconds is not None:
                search.search.tell(record.configuration, record.median_seconds)
            else:
                search.search.fail(record.configuration, record.reason)

    def _take_trial(
        self, search: _Search, task: _Task, configuration: Configuration, result: TimedRuns | Failure | float
    ) -> None:
        assert search.search is not None and search.problem is not None
        if isinstance(result, Failure):
            self._fail(search, configuration, result.reason)
        elif isinstance(result, TimedRuns):
            usual = self._probes[result.machine] = min(result.probe, self._probes.get(result.machine, result.probe))
            times = search.disturbances.get(configuration, 0)
            if result.probe > _DISTURBED * usual and times < _MOST_DISTURBANCES:
                search.disturbances[configuration] = times + 1
                search.search.withdraw(configuration)
                return
            search.measured += 1
            key = search.problem.key._replace(machine=result.machine)
            samples = len(result.samples)
            self._history.record(*key, configuration, result.seconds, "ok", count=samples, code=result.code)
            search.search.tell(configuration, result.seconds)
        else:
            search.compiled.add((task.place.host, _version(configuration)))
            self._measure(search, task.place, configuration)

    def _fail(self, search: _Search, configuration: Configuration, reason: str) -> None:
        assert search.search is not None and search.problem is not None
        search.measured += 1
        self._history.record(
            *search.problem.key, configuration, None, "failed", reason=reason, code=search.problem.code
        )
        search.search.fail(configuration, reason)

    def _finish(self, search: _Search, result: Sequence[TimedRuns] | Failure) -> None:
        """Take in the last measurement of a search."""
        assert search.problem is not None
        search.is_over = True
        compared, search.final = list(search.final), {}
        if isinstance(result, Failure):
            return
        for configuration, trial in zip(compared, result, strict=True):
            search.final[configuration] = trial.seconds
            key = search.problem.key._replace(machine=trial.machine)
            self._history.record(*key, configuration, trial.seconds, "ok", count=len(trial.samples), code=trial.code)

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
        task.future.cancel()
        self._lost += 1
        search = task.search
        if search is None:
            if is_blamed:
                self._retired.add(task.place.name)
            return
        search.waits = False
        losses = search.losses[task.configuration] = search.losses.get(task.configuration, 0) + is_blamed
        if task.configuration is not None:
            assert search.search is not None
            if losses < _MOST_LOSSES:
                search.search.withdraw(task.configuration)
            else:
                self._fail(search, task.configuration, f"{losses} workers were lost with it: {reason}")
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
        return tuple(self._entry(each) for each in found)

    def _entry(self, search: _Search) -> CampaignEntry:
        costs: Mapping[Configuration, float] = {} if search.search is None else search.search.costs
        final = {each: seconds for each, seconds in search.final.items() if seconds == seconds}
        best = min((final or costs).items(), key=lambda each: each[1], default=None)
        default = None if search.problem is None else search.problem.space.default()
        default_seconds = None if default is None else final.get(default, costs.get(default))
        return CampaignEntry(
            kernel=search.work.kernel,
            shape=dict(search.work.sizes),
            machine=search.machine,
            trials=search.trials,
            failed=0 if search.search is None else len(search.search.failures),
            best=None if best is None else best[0],
            seconds=None if best is None else best[1],
            default=None if default_seconds is None else default,
            default_seconds=default_seconds,
            finished=search.is_over,
        )

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


def _is_cancelled(error: BaseException) -> bool:
    import asyncio  # which Dask has imported, and nothing else needs

    return isinstance(error, (CancelledError, asyncio.CancelledError))


def _version(configuration: Configuration) -> tuple[Any, ...]:
    """The values on which the machine code of a configuration depends."""
    return tuple(value for name, value in configuration.items() if name == "version" or name.startswith("platform_"))
