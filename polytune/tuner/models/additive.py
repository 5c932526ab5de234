"""A model of where the next good configuration near the best one is: a sum of one smooth function per parameter.

Close to the optimum of a tuning space what matters is which few levels of each parameter are good, and that adds up in
the logarithm of the cost.  The sum is estimated from all measurements, those of cheap configurations counting more:
kernel ridge regression with an additive kernel (Duvenaud, Nickisch, Rasmussen, "Additive Gaussian processes", NIPS
2011, of the first order) and one noise level per measurement.
"""

from __future__ import annotations

import numpy as np

from polytune.tuner.spaces.finite import FiniteSpace

_NOISE = 0.01
_EMPHASIS = 2.0


class AdditiveModel:
    """Predicts the logarithm of the cost.

    The covariance that a parameter brings falls by a factor e with every level between two configurations; between
    the levels of an unordered parameter there is none.  The noise variance of a measurement is 1 % of the prior's for
    the best one, and grows with the square of its slowdown against that.

    Args:
        space: the space.
        rows: (n,) indices of the configurations measured.
        costs: (n,) their costs, positive.
    """

    def __init__(self, space: FiniteSpace, rows: np.ndarray, costs: np.ndarray):
        self._similarity = [_similarity(space, parameter) for parameter in range(len(space.names))]
        self._measured = space.rows[rows]
        weights = (costs.min() / costs) ** _EMPHASIS
        logarithms = np.log(costs)
        self._mean = float(np.average(logarithms, weights=weights))
        covariance = self._covariance(self._measured) + np.diag(_NOISE / np.maximum(weights, 1e-6))
        self._dual = np.linalg.solve(covariance, logarithms - self._mean)

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """The logarithm of the cost of some rows of levels, (m, parameters)."""
        prediction: np.ndarray = self._mean + self._covariance(rows) @ self._dual
        return prediction

    def _covariance(self, rows: np.ndarray) -> np.ndarray:
        total = np.zeros((len(rows), len(self._measured)))
        for parameter, similarity in enumerate(self._similarity):
            total += similarity[rows[:, parameter][:, None], self._measured[:, parameter][None, :]]
        return total / max(len(self._similarity), 1)


def _similarity(space: FiniteSpace, parameter: int) -> np.ndarray:
    """(levels, levels): the covariance of a parameter's function between each two levels."""
    count = len(space.levels[parameter])
    if not space.ordered[parameter]:
        return np.eye(count)
    level = np.arange(count)
    similarity: np.ndarray = np.exp(-np.abs(level[:, None] - level[None, :]).astype(float))
    absence = space.inactive[parameter]
    if absence is not None:
        similarity[absence, :absence] = similarity[:absence, absence] = 0.0
    return similarity
