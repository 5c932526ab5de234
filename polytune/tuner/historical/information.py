"""The mutual information of each parameter with the time: how much it has to do with that (section 4.1)."""

from __future__ import annotations

import math

import numpy as np

from polytune.errors import SearchError
from polytune.tuner.spaces.finite import FiniteSpace

__all__ = ["BINS", "mutual_information"]

BINS = 10
"""Into so many classes of equally many configurations times are sorted."""

_ROWS_OF_CLASS = 16  # of a sample, at least


def mutual_information(
    space: FiniteSpace, seconds: np.ndarray, bins: int = BINS, *, is_sample: bool = False
) -> dict[str, float]:
    """The mutual information of each parameter with the time, in bits, of the configurations that ran.

    It is the plug-in estimate: probabilities are the shares of the rows.  Parameters have few values each; times, which
    have not, are sorted into classes by their quantiles, so that only their order counts.

    Args:
        space: the configurations that were measured: a whole space, or a sample.
        seconds: (n,) float64, the time of each; infinite where it failed.
        bins: how many classes of times there are.
        is_sample: whether the rows are a few of many, of which the plug-in estimate is too large: Miller's and Madow's
            correction is made, and there are as many classes at most as have 16 rows each, but two.

    Raises:
        SearchError: there are less than two classes.
    """
    if bins < 2:
        raise SearchError(f"times have to be sorted into two classes or more, not {bins}")
    ran = np.isfinite(seconds)
    times = seconds[ran]
    bins = max(2, min(bins, len(times) // _ROWS_OF_CLASS)) if is_sample else bins
    limits = np.unique(np.quantile(times, np.linspace(0, 1, bins + 1)[1:-1]))
    classes = np.digitize(times, limits)
    return {
        name: _information(space.rows[ran, column], classes, is_sample=is_sample)
        for column, name in enumerate(space.names)
    }


def _information(levels: np.ndarray, classes: np.ndarray, *, is_sample: bool) -> float:
    counts = np.zeros((int(levels.max()) + 1, int(classes.max()) + 1))
    np.add.at(counts, (levels, classes), 1.0)
    together = counts / counts.sum()
    apart = together.sum(axis=1, keepdims=True) * together.sum(axis=0, keepdims=True)
    there = together > 0
    information = float((together[there] * np.log2(together[there] / apart[there])).sum())
    if is_sample:
        alone = np.count_nonzero(counts.sum(axis=0)) + np.count_nonzero(counts.sum(axis=1))
        information -= (np.count_nonzero(there) - alone + 1) / (2 * len(levels) * math.log(2))
    return max(information, 0.0)
