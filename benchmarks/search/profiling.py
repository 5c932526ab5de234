"""The steps that a search guided by performance counters needs, beside random search.

J. Filipovič et al., "Using hardware performance counters to speed up autotuning convergence on GPUs", JPDC 2022: steps
until a configuration is within 1.1 times the best.
"""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.search.collection import Collection, tasks_of
from polytune.lab import RecordedSpace, Run

CLOSE = 1.1
LIMIT = 15
BUDGETS = {"profile": 300, "random": 3000}
"""The most evaluations of each search: several times what a run needs."""


def study(recorded: RecordedSpace, collection: Collection, repeats: int) -> dict[str, Any]:
    """The steps of the profile-based and of random search on a space with counters.

    Args:
        recorded: the space.
        collection: makes the runs, with the settings that the profile-based search needs.
        repeats: how many of each.
    """
    tasks = [task for search, budget in BUDGETS.items() for task in tasks_of([search], {budget: repeats})]
    results = collection.collect(recorded, tasks)
    steps = {search: [steps_to(run) for run in results.of_search(search, budget)] for search, budget in BUDGETS.items()}
    return {
        "space": recorded.name,
        "options": collection.options,
        "runs": repeats,
        "mean_steps": {search: statistics.fmean(counts) for search, counts in steps.items()},
        "median_steps": {search: statistics.median(counts) for search, counts in steps.items()},
        "most_steps": {search: max(counts) for search, counts in steps.items()},
        "reached": {
            f"at most {LIMIT} steps": statistics.fmean(steps["profile"]) <= LIMIT,
            "at most a third of random search's": 3 * statistics.fmean(steps["profile"])
            <= statistics.fmean(steps["random"]),
        },
    }


def steps_to(run: Run, slowdown: float = CLOSE) -> int:
    """The number of evaluations that it took to come that close; one more than were made where it never did."""
    return next((number for number, value in enumerate(run.slowdowns, 1) if value <= slowdown), run.evaluations + 1)
