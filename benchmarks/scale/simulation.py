"""Replay a whole campaign with simulated workers, up to a thousand, whose times come from recordings.

    python -m benchmarks.scale simulate --workers 10 100 1000

The campaign is the real one, with its searches and a history in a file; workers alone are simulated: each answers after
as long as the recording says that compiling and measuring take.  Where the campaign's own process, or Dask's scheduler,
cannot give out work as fast as it is done, workers wait: the share of their time in which they measure tells.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import platform
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np

from polytune.campaigns.pools import Pending, Place
from polytune.campaigns.running import Running
from polytune.campaigns.search import Settings
from polytune.campaigns.work import CampaignWork
from polytune.campaigns.worker import Failure, TimedRuns
from polytune.history import HistoryStore
from polytune.lab.application import Application
from polytune.lab.loading import EXAMPLE, examples, load
from polytune.lab.recording import RecordedSpace
from polytune.records import dataclass
from polytune.runtime.tuning.tuning_problem import TuningProblem
from polytune.tuner import Key
from polytune.version import __version__

__all__ = ["Answers", "ClusterOfSleepers", "Replayed", "SimulatedWorkers", "TimedHistory", "replay_campaign"]

RUNS = 6
"""The number of runs of a measurement, the one that does not count among them."""

SECONDS_TO_COMPILE = 1.0
"""The seconds of a compilation where they are not recorded."""

MACHINE = "a recorded machine"


@dataclass(frozen=True)
class Replayed:
    """A campaign that was replayed.

    Attributes:
        workers: how many there were.
        trials: how many configurations were measured.
        seconds: how long it took.
        busy: the share of the workers' time in which they had something to do, until the campaign began to run out of
            work.
        client: the processor seconds of the campaign's process for each trial.
        history: of these, those in which it recorded.
        submitted: of these, those in which it gave tasks to workers.
    """

    workers: int
    trials: int
    seconds: float
    busy: float
    client: float
    history: float
    submitted: float


class Answers:
    """The answers of workers to the tasks of a campaign, by recordings.

    Args:
        recorded: the spaces; kernel number k of a campaign has the space number k, from the front again after the last.
        seed: which configurations are the defaults.
        pace: how many times shorter than recorded everything is.
    """

    def __init__(self, recorded: Sequence[RecordedSpace], seed: int = 0, pace: float = 1.0):
        rng = np.random.default_rng(seed)
        self._recorded = list(recorded)
        self._applications = [Application(each.space, int(rng.integers(len(each)))) for each in recorded]
        self._pace = pace

    def work(self, searches: int) -> list[CampaignWork]:
        """The work of a campaign: so many kernels and shapes.

        Args:
            searches: how many.
        """
        return [CampaignWork("", "", f"kernel_{k % len(self._recorded)}", (("n", k),)) for k in range(searches)]

    def answer(self, function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[float, Any]:
        """The seconds that a task takes, and what comes of it.

        Args:
            function: what a worker is asked to call.
            arguments: with what.
        """
        if function.__name__ == "about":
            return 0.0, (__version__, platform.python_version(), MACHINE)
        number = int(arguments[0].kernel.rpartition("_")[2])
        recorded, application = self._recorded[number], self._applications[number]
        if function.__name__ == "describe":
            key = Key(arguments[0].kernel, arguments[0].shape, MACHINE)
            problem = TuningProblem(key, "", application.space, (application.space.default(),), {})
            return SECONDS_TO_COMPILE / self._pace, problem
        if function.__name__ == "compile_version":
            return SECONDS_TO_COMPILE / self._pace, SECONDS_TO_COMPILE
        asked = arguments[2] if function.__name__ == "compare" else [arguments[2]]
        rows = [application.row(each) for each in asked]
        costs = [float("inf") if row is None else recorded.cost(row) for row in rows]
        ran = [cost for cost in costs if np.isfinite(cost)]
        seconds = sum(RUNS * cost for cost in ran) / self._pace
        if len(ran) < len(costs):
            return seconds, Failure("it failed when it was recorded")
        timed = [TimedRuns(MACHINE, "", (cost,) * (RUNS - 1), 0.01) for cost in costs]
        return seconds, timed if function.__name__ == "compare" else timed[0]


class SimulatedWorkers:
    """Workers of which each answers after as long as it would take; one thread keeps the time of all.

    Args:
        count: how many.
        answers: what they answer.

    Attributes:
        session: as pools have it; nothing is ever lost here.
        submitting: the processor seconds that `submit` has taken.
        spans: of each task, from when to when a worker had it.
    """

    def __init__(self, count: int, answers: Answers):
        self.session = ""
        self._answers = answers
        self._places = {f"worker {k}": Place(f"worker {k}", f"host {k}", 1) for k in range(count)}
        self.submitting = 0.0
        self.spans: list[tuple[float, float]] = []

    def places(self) -> Mapping[str, Place]:
        """Return the workers, by name."""
        return self._places

    def restart(self, place: Place) -> bool:
        """Leave a worker as it is: none hangs."""
        return True

    def submit(self, place: Place, name: str, function: Callable[..., Any], *arguments: Any) -> Pending:
        """Have a worker answer, when it is time to.

        Args:
            place: the worker.
            name: what people call the task.
            function, arguments: what it would call.
        """
        begun = time.thread_time()
        seconds, result = self._answers.answer(function, arguments)
        now = time.monotonic()
        self.spans.append((now, now + seconds))
        pending = self._pending(place, name, seconds, result)
        self.submitting += time.thread_time() - begun
        return pending

    def _pending(self, place: Place, name: str, seconds: float, result: Any) -> Pending:
        return _timer.after(seconds, result)


class ClusterOfSleepers(SimulatedWorkers):
    """Simulated workers behind a real scheduler of Dask: threads of a few processes, which sleep and answer.

    Args:
        count: how many.
        answers: what they answer.
        client: of the cluster.
    """

    def __init__(self, count: int, answers: Answers, client: Any):
        super().__init__(count, answers)
        self._client = client
        processes = list(client.scheduler_info(n_workers=-1)["workers"])
        self._process = {name: processes[k % len(processes)] for k, name in enumerate(self._places)}
        self._numbers = itertools.count()

    def _pending(self, place: Place, name: str, seconds: float, result: Any) -> Pending:
        key = f"{name}-{next(self._numbers)}"
        where = [self._process[place.name]]
        pending: Pending = self._client.submit(_sleep, seconds, result, key=key, workers=where, pure=False)
        return pending


def _sleep(seconds: float, result: Any) -> Any:
    time.sleep(seconds)
    return result


class _Timer:
    """Answers futures when their time has come, from one thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: list[tuple[float, int, Future[Any], Any]] = []
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None

    def after(self, seconds: float, result: Any) -> Future[Any]:
        """A future that has a result after so many seconds."""
        future: Future[Any] = Future()
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._answer, name="simulated workers", daemon=True)
                self._thread.start()
            heapq.heappush(self._due, (time.monotonic() + seconds, next(self._numbers), future, result))
            if self._due[0][2] is future:
                self._changed.notify()
        return future

    def _answer(self) -> None:
        while True:
            with self._changed:
                while not self._due or self._due[0][0] > time.monotonic():
                    self._changed.wait(None if not self._due else max(0.0, self._due[0][0] - time.monotonic()))
                _, _, future, result = heapq.heappop(self._due)
            if not future.cancelled():
                future.set_result(result)


