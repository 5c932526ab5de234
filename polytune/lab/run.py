"""One run of a search on a recorded space."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from polytune.lab.recording import RecordedSpace
from polytune.lab.searchers import SEARCHES
from polytune.records import dataclass
from polytune.tuner import FiniteSearcher, Method

_DIGITS = 7
"""Significant digits of a slowdown that are kept: more than any measurement has, and half the size in a file."""


Settings = Mapping[str, Mapping[str, Any]]
"""Keyword arguments of searches, by the searches' names."""

NO_SETTINGS: Settings = MappingProxyType({})


@dataclass(frozen=True)
class Task:
    """A run that is to be made: of which search, with how many evaluations, and its number among the repeats.

    The search may have settings, as in ``genetic:population=30``.
    """

    search: str
    budget: int
    repeat: int


@dataclass(frozen=True)
class Run:
    """The evaluations of a search.

    Attributes:
        task: what was to be run.
        slowdowns: for each evaluation, in order, the time of the configuration divided by that of the fastest one in
            the space; infinite where the configuration failed.
        final: the slowdown of the configuration that was chosen, measured anew; None where evaluations are the medians
            of all measurements, so that there is nothing to find out.
    """

    task: Task
    slowdowns: tuple[float, ...]
    final: float | None = None

    @property
    def evaluations(self) -> int:
        """Return how many configurations were evaluated, failed ones included: fewer than the budget where the space
        ended."""
        return len(self.slowdowns)

    @property
    def slowdown(self) -> float:
        """The slowdown of the best configuration found, measured anew where it was; infinite if none ran."""
        if self.final is not None:
            return self.final
        return min(self.slowdowns, default=math.inf)

    @cached_property
    def curve(self) -> np.ndarray:
        """(evaluations,) float64, the slowdown of the best configuration so far, after each evaluation."""
        return np.minimum.accumulate(np.array(self.slowdowns))

    def to_json(self) -> dict[str, Any]:
        """The run as a dictionary; an evaluation that failed is None."""
        return {
            "search": self.task.search,
            "budget": self.task.budget,
            "repeat": self.task.repeat,
            "slowdowns": [slowdown if math.isfinite(slowdown) else None for slowdown in self.slowdowns],
            **({} if self.final is None else {"final": self.final if math.isfinite(self.final) else None}),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Run:
        """The run that `to_json` wrote.

        Raises:
            KeyError, TypeError, ValueError, OverflowError: the document is something else.
        """
        task = Task(str(document["search"]), int(document["budget"]), int(document["repeat"]))
        slowdowns = tuple(math.inf if value is None else float(value) for value in document["slowdowns"])
        final = document.get("final", 1.0)
        final = math.inf if final is None else float(final)
        if not all(slowdown >= 1 for slowdown in (*slowdowns, final)):
            raise ValueError("a slowdown is below 1 or not a number")
        return cls(task, slowdowns, final if "final" in document else None)


def make_run(
    recorded: RecordedSpace,
    task: Task,
    seed: int,
    settings: Settings = NO_SETTINGS,
    remeasured: int = 0,
    enough: float | None = None,
) -> Run:
    """Run a search until its budget is spent or it has converged.

    The random choices depend on the seed, the search, the budget and the repeat alone, so a run is the same whichever
    others are made, in which order and in how many processes.

    Args:
        recorded: the space.
        task: which search, with which budget.
        seed: what its random choices come from.
        settings: of searches, by their names, as their classes describe them.
        remeasured: 0, and an evaluation is the median of all that was measured of a configuration.  Otherwise it is one
            of the single measurements, drawn at random, as a search in use would make it, and the configuration that
            comes out best is measured so many times, which gives the run's result (Tørring and Elster, IPDPSW 2022,
            section V, have 10).
        enough: a slowdown at which the run ends; None lets it go on.

    Raises:
        SearchError: there is no such search, or it lacks a setting.
    """
    return run_search(recorded, task, seed, settings, remeasured, enough)[0]


def run_search(
    recorded: RecordedSpace,
    task: Task,
    seed: int,
    settings: Settings = NO_SETTINGS,
    remeasured: int = 0,
    enough: float | None = None,
    watch: Callable[[int], None] = lambda _: None,
) -> tuple[Run, FiniteSearcher]:
    """Run a search as `make_run` does.

    Args:
        recorded, task, seed, settings, remeasured, enough: as for `make_run`.
        watch: called with the row after each evaluation.

    Returns:
        The run, and the search at its end, which may tell what it has learned.
    """
    rng = np.random.default_rng([seed, zlib.crc32(task.search.encode()), task.budget, task.repeat])
    search = SEARCHES.make(
        task.search, recorded.space, rng, budget=task.budget, **settings.get(Method.of(task.search).name, {})
    )
    slowdowns: list[float] = []
    noise = np.random.default_rng([seed, zlib.crc32(task.search.encode()), task.budget, task.repeat, 1])
    while len(slowdowns) < task.budget and not search.converged:
        index = search.ask()
        cost = _measured(recorded, index, noise) if remeasured else recorded.cost(index)
        search.tell(index, cost)
        slowdowns.append(_rounded(cost / recorded.optimum))
        watch(index)
        if enough is not None and slowdowns[-1] <= enough:
            break
    final = None
    if remeasured:
        best = search.best
        final = math.inf
        if best is not None:
            times = [_measured(recorded, best[0], noise) for _ in range(remeasured)]
            final = _rounded(math.fsum(times) / remeasured / recorded.optimum)
    return Run(task, tuple(slowdowns), final), search


def _measured(recorded: RecordedSpace, index: int, rng: np.random.Generator) -> float:
    """One of the measurements of a row in seconds; infinite where it failed."""
    times = recorded.measurements[index]
    return times[int(rng.integers(len(times)))] if times else math.inf


def _rounded(slowdown: float) -> float:
    return max(1.0, float(f"{slowdown:.{_DIGITS}g}"))


def check_search(name: str) -> None:
    """See to it that a search can be made.

    Raises:
        SearchError: there is no search of this name, or it has no such setting.
        MissingLibraryError: it needs a library that is not installed.
    """
    SEARCHES.check(name)
