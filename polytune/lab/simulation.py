"""Many runs of many searches on a recorded space, over several processes."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import multiprocessing
import os
import signal
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from polytune.errors import SearchError
from polytune.lab.recording import RecordedSpace
from polytune.lab.results import Results, Setting
from polytune.lab.run import NO_SETTINGS, Run, Settings, Task, check_search, make_run
from polytune.records import dataclass

# Each process is to use one core: the libraries under the model-based searches would start a thread for every core.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class SimulationPlan:
    """The runs to make: every search, with every budget, so many times.

    A run is told its budget, for some searches plan by it; so each budget has runs of its own.

    Attributes:
        searches: names in `polytune.lab.searchers.SEARCHES`.
        budgets: how many configurations are evaluated at most.
        repeats: how many runs there are of each search and budget.
        seed: what all random choices come from.

    Raises:
        SearchError: there is no search of a name, or a number is not positive.
        MissingLibraryError: a search needs a library that is not installed.
    """

    searches: Sequence[str]
    budgets: Sequence[int]
    repeats: int
    seed: int = 0

    def __post_init__(self) -> None:
        for name in self.searches:
            check_search(name)
        if self.repeats < 1 or not all(budget >= 1 for budget in self.budgets):
            raise SearchError(f"budgets {list(self.budgets)} and repeats {self.repeats} must be at least 1")

    def tasks(self) -> list[Task]:
        """All runs.  Repeats come last, so that a simulation that is stopped has as many runs of each kind."""
        searches, budgets = dict.fromkeys(self.searches), sorted(set(self.budgets))
        return [Task(s, b, repeat) for repeat in range(self.repeats) for b in budgets for s in searches]


def simulate(
    recorded: RecordedSpace,
    searches: Sequence[str],
    budgets: Sequence[int],
    repeats: int,
    *,
    seed: int = 0,
    jobs: int = 1,
    settings: Settings = NO_SETTINGS,
    remeasured: int = 0,
) -> Results:
    """Run searches on a recorded space.

    Args:
        recorded: the space.
        searches, budgets, repeats, seed: as for `SimulationPlan`.
        jobs: in how many processes.  With more than one, a script that calls this must be guarded by
            ``if __name__ == "__main__":``, as `multiprocessing` asks for.
        settings: of searches, by their names, where the defaults are not meant.
        remeasured: as for `make_run`.

    Raises:
        SearchError: there is no search of a name.
    """
    plan = SimulationPlan(searches, budgets, repeats, seed)
    runs = make_runs(recorded, plan.tasks(), seed, jobs, settings, remeasured)
    return Results.ordered(Setting.of(recorded, seed, remeasured_option(remeasured)), runs, searches)


def remeasured_option(remeasured: int) -> str:
    """Return how measurements are made, for people, where they are not the medians of all that were recorded."""
    return f"single measurements, the best measured {remeasured} times" if remeasured else ""


def make_runs(
    recorded: RecordedSpace,
    tasks: Collection[Task],
    seed: int,
    jobs: int = 1,
    settings: Settings = NO_SETTINGS,
    remeasured: int = 0,
) -> Iterator[Run]:
    """The runs, each as soon as it is made, in any order.

    Args:
        recorded: the space.
        tasks: which search each run makes, and with which budget and repeat.
        seed: what the random choices of all runs come from.
        jobs: in how many processes; with 1 in this one, in the order of the tasks.
        settings: of searches, by their names, where the defaults are not meant.
        remeasured: as for `make_run`.

    Raises:
        SearchError: a process was killed; the runs made before are there.
    """
    if jobs == 1 or len(tasks) <= 1:
        with one_thread():
            for task in tasks:
                yield make_run(recorded, task, seed, settings, remeasured)
        return
    with _environment(_ONE_THREAD):
        pool = ProcessPoolExecutor(
            min(jobs, len(tasks)),
            mp_context=multiprocessing.get_context("spawn"),  # a fork of a process with threads may hang
            initializer=_start_worker,
            initargs=(recorded, seed, dict(settings), remeasured),
        )
        try:
            for done in as_completed([pool.submit(_work, task) for task in tasks]):
                yield done.result()
        except BrokenProcessPool:
            raise SearchError(
                "one of the processes that run the searches was killed, perhaps because memory ran out; fewer of them "
                "(jobs) need less"
            ) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


_worker: tuple[RecordedSpace, int, Settings, int] | None = None


def _start_worker(recorded: RecordedSpace, seed: int, settings: Settings, remeasured: int) -> None:
    global _worker
    _worker = recorded, seed, settings, remeasured
    # Ctrl-C goes to all processes of a terminal; the parent ends the workers when they have finished their runs.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _work(task: Task) -> Run:
    assert _worker is not None
    recorded, seed, settings, remeasured = _worker
    return make_run(recorded, task, seed, settings, remeasured)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Have the libraries under the model-based searches use one thread meanwhile, as in the processes of `make_runs`.

    Their matrices are so small that more threads wait for each other most of the time, at several times the processor
    time.  Libraries that are loaded later read the environment; those that have been are told by threadpoolctl, which
    comes with scikit-learn.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(_environment(_ONE_THREAD))
        if importlib.util.find_spec("threadpoolctl") is not None:
            stack.enter_context(importlib.import_module("threadpoolctl").threadpool_limits(1))
        yield


@contextlib.contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Have processes that are started meanwhile see some variables, unless they have a value already."""
    added = [name for name in variables if name not in os.environ]
    os.environ.update({name: variables[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]