_timer = _Timer()


class TimedHistory(HistoryStore):
    """A history that knows how many processor seconds recording has taken."""

    recording = 0.0

    def record(self, *arguments: Any, **keywords: Any) -> None:
        """Record, as a `HistoryStore` does."""
        begun = time.thread_time()
        super().record(*arguments, **keywords)
        self.recording += time.thread_time() - begun


def replay_campaign(
    workers: int, searches: int, trials: int, *, pace: float = 1.0, through_dask: bool = False, seed: int = 0
) -> Replayed:
    """Run a campaign of simulated workers on the recordings that come with polytune.

    Args:
        workers: how many.
        searches: how many kernels and shapes there are.
        trials: how many configurations of each are measured.
        pace: how many times shorter than recorded everything is.
        through_dask: whether tasks go through a scheduler of Dask and processes of this machine.
        seed: what random choices come from.
    """
    answers = Answers([load(f"{EXAMPLE}{each}") for each in examples()], seed, pace)
    settings = Settings(trials, RUNS - 1, 1e9, 1e9, None, seed)
    with (
        tempfile.TemporaryDirectory(prefix="polytune-simulation-") as folder,
        _pool(workers, answers, through_dask) as (pool),
    ):
        history = TimedHistory(Path(folder))
        running = Running(answers.work(searches), pool, settings, history)
        begun, used = time.monotonic(), time.process_time()
        running.run()
        ended, used = time.monotonic(), time.process_time() - used
        entries = running.entries()
        history.close()
    done = sum(entry.trials for entry in entries)
    return Replayed(
        workers,
        done,
        ended - begun,
        _busy(pool.spans, workers, begun),
        used / done,
        history.recording / done,
        pool.submitting / done,
    )


def _busy(spans: Sequence[tuple[float, float]], workers: int, begun: float) -> float:
    """The share of the time of workers in which they had a task, until nine in ten of all tasks had begun."""
    until = sorted(start for start, _ in spans)[9 * len(spans) // 10]
    spent = sum(max(0.0, min(stop, until) - start) for start, stop in spans if start < until)
    return spent / (workers * max(until - begun, 1e-9))


@contextlib.contextmanager
def _pool(workers: int, answers: Answers, through_dask: bool) -> Iterator[SimulatedWorkers]:
    if not through_dask:
        yield SimulatedWorkers(workers, answers)
        return
    from distributed import Client, LocalCluster

    processes = 2
    threads = -(-workers // processes)
    options = {"n_workers": processes, "threads_per_worker": threads, "dashboard_address": None, "processes": True}
    with LocalCluster(**options, silence_logs=50) as cluster, Client(cluster) as client:
        yield ClusterOfSleepers(workers, answers, client)
