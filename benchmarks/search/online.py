"""Polytune's online tuner on a recorded space: every iteration is a call of an application.

As in an application, a call may run the best configuration known once more, and one whose configuration fails is served
by the best.  The first configuration is one that runs, drawn at random: the recording has no default.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from polytune.lab import RecordedSpace, Run
from polytune.lab.application import Application
from polytune.lab.run import Task
from polytune.tuner import Budget, Configuration, OnlineTuner

NAME = "online"
"""The search with the tuner's own choice of methods; ``online:METHOD`` searches numeric parameters by another."""

_DIGITS = 7
_BUDGET = Budget(excess=math.inf)  # a first configuration drawn at random is none that calls are to be measured by


def online_runs(recorded: RecordedSpace, tasks: Sequence[Task], seed: int) -> Iterator[Run]:
    """A run for each task; its slowdowns are what the calls took, its budget the number of calls."""
    for task in tasks:
        yield _run(recorded, task, np.random.default_rng([seed, zlib.crc32(task.search.encode()), task.repeat]))


def _run(recorded: RecordedSpace, task: Task, rng: np.random.Generator) -> Run:
    application = Application(recorded.space, int(rng.choice(np.flatnonzero(np.isfinite(recorded.seconds)))))
    method = task.search.partition(":")[2]
    tuner = OnlineTuner(
        application.space,
        reject=application.reject,
        searchers={"numeric": method} if method else None,
        budget=_BUDGET,
        seed=int(rng.integers(1 << 31)),
    )
    calls = []
    for _ in range(task.budget):
        configuration = tuner.choose()
        if _slowdown(recorded, application, configuration) == math.inf:
            tuner.fail(configuration, "the recording says that it fails")
            best = tuner.best
            assert best is not None  # the start runs
            configuration = best[0]
        taken = _slowdown(recorded, application, configuration)
        tuner.report(configuration, taken)
        calls.append(max(1.0, float(f"{taken:.{_DIGITS}g}")))
    return Run(task, tuple(calls))


def _slowdown(recorded: RecordedSpace, application: Application, configuration: Configuration) -> float:
    """The time of a call over that of the fastest configuration; infinite where it fails."""
    row = application.row(configuration)
    return math.inf if row is None else float(recorded.slowdowns[row])
