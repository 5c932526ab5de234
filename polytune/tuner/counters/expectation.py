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
        columns = [column for column, levels in enumerate(space.levels) if len(levels) > 1]
        self._levels = space.rows[rows][:, columns]
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
        shared, covariance = self._shared(places)
        expected: np.ndarray = self._expected + constant + np.linalg.solve(covariance, longer - constant) @ shared
        return expected

    def doubts(self, costs: Mapping[int, float]) -> np.ndarray:
        """(n,) float64, in the order of the rows: how little is known of what the model is wrong about, as the standard
        deviation of the correction of each, in multiples of that of the correction for a value nobody has measured.

        Args:
            costs: what was measured, by row; infinite where a row failed.
        """
        shared, covariance = self._shared(self._measured(costs))
        learned = np.einsum("ij,ij->j", shared, np.linalg.solve(covariance, shared))
        doubts: np.ndarray = np.sqrt(np.maximum(self._levels.shape[1] - learned, 0.0) / _PRIOR)
        return doubts

    def _shared(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of values that rows have in common with those measured, and the covariance of the measurements.

        A parameter may have thousands of values, so this is linear regression in its dual form, whose systems are as
        large as there are measurements (Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2.1.2).

        Args:
            places: (m,) int64, of the measured rows.

        Returns:
            (m, n) and (m, m) float64.
        """
        shared = np.zeros((len(places), len(self._levels)))
        for levels in self._levels.T:
            shared += levels[places, None] == levels
        return shared, shared[:, places] + _PRIOR * np.eye(len(places))

    def _measured(self, costs: Mapping[int, float]) -> np.ndarray:
        return np.array([self._places[row] for row, cost in costs.items() if self._is_known(row, cost)], dtype=np.int64)

    def _is_known(self, row: int, cost: float) -> bool:
        return row in self._places and 0 < cost < math.inf
