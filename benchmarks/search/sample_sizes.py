"""The best search for each number of samples: the findings of a published study, looked for on other spaces.

J. Tørring and A. Elster, "Analyzing search techniques for autotuning image-based GPU kernels: the impact of sample
sizes", IPDPS workshops 2022: Bayesian optimisation is ahead of random search with 25 to 100 samples, the genetic
algorithm with 200 and more, at a significance of 0.01; 800 runs with 25 samples down to 50 with 400.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.search.collection import Collection, tasks_of
from polytune.lab import RecordedSpace, Results
from polytune.lab.figures import draw_all
from polytune.lab.statistics import SIGNIFICANCE, compare, corrected, mann_whitney

SIZES = (25, 50, 100, 200, 400)
_ALL_SAMPLES = 20_000
SEARCHES = ("random", "random_forest", "genetic", "gaussian_process", "tpe")
CLAIMS: Mapping[str, Sequence[int]] = {
    "gaussian_process": (25, 50, 100),
    "tpe": (25, 50, 100),
    "genetic": (200, 400),
}
"""The sample sizes with which a search is said to be ahead of random search."""


def runs_with(samples: int) -> int:
    """The number of runs that the study has with a number of samples: the fewer samples, the more runs, 800 to 50."""
    return max(1, _ALL_SAMPLES // samples)


def study(
    spaces: Sequence[RecordedSpace],
    collection: Collection,
    runs: Mapping[int, int],
    searches: Sequence[str],
    plot: Path | None = None,
) -> dict[str, Any]:
    """Compare every search with random search, on every space and over all of them.

    Args:
        spaces: the recorded spaces.
        collection: makes the runs.
        runs: how many there are with each sample size.
        searches: which; ``random`` among them.
        plot: where the study's figures are drawn; None for nowhere.
    """
    found = [collection.collect(recorded, tasks_of(searches, dict(runs))) for recorded in spaces]
    others = [search for search in searches if search != "random"]
    every = [compare(results, "random", search, size) for results in found for size in runs for search in searches]
    every = corrected(every)
    figures = [] if plot is None else draw_all(found, every, plot)
    comparisons = [comparison.to_json() for comparison in every if comparison.search != "random"]
    overall = [over_all_spaces(found, search, size) for size in runs for search in others]
    claims = {
        f"{row['search']} ahead of random with {row['samples']} samples": row["effect"] > 0.5
        and row["p"] < SIGNIFICANCE
        for row in overall
        if row["samples"] in CLAIMS.get(row["search"], ())
    }
    report: dict[str, Any] = {"comparisons": comparisons, "overall": overall, "reached": claims}
    return report if plot is None else {**report, "figures": [{"figure": str(file)} for file in figures]}


def over_all_spaces(found: Sequence[Results], search: str, size: int) -> dict[str, Any]:
    """The same test on the runs of all spaces together.

    So that spaces can be put together, a run counts as its slowdown divided by random search's median on its space.
    """
    sample: list[float] = []
    reference: list[float] = []
    for results in found:
        random = results.slowdowns("random", size)
        unit = statistics.median(random)
        sample += [slowdown / unit for slowdown in results.slowdowns(search, size)]
        reference += [slowdown / unit for slowdown in random]
    u, p = mann_whitney(sample, reference)
    ahead = sum(compare(results, "random", search, size).effect > 0.5 for results in found)
    return {
        "search": search,
        "samples": size,
        "median_speedup": statistics.median(reference) / statistics.median(sample),
        "effect": u / (len(sample) * len(reference)),
        "p": p,
        "spaces_ahead": ahead,
        "spaces": len(found),
    }
