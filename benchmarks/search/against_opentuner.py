"""Polytune's searches beside OpenTuner: what tuning costs, what it proposes in vain, and what it finds.

OpenTuner knows no constraints, so that it proposes configurations that do not exist; they cost it nothing here but are
counted.  What is compared is the time of the configurations evaluated, which an application would have waited for.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.search.collection import Collection, tasks_of
from benchmarks.search.foreign import ForeignTuner
from polytune.replay import RecordedSpace, Run

NAME = MODULE = "opentuner"
SCRIPT = Path(__file__).with_name("opentuner_script.py")
SEARCHES = ("portfolio", "genetic", "greedy_restart")
SEARCH = f"{NAME}:default"
ITERATIONS = 100
LEAD = 1.7


def study(
    recorded: RecordedSpace, collection: Collection, tuner: ForeignTuner, searches: Sequence[str], repeats: int
) -> dict[str, Any]:
    """Compare on one space.

    Args:
        recorded: the space.
        collection: makes polytune's runs.
        tuner: makes OpenTuner's.
        searches: polytune's.
        repeats: how many runs there are of each.
    """
    # OpenTuner's invalid proposals are not among what is kept of a run, so its runs are made every time.
    uncollected = Collection(None, collection.seed, collection.jobs)
    rival = uncollected.collect(recorded, tasks_of([SEARCH], {ITERATIONS: repeats}), tuner.runs)
    own = collection.collect(recorded, tasks_of(searches, {ITERATIONS: repeats}))
    runs = {SEARCH: rival.of_search(SEARCH, ITERATIONS), **{s: own.of_search(s, ITERATIONS) for s in searches}}
    table = {name: describe(found, recorded.optimum) for name, found in runs.items()}
    table[SEARCH]["invalid_proposals"] = statistics.fmean(tuner.invalid.values())
    best = min(searches, key=lambda search: table[search]["median_seconds"])
    lead = table[SEARCH]["median_seconds"] / table[best]["median_seconds"]
    return {
        "space": recorded.name,
        "searches": table,
        "lead": lead,
        "reached": {
            f"{best}: the first {ITERATIONS} iterations at least {LEAD} times cheaper": lead >= LEAD,
            f"{best}: finds nothing worse": table[best]["median_slowdown"] <= table[SEARCH]["median_slowdown"],
        },
    }


def describe(runs: Sequence[Run], optimum: float) -> dict[str, Any]:
    """The time of what was evaluated, and the best that was found; failures take no time."""
    seconds = [optimum * math.fsum(s for s in run.slowdowns if math.isfinite(s)) for run in runs]
    slowdowns = [run.slowdown for run in runs]
    return {
        "runs": len(runs),
        "median_seconds": statistics.median(seconds),
        "mean_seconds": statistics.fmean(seconds),
        "median_slowdown": statistics.median(slowdowns),
        "mean_slowdown": statistics.fmean(slowdowns),
        "failed_evaluations": statistics.fmean(sum(map(math.isinf, run.slowdowns)) for run in runs),
        "invalid_proposals": 0.0,
    }
