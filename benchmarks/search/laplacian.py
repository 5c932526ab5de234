"""The Laplacian kernel's space: what the design of experiments finds with few points, and others with more.

Published (P. Bruel, "Autotuning: a design of experiments approach", 2018): D-optimal designs with a transformed linear
model reach a mean slowdown of 1.01 with 54.84 points, OpenTuner 1.16 with 120.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.search.collection import Collection, tasks_of
from polytune.lab import RecordedSpace, Results

SEARCHES = ("dlmt", "portfolio", "gaussian_process", "random_forest", "genetic", "random")
POINTS, MORE_POINTS = 55, 120
DESIGNED_LIMIT, BEST_LIMIT = 1.013, 1.005


def study(recorded: RecordedSpace, collection: Collection, repeats: int, searches: Sequence[str]) -> dict[str, Any]:
    """DLMT at 55 points, and every search at 120.

    Args:
        recorded: the space.
        collection: makes the runs.
        repeats: how many runs there are of each search.
        searches: those with 120 points.
    """
    designed = collection.collect(recorded, tasks_of(["dlmt"], {POINTS: repeats}))
    others = collection.collect(recorded, tasks_of(searches, {MORE_POINTS: repeats}))
    dlmt = describe(designed, "dlmt", POINTS)
    found = {search: describe(others, search, MORE_POINTS) for search in searches}
    best = min(found, key=lambda search: found[search]["mean_slowdown"])
    return {
        "dlmt": dlmt,
        "searches": found,
        "best": best,
        "reached": {
            f"dlmt within {DESIGNED_LIMIT} with {POINTS} points": dlmt["mean_slowdown"] <= DESIGNED_LIMIT,
            f"best within {BEST_LIMIT} with {MORE_POINTS} points": found[best]["mean_slowdown"] <= BEST_LIMIT,
        },
    }


def describe(results: Results, search: str, budget: int) -> dict[str, Any]:
    """The results of the runs of a search: mean, deviation, quartiles, extremes, and the evaluations it took."""
    slowdowns = results.slowdowns(search, budget)
    first, median, third = statistics.quantiles(slowdowns, n=4) if len(slowdowns) > 1 else slowdowns * 3
    return {
        "runs": len(slowdowns),
        "mean_slowdown": statistics.fmean(slowdowns),
        "deviation": statistics.stdev(slowdowns) if len(slowdowns) > 1 else 0.0,
        "quartiles": [first, median, third],
        "largest": max(slowdowns),
        "mean_evaluations": statistics.fmean(run.evaluations for run in results.of_search(search, budget)),
    }
