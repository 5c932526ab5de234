"""Expected times of configurations, from counters that tell how long each kind of work takes, and from measured times.

Such counters can be added up, which those of a GPU cannot.  What they are wrong about is learned: how much longer than
expected configurations take with each value of each parameter, by Bayesian linear regression on the logarithms.  A draw
from the posterior (Thompson sampling: W. R. Thompson, "On the likelihood that one unknown probability exceeds another",
Biometrika 25, 1933) tries values of which nothing has been measured in proportion to how likely they are the best.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from polytune.tuner.spaces.finite import FiniteSpace

__all__ = ["ExpectedTimes"]

_NOISE = 0.1
"""The deviation of the logarithm of a measured time from what is expected once the effects of all values are known."""

_PRIOR_ORDERED = 0.1
"""The deviation of the effect of a value of an ordered parameter before anything is measured: a tile's size is counted
well."""

_PRIOR_NOMINAL = 0.25
"""That of a value without an order, as a version, which may run at another rate altogether than is expected."""


class ExpectedTimes:
    """The logarithms of the times that some rows of a space are expected to take, up to a constant.

    Args:
        space: the configurations.
        rows: (n,) int64, those that are told of.
        times: (n, kinds) float64, how long each kind of work of each row is expected to take; a row of which nothing is
            known has NaN or only 0, and is expected to be a row in the middle.
    """

    def __init__(self, space: FiniteSpace, rows: np.ndarray, times: np.ndarray):
        total = times.sum(axis=1)
        known = np.isfinite(total) & (total > 0)
        self._expected = np.zeros(len(rows))
        if known.any():
            self._expected[known] = np.log(total[known])
            self._expected[~known] = np.median(self._expected[known])
        # Whether each row has each value of each parameter, but for parameters of one value.
        columns = [column for column, levels in enumerate(space.levels) if len(levels) > 1]
        parts = [np.eye(len(space.levels[column]))[space.rows[rows, column]] for column in columns]
        self._values = np.concatenate(parts, axis=1) if parts else np.zeros((len(rows), 0))
        deviations = [
            np.full(len(space.levels[column]), _PRIOR_ORDERED if space.ordered[column] else _PRIOR_NOMINAL)
            for column in columns
        ]
        self._precisions = (_NOISE / np.concatenate([np.zeros(0), *deviations])) ** 2  # in units of the noise's
        self._places = {int(row): place for place, row in enumerate(rows)}

    def logarithms(self, costs: Mapping[int, float], rng: np.random.Generator | None = None) -> np.ndarray:
        """(n,) float64, in the order of the rows.

        Args:
            costs: what was measured, by row; infinite where a row failed.
            rng: draws the effects of the values from their posterior; without it they are its mean.  Where nothing has
                been measured they are 0 in either case.
        """
        measured = [
            (self._places[row], cost) for row, cost in costs.items() if row in self._places and 0 < cost < math.inf
        ]
        if not measured:
            return self._expected
        places = np.array([place for place, _ in measured])
        longer = np.log([cost for _, cost in measured]) - self._expected[places]
        constant = np.median(longer)
        seen = self._values[places]
        weights = seen.T @ seen + np.diag(self._precisions)
        by_value = np.linalg.solve(weights, seen.T @ (longer - constant))
        if rng is not None:
            # With weights = L L^T the posterior's covariance is noise^2 L^-T L^-1.
            factor = np.linalg.cholesky(weights)
            by_value = by_value + _NOISE * np.linalg.solve(factor.T, rng.standard_normal(len(by_value)))
        expected: np.ndarray = self._expected + constant + self._values @ by_value
        return expected
