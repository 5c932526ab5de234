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
from polytune.lab.run import Task
from polytune.tuner import Budget, Configuration, Nominal, OnlineTuner, Ordinal, Space

NAME = "online"
"""The search with the tuner's own choice of methods; ``online:METHOD`` searches numeric parameters by another."""

_ABSENT = "absent"  # the level of a parameter that does not exist under the values of others
_DIGITS = 7
_BUDGET = Budget(excess=math.inf)  # a first configuration drawn at random is none that calls are to be measured by


class RecordedApplication:
    """What a recorded space looks like from an application: parameters, and what a call takes.

    Args:
        recorded: the space.
        start: the row of the configuration that the application has at first.
    """

    def __init__(self, recorded: RecordedSpace, start: int):
        table = recorded.space
        self._recorded = recorded
        levels = [tuple(_ABSENT if level is None else level for level in column) for column in table.levels]
        self._names = [f"parameter_{column}" for column in range(len(levels))]
        self._position = [{level: index for index, level in enumerate(column)} for column in levels]
        self.space = Space(
            [
                (Ordinal if ordered else Nominal)(name, column, default=column[level])
                for name, column, ordered, level in zip(
                    self._names, levels, table.ordered, table.rows[start].tolist(), strict=True
                )
            ]
        )

    def row(self, configuration: Configuration) -> int | None:
        """The row of a configuration; None where the recording has none."""
        values = (configuration[name] for name in self._names)
        return self._recorded.space.index_of([at[value] for at, value in zip(self._position, values, strict=True)])

    def reject(self, configuration: Configuration) -> str | None:
        """Why a configuration is not to be proposed: the recording does not have it."""
        return None if self.row(configuration) is not None else "it is not a configuration of the space"

    def slowdown(self, configuration: Configuration) -> float:
        """What a call takes, divided by the time of the fastest configuration; infinite where it fails."""
        row = self.row(configuration)
        return math.inf if row is None else float(self._recorded.slowdowns[row])


def online_runs(recorded: RecordedSpace, tasks: Sequence[Task], seed: int) -> Iterator[Run]:
    """A run for each task; its slowdowns are what the calls took, its budget the number of calls."""
    for task in tasks:
        yield _run(recorded, task, np.random.default_rng([seed, zlib.crc32(task.search.encode()), task.repeat]))


def _run(recorded: RecordedSpace, task: Task, rng: np.random.Generator) -> Run:
    application = RecordedApplication(recorded, int(rng.choice(np.flatnonzero(np.isfinite(recorded.seconds)))))
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
        if application.slowdown(configuration) == math.inf:
            tuner.fail(configuration, "the recording says that it fails")
            best = tuner.best
            assert best is not None  # the start runs
            configuration = best[0]
        taken = application.slowdown(configuration)
        tuner.report(configuration, taken)
        calls.append(max(1.0, float(f"{taken:.{_DIGITS}g}")))
    return Run(task, tuple(calls))
