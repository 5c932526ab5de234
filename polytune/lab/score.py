"""One number for how good a search is over a whole run, and over several spaces: 0 is the baseline, 1 the optimum.

After e evaluations the search's best time is F(e) and the baseline's B(e), both means over the repeats; the optimum is
1, as all times are slowdowns.  Then

    P(e) = (B(e) - F(e)) / (B(e) - 1)

is the part of the way from the baseline to the optimum that the search is ahead.  The score on a space is the mean of
P(e) over all e of the budget, and the aggregated score the mean over the spaces.  Negative scores are possible: the
search is worse than the baseline.

The definition is that of F.-J. Willemsen et al., "A methodology for comparing optimization algorithms for auto-tuning",
Future Generation Computer Systems 159, 2024, with random search as the baseline, and with evaluations in the place of
seconds.  As there, evaluations stop counting where the baseline itself has come 95 % of the way from the space's median
to its optimum: what is left to win there is noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from polytune.lab.results import Results, curves
from polytune.lab.run import Run

CUT_OFF = 0.95


def score(results: Results, search: str, baseline: str, budget: int) -> float:
    """The score of a search on one space; NaN where no evaluation counts, and 0 for the baseline itself.

    Random search as the baseline is known exactly (`Setting.random_curve`), so that nothing depends on its runs.

    Args:
        results: with runs of both searches on the space.
        search: the name of the search.
        baseline: the name of the search that has the score 0.
        budget: how many evaluations the runs had.
    """
    if search == baseline:
        return 0.0
    median = results.setting.median
    curve = _mean_curve(results.of_search(search, budget), median)
    if baseline == "random" and len(results.setting.random_curve) >= len(curve):
        reference = np.array(results.setting.random_curve)
    else:
        reference = _mean_curve(results.of_search(baseline, budget), median)
    return score_of_curves(curve, reference, median)


def score_interval(
    results: Sequence[Results], search: str, budget: int, *, resamples: int = 200, seed: int = 0
) -> tuple[float, float]:
    """The 95 % confidence interval of the aggregated score against random search: of what runs of the search would give
    on these spaces, by the bootstrap.

    Args:
        results: with runs of the search, one for each space.
        search: its name.
        budget: how many evaluations the runs had.
        resamples: how often the runs of each space are drawn anew, with replacement.
        seed: what they are drawn by.

    Returns:
        The lower and the upper end; NaN where no evaluation counts on any space.
    """
    rng = np.random.default_rng(seed)
    spaces = []
    for each in results:
        median = each.setting.median
        spaces.append((_filled(each.of_search(search, budget), median), np.array(each.setting.random_curve), median))
    found = [
        aggregate(
            score_of_curves(runs[rng.integers(len(runs), size=len(runs))].mean(axis=0), reference, median)
            for runs, reference, median in spaces
        )
        for _ in range(resamples)
    ]
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def _mean_curve(runs: Iterable[Run], median: float) -> np.ndarray:
    mean: np.ndarray = _filled(runs, median).mean(axis=0)
    return mean


def _filled(runs: Iterable[Run], median: float) -> np.ndarray:
    """(runs, evaluations) the best slowdown so far.  A run that has found nothing that runs is taken to have the
    space's median, or what it finds first if that is worse."""
    each = curves(runs)
    first = np.array([next((value for value in curve if math.isfinite(value)), median) for curve in each.tolist()])
    nothing = np.maximum(first, median)[:, None]
    filled: np.ndarray = np.where(np.isfinite(each), each, nothing)
    return filled


def score_of_curves(curve: np.ndarray, reference: np.ndarray, median: float) -> float:
    """The mean of P(e).

    Args:
        curve: (evaluations,) the mean best slowdown of the search so far.
        reference: (evaluations,) that of the baseline.
        median: the median slowdown of the space.

    Returns:
        The mean over the evaluations that count; NaN if none does.
    """
    length = min(len(curve), len(reference))
    curve, reference = curve[:length], reference[:length]
    counts = np.isfinite(curve) & np.isfinite(reference) & (reference - 1 > (1 - CUT_OFF) * (median - 1))
    if not counts.any():
        return math.nan
    ahead = (reference[counts] - curve[counts]) / (reference[counts] - 1)
    return float(ahead.mean())


def aggregate(scores: Iterable[float]) -> float:
    """The mean of the scores on several spaces, without those that are NaN; NaN if all are."""
    meaningful = [score for score in scores if not math.isnan(score)]
    return math.fsum(meaningful) / len(meaningful) if meaningful else math.nan
