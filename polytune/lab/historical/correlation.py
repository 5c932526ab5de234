"""The correlation of the times on one device with those on another (section 4, figure 2)."""

from __future__ import annotations

import math

import numpy as np

from polytune.lab.recording import RecordedSpace
from polytune.tuner.extras import library

_FEWEST = 3  # pairs from which a correlation says anything


def paired_slowdowns(one: RecordedSpace, other: RecordedSpace) -> np.ndarray:
    """The slowdowns of the configurations that ran on both devices.

    Args:
        one, other: recordings of a kernel, with the same parameters, which may come in another order.

    Returns:
        (n, 2) float64; n is 0 where the recordings have no configuration in common.
    """
    names = sorted(one.space.names)
    known = {_values(other, row, names): slowdown for row, slowdown in enumerate(other.slowdowns)}
    pairs = [
        (slowdown, known[values])
        for row, slowdown in enumerate(one.slowdowns)
        if (values := _values(one, row, names)) in known
    ]
    found = np.array(pairs, float).reshape(-1, 2)
    both: np.ndarray = found[np.isfinite(found).all(axis=1)]
    return both


def rank_correlation(pairs: np.ndarray) -> float:
    """Spearman's rank correlation of pairs, (n, 2); NaN of fewer than three, or where one side is always the same.

    Raises:
        MissingLibraryError: SciPy is not installed.
    """
    if len(pairs) < _FEWEST or (pairs == pairs[0]).all(axis=0).any():
        return math.nan
    return float(library("scipy.stats", "the rank correlation").spearmanr(pairs[:, 0], pairs[:, 1]).statistic)


def _values(recorded: RecordedSpace, row: int, names: list[str]) -> tuple[object, ...]:
    configuration = recorded.space.configuration(row)
    return tuple(configuration.get(name) for name in names)
