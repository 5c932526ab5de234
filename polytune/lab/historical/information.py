"""The mutual information of each parameter with the time: how much it has to do with that (section 4.1)."""

from __future__ import annotations

import numpy as np

from polytune.errors import SearchError
from polytune.lab.recording import RecordedSpace

__all__ = ["BINS", "mutual_information"]

BINS = 10
"""Into so many classes of equally many configurations times are sorted."""


def mutual_information(recorded: RecordedSpace, bins: int = BINS) -> dict[str, float]:
    """The mutual information of each parameter with the time, in bits, of the configurations that ran.

    It is the plug-in estimate: probabilities are the shares of the rows.  Parameters have few values each; times, which
    have not, are sorted into classes by their quantiles, so that only their order counts.

    Args:
        recorded: the space, or a sample of it.
        bins: how many classes of times there are.

    Raises:
        SearchError: there are less than two classes.
    """
    if bins < 2:
        raise SearchError(f"times have to be sorted into two classes or more, not {bins}")
    ran = np.isfinite(recorded.seconds)
    seconds = recorded.seconds[ran]
    limits = np.unique(np.quantile(seconds, np.linspace(0, 1, bins + 1)[1:-1]))
    classes = np.digitize(seconds, limits)
    return {
        name: _information(recorded.space.rows[ran, column], classes)
        for column, name in enumerate(recorded.space.names)
    }


def _information(levels: np.ndarray, classes: np.ndarray) -> float:
    counts = np.zeros((int(levels.max()) + 1, int(classes.max()) + 1))
    np.add.at(counts, (levels, classes), 1.0)
    together = counts / counts.sum()
    apart = together.sum(axis=1, keepdims=True) * together.sum(axis=0, keepdims=True)
    there = together > 0
    return max(float((together[there] * np.log2(together[there] / apart[there])).sum()), 0.0)
