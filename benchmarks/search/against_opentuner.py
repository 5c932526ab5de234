"""Polytune's searches beside OpenTuner: what tuning costs, what it proposes in vain, and what it finds.

OpenTuner knows no constraints, so that it proposes configurations that do not exist; they cost it nothing here but are
counted, and neither do those that fail.  What is compared is the time that an application would have waited for: of an
online tuner that of its calls, which may run the best configuration again (`benchmarks.search.online`), of any other
search that of the configurations evaluated.  An online tuner goes on beyond them, as an application does, and what it
comes to with that is compared as well.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.search import online
from benchmarks.search.collection import Collection, tasks_of
from benchmarks.search.foreign import ForeignTuner
from polytune.lab import RecordedSpace, Run

NAME = MODULE = "opentuner"
SCRIPT = Path(__file__).with_name("opentuner_script.py")
SEARCHES = (f"{online.NAME}:portfolio", online.NAME, "portfolio")
SEARCH = f"{NAME}:default"
ITERATIONS = 100
CALLS = 1000
"""The number of calls in which an online tuner is to have converged."""
LEAD = 1.7


def study(
    recorded: RecordedSpace, collection: Collection, tuner: ForeignTuner, searches: Sequence[str], repeats: int
) -> dict[str, Any]:
    """Compare on one space.

    Args:
        recorded: the space.
        collection: makes polytune's runs.
        tuner: makes OpenTuner's.
        searches: polytune's; the goals are those of the first.
        repeats: how many runs there are of each.
    """
    # OpenTuner's invalid proposals are not among what is kept of a run, so its runs are made every time.
    uncollected = Collection(None, collection.seed, collection.jobs)
    rival = uncollected.collect(recorded, tasks_of([SEARCH], {ITERATIONS: repeats}), tuner.runs)
    runs = {SEARCH: rival.of_search(SEARCH, ITERATIONS)}
    for search in searches:
        is_online = search.partition(":")[0] == online.NAME
        count = CALLS if is_online else ITERATIONS
        make = partial(online.online_runs, seed=collection.seed) if is_online else None
        own = collection.collect(recorded, tasks_of([search], {count: repeats}), make)
        runs[search] = own.of_search(search, count)
    table = {name: describe(found, recorded.optimum) for name, found in runs.items()}
    table[SEARCH]["invalid_proposals"] = statistics.fmean(tuner.invalid.values())
    lead = {search: table[SEARCH]["median_seconds"] / table[search]["median_seconds"] for search in searches}
    first = searches[0]
    return {
        "space": recorded.name,
        "searches": table,
        "lead": lead,
        "largest_possible_lead": table[SEARCH]["median_seconds"] / (ITERATIONS * recorded.optimum),
        "reached": {
            f"{first}: the first {ITERATIONS} iterations at least {LEAD} times cheaper": lead[first] >= LEAD,
            f"{first}: comes to nothing worse": table[first]["converged_slowdown"] <= table[SEARCH]["median_slowdown"],
        },
    }


def describe(runs: Sequence[Run], optimum: float) -> dict[str, Any]:
    """The time of the first iterations and the best that they found, and what all of them found; failures take no
    time."""
    first = [run.slowdowns[:ITERATIONS] for run in runs]
    seconds = [optimum * math.fsum(s for s in slowdowns if math.isfinite(s)) for slowdowns in first]
    best = [min(slowdowns, default=math.inf) for slowdowns in first]
    return {
        "runs": len(runs),
        "median_seconds": statistics.median(seconds),
        "mean_seconds": statistics.fmean(seconds),
        "median_slowdown": statistics.median(best),
        "mean_slowdown": statistics.fmean(best),
        "converged_slowdown": statistics.median(run.slowdown for run in runs),
        "failed_evaluations": statistics.fmean(sum(map(math.isinf, slowdowns)) for slowdowns in first),
        "invalid_proposals": 0.0,
    }
