"""A model of where the next good configuration near the best one is: a sum of one smooth function per parameter.

Close to the optimum of a tuning space what matters is which few levels of each parameter are good, and that adds up in
the logarithm of the cost.  The sum is estimated from all measurements, those of cheap configurations counting more:
kernel ridge regression with an additive kernel (Duvenaud, Nickisch, Rasmussen, "Additive Gaussian processes", NIPS
2011, of the first order) and one noise level per measurement.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from polytune.tuner.models.surrogate import candidate_rows, response
from polytune.tuner.spaces.finite import FiniteSpace

_NOISE = 0.01
_EMPHASIS = 2.0
_LEARNED = 256  # the cheapest configurations from which is learned: others would weigh next to nothing
_CANDIDATES = 20_000


def expected_best(space: FiniteSpace, costs: Mapping[int, float], rng: np.random.Generator) -> int | None:
    """The row that an additive model of the costs expects to be the cheapest of those that have none.

    All rows are looked at, of large spaces the neighbours of the best ones and others at random.

    Args:
        space: the space.
        costs: the cost of each row told.
        rng: draws the rows of large spaces.

    Returns:
        The row; None where all have a cost, or no cost is finite.
    """
    measured, values = response(costs)
    candidates = candidate_rows(space, costs, rng, limit=_CANDIDATES)
    if not len(measured) or not len(candidates):
        return None
    learned = np.argsort(values, kind="stable")[:_LEARNED]
    model = AdditiveModel(space, measured[learned], values[learned])
    return int(candidates[np.argmin(model.predict(space.rows[candidates]))])


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
        covariance = self._covariance() + np.diag(_NOISE / np.maximum(weights, 1e-6))
        dual = np.linalg.solve(covariance, logarithms - self._mean) / max(len(self._similarity), 1)
        self._effects = [
            similarity[:, self._measured[:, parameter]] @ dual for parameter, similarity in enumerate(self._similarity)
        ]

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """The logarithm of the cost of some rows of levels, (m, parameters)."""
        prediction = np.full(len(rows), self._mean)
        for parameter, effect in enumerate(self._effects):
            prediction += effect[rows[:, parameter]]
        return prediction

    def _covariance(self) -> np.ndarray:
        total = np.zeros((len(self._measured), len(self._measured)))
        for parameter, similarity in enumerate(self._similarity):
            levels = self._measured[:, parameter]
            total += similarity[levels[:, None], levels[None, :]]
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
