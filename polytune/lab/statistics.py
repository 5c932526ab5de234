"""Comparisons of searches: medians, a significance test, and the size of the effect.

The procedure is that of J. Tørring and A. Elster, "Analyzing search techniques for autotuning image-based GPU kernels:
the impact of sample sizes", IPDPS workshops 2022, sections II-C and V: the Mann-Whitney U test, because what searches
find is distributed like nothing known, at a level of 0.01, and the common language effect size.

When tuning has paid for itself is a question of its own.  Tuning costs the time of the configurations it evaluates;
then every call takes the time of the best one found, where without tuning it would take that of a typical
configuration.  On a recorded space a typical one is the median: what somebody has who does not tune.  A call for which
a configuration fails is served by the typical one.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from polytune.lab.results import Results
from polytune.lab.run import Run
from polytune.lab.score import score
from polytune.records import dataclass
from polytune.tuner.extras import library

SIGNIFICANCE = 0.01
"""The p-value below which a difference counts."""


@dataclass(frozen=True)
class Comparison:
    """A search against a baseline, on one space with one budget.

    Attributes:
        space, search, baseline, budget: what is compared.
        repeats: how many runs of the search there are.
        mean_slowdown, median_slowdown: of what its runs found; infinite where too many found nothing that runs.
        percentage_of_optimum: 100 times the optimum divided by the median time found.
        speedup: how many times as fast as the baseline's median the search's is.
        effect: the common language effect size: the probability that a run of the search finds a faster
            configuration than a run of the baseline, ties counted half.
        u: the statistic of the Mann-Whitney test, the number of pairs of runs in which the search wins.
        p: the two-sided p-value.
        p_corrected: that after Holm's correction for all comparisons that were made together, see `corrected`.
        score: the aggregated score on this space, see `polytune.lab.score`; NaN where it has no meaning.
        calls_to_pay: the median over the runs of the call from which on tuning has paid, against the median
            configuration, see `polytune.lab.statistics`; infinite where it never does.
    """

    space: str
    search: str
    baseline: str
    budget: int
    repeats: int
    mean_slowdown: float
    median_slowdown: float
    percentage_of_optimum: float
    speedup: float
    effect: float
    u: float
    p: float
    p_corrected: float
    score: float
    calls_to_pay: float

    @property
    def is_significant(self) -> bool:
        """Return whether chance alone hardly explains the difference, nor the best of as many differences."""
        return self.p_corrected < SIGNIFICANCE

    def to_json(self) -> dict[str, Any]:
        """The comparison as a dictionary; numbers that are not finite are None."""
        finite = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in asdict(self).items()}
        return {**finite, "significant": self.is_significant}


def mann_whitney(sample: Sequence[float], baseline: Sequence[float]) -> tuple[float, float]:
    """U, the number of pairs in which the sample's value is smaller, ties counted half, and the two-sided p-value.

    Args:
        sample, baseline: slowdowns or times, where smaller is better; infinite ones are larger than all others.

    Raises:
        MissingLibraryError: SciPy is not installed.
    """
    stats = library("scipy.stats", "the Mann-Whitney test")
    ranked = _finite_ranks([*sample, *baseline])
    # With the baseline first, U counts the pairs in which the baseline's value is larger.
    found = stats.mannwhitneyu(ranked[len(sample) :], ranked[: len(sample)], alternative="two-sided")
    # Where all values are one value the test divides by zero; there is no difference then.
    return float(found.statistic), 1.0 if math.isnan(found.pvalue) else float(found.pvalue)


def _finite_ranks(values: Sequence[float]) -> list[float]:
    """The values with one that is larger than all others in the place of infinity."""
    finite = [value for value in values if math.isfinite(value)]
    return [value if math.isfinite(value) else max(finite, default=0.0) + 1 for value in values]


def compare(results: Results, baseline: str, search: str, budget: int) -> Comparison:
    """Compare a search with the baseline; both must have runs with this budget.

    Args:
        results: with runs of both searches on the space.
        baseline: the name of the search that the other one is compared with.
        search: the name of the other one.
        budget: how many evaluations the runs had.

    Raises:
        MissingLibraryError: SciPy is not installed.
    """
    found, reference = results.slowdowns(search, budget), results.slowdowns(baseline, budget)
    u, p = mann_whitney(found, reference)
    median = statistics.median(found)
    untuned = results.setting.median
    return Comparison(
        space=results.setting.space,
        search=search,
        baseline=baseline,
        budget=budget,
        repeats=len(found),
        mean_slowdown=statistics.fmean(found),
        median_slowdown=median,
        percentage_of_optimum=100 / median,
        speedup=statistics.median(reference) / median if math.isfinite(median) else math.nan,
        effect=u / (len(found) * len(reference)),
        u=u,
        p=p,
        p_corrected=p,
        score=score(results, search, baseline, budget),
        calls_to_pay=statistics.median(calls_to_pay(run, untuned) for run in results.of_search(search, budget)),
    )


def corrected(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons with p-values that take into account how many there are, by `holm`.

    Comparisons of the baseline with itself do not count.
    """
    tests = [number for number, c in enumerate(comparisons) if c.search != c.baseline]
    found = list(comparisons)
    for number, p in zip(tests, holm([comparisons[number].p for number in tests]), strict=True):
        found[number] = replace(comparisons[number], p_corrected=p)
    return found


def holm(values: Sequence[float]) -> list[float]:
    """The p-values of tests that are made together, so that the probability that any of the differences that are called
    significant is chance stays below the level.

    The correction is that of S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal
    of Statistics 6, 1979.
    """
    found = list(values)
    largest = 0.0
    for rank, number in enumerate(sorted(range(len(values)), key=lambda number: values[number])):
        largest = max(largest, min((len(values) - rank) * values[number], 1.0))
        found[number] = largest
    return found


def time_per_call(runs: Iterable[Run], untuned: float, calls: np.ndarray) -> np.ndarray:
    """The mean time of a call, tuning included, after so many calls, divided by that without tuning.

    The first calls are the evaluations themselves, as in online tuning.

    Args:
        runs: the repeats of a search; at least one.
        untuned: the slowdown of the configuration that would be used without tuning.
        calls: (n,) ascending numbers of calls, each at least 1.

    Returns:
        (n,) the mean over the runs; below 1 where tuning has paid.  Runs that found nothing that runs are left out;
        NaN if all of them are.
    """
    each = []
    for run in runs:
        if not math.isfinite(run.slowdown):
            continue
        spent = np.concatenate([[0.0], np.cumsum(_costs(run, untuned))])
        tuning = np.minimum(calls, run.evaluations)
        each.append((spent[tuning] + (calls - tuning) * run.slowdown) / (calls * untuned))
    return np.mean(each, axis=0) if each else np.full(len(calls), math.nan)


def calls_to_pay(run: Run, untuned: float) -> float:
    """Return from which call on the total time, tuning included, stays below that without tuning; infinite if never.

    Args:
        run: what was evaluated, one evaluation a call.
        untuned: the slowdown of the configuration that would be used without tuning.
    """
    if not run.slowdown < untuned:
        return math.inf
    saved = np.cumsum(untuned - _costs(run, untuned))
    if saved[-1] <= 0:
        calls: float = run.evaluations + math.floor(-saved[-1] / (untuned - run.slowdown)) + 1
        return calls
    behind = np.flatnonzero(saved <= 0)
    return int(behind[-1]) + 2 if behind.size else 1


def _costs(run: Run, untuned: float) -> np.ndarray:
    """Return what the call of each evaluation takes."""
    return np.array([slowdown if math.isfinite(slowdown) else untuned for slowdown in run.slowdowns])
