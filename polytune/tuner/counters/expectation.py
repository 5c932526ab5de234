"""Expected times of configurations, from counters that tell how long each kind of work takes, and from measured times.

Such counters can be added up, which those of a GPU cannot.  What they are wrong about is learned: how much longer than
expected configurations take with each value of each parameter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from polytune.tuner.spaces.finite import FiniteSpace

__all__ = ["ExpectedTimes"]

_PRIOR = 1.0
"""The weight, in measurements, of the belief that a value of a parameter makes no difference to what is expected."""


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
        self._places = {int(row): place for place, row in enumerate(rows)}

    def logarithms(self, costs: Mapping[int, float]) -> np.ndarray:
        """(n,) float64, in the order of the rows.

        Args:
            costs: what was measured, by row; infinite where a row failed.
        """
        places = self._measured(costs)
        if not len(places):
            return self._expected
        measured = [cost for row, cost in costs.items() if self._is_known(row, cost)]
        longer = np.log(measured) - self._expected[places]
        constant = np.median(longer)
        by_value = np.linalg.solve(self._weights(places), self._values[places].T @ (longer - constant))
        expected: np.ndarray = self._expected + constant + self._values @ by_value
        return expected

    def doubts(self, costs: Mapping[int, float]) -> np.ndarray:
        """(n,) float64, in the order of the rows: how little is known of what the model is wrong about, as the standard
        deviation of the correction of each, in multiples of that of the correction for a value nobody has measured.

        Args:
            costs: what was measured, by row; infinite where a row failed.
        """
        values = self._values
        spread = np.linalg.solve(self._weights(self._measured(costs)), values.T)
        doubts: np.ndarray = np.sqrt(np.einsum("ij,ji->i", values, spread))
        return doubts

    def _weights(self, places: np.ndarray) -> np.ndarray:
        """The inverse of the covariance of what is learned of each value, of measurements at some places."""
        seen = self._values[places]
        weights: np.ndarray = seen.T @ seen + _PRIOR * np.eye(seen.shape[1])
        return weights

    def _measured(self, costs: Mapping[int, float]) -> np.ndarray:
        return np.array([self._places[row] for row, cost in costs.items() if self._is_known(row, cost)], dtype=np.int64)

    def _is_known(self, row: int, cost: float) -> bool:
        return row in self._places and 0 < cost < math.inf
