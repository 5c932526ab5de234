"""Searches by the time that they take: their own, that of compiling, and that of what they measure.

As the Kernel Tuning Toolkit shows its searches (J. Filipovič et al., Data in Brief, 2021, "real-time tuning" and
``histogram.py``): for each second, how long the best kernel known by then runs, over all repeats.
"""

from __future__ import annotations

import csv
import io
import math
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from polytune.lab.recording import RecordedSpace
from polytune.lab.run import NO_SETTINGS, Settings, Task, run_search
from polytune.records import dataclass

__all__ = ["HistogramRow", "TimedRun", "histogram", "histogram_text", "timed_runs"]


@dataclass(frozen=True)
class TimedRun:
    """A run of a search by the clock.

    Attributes:
        task: what was run.
        elapsed: after each evaluation, the seconds since the start.
        best: after each evaluation, the seconds that the best configuration so far takes; infinite where none ran.
    """

    task: Task
    elapsed: tuple[float, ...]
    best: tuple[float, ...]

    def best_at(self, moment: float) -> float:
        """The time of the best configuration known some seconds after the start; infinite where there is none."""
        place = int(np.searchsorted(self.elapsed, moment, side="right")) - 1
        return self.best[place] if place >= 0 else math.inf


@dataclass(frozen=True)
class HistogramRow:
    """The times of the best configurations that the runs of a search know at a moment.

    Attributes:
        search: its name.
        seconds: since the start.
        mean, deviation, least, most: in seconds, over the runs that have found something; the standard deviation is
            that of a sample, 0 for a single run.
        runs: how many those are.
    """

    search: str
    seconds: float
    mean: float
    deviation: float
    least: float
    most: float
    runs: int


def timed_runs(
    recorded: RecordedSpace,
    tasks: Iterable[Task],
    seed: int,
    settings: Settings = NO_SETTINGS,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[TimedRun]:
    """The runs, one after the other, so that none takes time from another.

    An evaluation takes as long as all measurements of its configuration together, and as long as compiling its code
    where no evaluation before had the same code; what the search takes to think is measured.

    Args:
        recorded: the space.
        tasks: which search each run makes, and with which budget and repeat.
        seed: what the random choices of all runs come from.
        settings: of searches, by their names, where the defaults are not meant.
        clock: seconds from some fixed moment.
    """
    for task in tasks:
        stopwatch = _Stopwatch(recorded, clock)
        run_search(recorded, task, seed, settings, watch=stopwatch.evaluated)
        yield TimedRun(task, tuple(stopwatch.elapsed), tuple(stopwatch.best))


class _Stopwatch:
    """The time of one run: what the clock says of the search, and what is recorded of all else.

    Args:
        recorded: the space.
        clock: seconds from some fixed moment.
    """

    def __init__(self, recorded: RecordedSpace, clock: Callable[[], float]):
        self.elapsed: list[float] = []
        self.best: list[float] = []
        self._recorded, self._clock = recorded, clock
        self._compiled: set[int] = set()
        self._last = clock()

    def evaluated(self, row: int) -> None:
        """Take in that the search has asked for a row and been told its time."""
        cost = self._clock() - self._last + math.fsum(self._recorded.measurements[row])
        if len(self._recorded.codes) and self._recorded.codes[row] not in self._compiled:
            self._compiled.add(int(self._recorded.codes[row]))
            cost += float(self._recorded.compilation[row])
        self.elapsed.append((self.elapsed[-1] if self.elapsed else 0.0) + cost)
        self.best.append(min(self.best[-1] if self.best else math.inf, self._recorded.cost(row)))
        self._last = self._clock()


def histogram(runs: Sequence[TimedRun], step: float = 1.0) -> list[HistogramRow]:
    """The times that the runs of each search know at each moment, until the last of them ends.

    Moments at which no run has found anything have no row.

    Args:
        runs: of one search or of several.
        step: how many seconds lie between two moments.
    """
    rows = []
    for search in dict.fromkeys(run.task.search for run in runs):
        mine = [run for run in runs if run.task.search == search]
        end = max((run.elapsed[-1] for run in mine if run.elapsed), default=0.0)
        for number in range(1, math.ceil(end / step) + 1):
            known = [seconds for run in mine if (seconds := run.best_at(number * step)) < math.inf]
            if known:
                deviation = statistics.stdev(known) if len(known) > 1 else 0.0
                mean = statistics.fmean(known)
                rows.append(HistogramRow(search, number * step, mean, deviation, min(known), max(known), len(known)))
    return rows


def histogram_text(rows: Iterable[HistogramRow]) -> str:
    """The rows as a table in CSV, times in seconds."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["search", "seconds", "mean", "standard deviation", "minimum", "maximum", "runs"])
    for row in rows:
        times = (f"{value:.9g}" for value in (row.mean, row.deviation, row.least, row.most))
        writer.writerow([row.search, f"{row.seconds:g}", *times, row.runs])
    return stream.getvalue()
