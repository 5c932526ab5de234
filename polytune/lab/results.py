"""The results of a simulation: the runs, and what they were made on."""

from __future__ import annotations

import hashlib
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from polytune.lab.recording import RecordedSpace
from polytune.lab.run import Run
from polytune.records import dataclass

_RANDOM_EVALUATIONS = 1000

QUANTILES = 201
"""The number of quantiles of the space's slowdowns that are kept: enough to draw its distribution without the space."""


@dataclass(frozen=True)
class Setting:
    """The setting that the runs of a simulation have in common.

    Attributes:
        space: the recording's name, and `device`, where it was measured.
        optimum: the time of the fastest configuration, in seconds.
        configurations: how many there are, and `failed`, how many of them failed.
        distribution: evenly spaced quantiles of the slowdowns of those that ran, from the least to the largest.
        fingerprint: 16 hexadecimal digits that change whenever the recording does.
        seed: what the random choices came from.
        options: what was set besides, for people.
        random_curve: the slowdown that random search has after each evaluation, on average over all its runs, up to a
            thousand evaluations; a run that has met only failures is taken to have the median, or what it finds first
            if that is worse.  Empty in files of earlier versions.
    """

    space: str
    device: str
    optimum: float
    configurations: int
    failed: int
    distribution: tuple[float, ...]
    fingerprint: str
    seed: int
    options: str = ""
    random_curve: tuple[float, ...] = field(default=(), compare=False)

    @classmethod
    def of(cls, recorded: RecordedSpace, seed: int, options: str = "") -> Setting:
        """The setting of simulations on a space.

        Args:
            recorded: the space with its times.
            seed: what the random choices come from.
            options: what else was set, for people to read.
        """
        ran = recorded.slowdowns[np.isfinite(recorded.slowdowns)]
        quantiles = np.quantile(ran, np.linspace(0, 1, QUANTILES))
        digest = hashlib.sha256(repr((recorded.name, recorded.space.names, recorded.space.levels)).encode())
        digest.update(np.ascontiguousarray(recorded.space.rows).tobytes() + recorded.seconds.tobytes())
        return cls(
            recorded.name,
            recorded.device,
            recorded.optimum,
            len(recorded),
            recorded.failed,
            tuple(float(f"{value:.6g}") for value in quantiles),
            digest.hexdigest()[:16],
            seed,
            options,
            tuple(float(f"{value:.6g}") for value in expected_random_curve(recorded.slowdowns, _RANDOM_EVALUATIONS)),
        )

    @property
    def median(self) -> float:
        """The median slowdown of the configurations that ran."""
        return self.distribution[len(self.distribution) // 2]

    def to_json(self) -> dict[str, Any]:
        """The setting as a dictionary."""
        return {**vars(self), "distribution": list(self.distribution), "random_curve": list(self.random_curve)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Setting:
        """The setting that `to_json` wrote; further fields are passed over.

        Raises:
            KeyError, TypeError, ValueError, OverflowError: the document is something else.
        """
        setting = cls(
            str(document["space"]),
            str(document["device"]),
            float(document["optimum"]),
            int(document["configurations"]),
            int(document["failed"]),
            tuple(float(value) for value in document["distribution"]),
            str(document["fingerprint"]),
            int(document["seed"]),
            str(document["options"]),
            tuple(float(value) for value in document.get("random_curve", ())),
        )
        if not setting.distribution or not all(1 <= value < math.inf for value in setting.distribution):
            raise ValueError("the distribution is no list of slowdowns")
        if not all(1 <= value < math.inf for value in setting.random_curve):
            raise ValueError("the curve of random search is no list of slowdowns")
        return setting


@dataclass(frozen=True)
class Results:
    """The runs of a simulation, in the order of search, budget and repeat."""

    setting: Setting
    runs: tuple[Run, ...]

    @classmethod
    def ordered(cls, setting: Setting, runs: Iterable[Run], searches: Iterable[str] = ()) -> Results:
        """The results of runs in any order.

        Args:
            setting: what they have in common.
            runs: the runs.
            searches: the order of the searches; others follow as they first appear.
        """
        runs = list(runs)
        names = dict.fromkeys([*searches, *(run.task.search for run in runs)])
        position = {name: number for number, name in enumerate(names)}
        runs.sort(key=lambda run: (position[run.task.search], run.task.budget, run.task.repeat))
        return cls(setting, tuple(runs))

    @property
    def searches(self) -> list[str]:
        """The names of the searches."""
        return list(dict.fromkeys(run.task.search for run in self.runs))

    @property
    def budgets(self) -> list[int]:
        """The budgets, ascending."""
        return sorted({run.task.budget for run in self.runs})

    def of_search(self, search: str, budget: int) -> list[Run]:
        """The repeats of one search with one budget."""
        return [run for run in self.runs if (run.task.search, run.task.budget) == (search, budget)]

    def slowdowns(self, search: str, budget: int) -> list[float]:
        """Return what each repeat found."""
        return [run.slowdown for run in self.of_search(search, budget)]

    def summary(self) -> dict[str, Any]:
        """The means, the median, minimum, quartiles and maximum, and the mean curve of each search and budget; None
        where a run found nothing."""
        rows = []
        for search in self.searches:
            for budget in self.budgets:
                runs = self.of_search(search, budget)
                if not runs:
                    continue
                slowdowns = [run.slowdown for run in runs]
                rows.append(
                    {
                        "search": search,
                        "budget": budget,
                        "repeats": len(runs),
                        "mean_slowdown": _finite(statistics.fmean(slowdowns)),
                        "median_slowdown": _finite(statistics.median(slowdowns)),
                        "quartiles": [_finite(value) for value in quartiles(slowdowns)],
                        "mean_evaluations": statistics.fmean(run.evaluations for run in runs),
                        "curve": [_finite(value) for value in mean_curve(runs).tolist()],
                        "curve_deviations": [_finite(value) for value in deviations(runs).tolist()],
                    }
                )
        return {"space": self.setting.space, "optimum": self.setting.optimum, "results": rows}


def expected_random_curve(slowdowns: np.ndarray, evaluations: int) -> np.ndarray:
    """The expected least slowdown after each evaluation of random search without replacement.

    Args:
        slowdowns: (n,) of all configurations, infinite where one failed.  A run that has met only failures is taken to
            have the median of the others, or what it finds first if that is worse.
        evaluations: for how many evaluations; at most n.

    Returns:
        (evaluations,) the means over all orders of the configurations.
    """
    ran = np.sort(slowdowns[np.isfinite(slowdowns)])
    # What comes first among those that ran is any of them, whatever number of failures comes before it.
    nothing_yet = np.maximum(ran, np.median(ran)).mean()
    ordered = np.concatenate([ran, np.full(len(slowdowns) - len(ran), nothing_yet)])
    count = len(ordered)
    steps = np.diff(ordered)
    above = count - 1.0 - np.arange(count - 1)  # how many are above each value but the last
    none_yet = np.ones(count - 1)  # the probability that none of the draws is at or below it
    found = np.empty(min(evaluations, count))
    for drawn in range(len(found)):
        none_yet *= np.maximum(above - drawn, 0.0) / (count - drawn)
        found[drawn] = ordered[0] + steps @ none_yet
    return found


def curves(runs: Iterable[Run]) -> np.ndarray:
    """(runs, evaluations) the best slowdowns so far; a run that ended before the others keeps its last value."""
    each = [run.curve for run in runs]
    length = max((len(curve) for curve in each), default=0)
    return np.array([np.concatenate([c, np.full(length - len(c), c[-1] if len(c) else math.inf)]) for c in each])


def quartiles(values: Sequence[float]) -> tuple[float, ...]:
    """The least value, the quartiles and the largest, as R's ``summary`` has them; infinite ones are the largest.

    Args:
        values: at least one.
    """
    ordered = sorted(values)
    found = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        place = share * (len(ordered) - 1)
        low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
        part = place - math.floor(place)
        found.append(low if part == 0 or low == high else low + part * (high - low))
    return tuple(found)


def mean_curve(runs: Iterable[Run]) -> np.ndarray:
    """(evaluations,) the mean best slowdown so far; infinite while a run has found nothing that runs."""
    mean: np.ndarray = curves(runs).mean(axis=0)
    return mean


def deviations(runs: Iterable[Run]) -> np.ndarray:
    """(evaluations,) the standard deviation, of a sample, of the best slowdown so far; infinite while a run has found
    nothing that runs, and 0 for a single run."""
    each = curves(runs)
    found: np.ndarray = np.full(each.shape[1], math.inf)
    known = np.isfinite(each).all(axis=0)
    found[known] = each[:, known].std(axis=0, ddof=1) if len(each) > 1 else 0.0
    return found


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
