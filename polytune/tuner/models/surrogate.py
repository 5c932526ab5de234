"""Models of the costs told so far: their response, the rows to ask about, and the largest expected improvement."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from polytune.tuner.models.kriging import Kriging, expected_improvement
from polytune.tuner.spaces.finite import FiniteSpace

_STEPS = 8
_ADAPTED = 96  # observations from which the hyperparameters are learned
_FITTED = 256  # observations from which is predicted
_RANDOM_CANDIDATES = 800
_CLIMBED = 5  # rows whose neighbours are candidates
_PAIRS = 300  # candidates that differ from the best row in two parameters


class Surrogate:
    """Bayesian optimisation over the rows of a finite space.

    A Gaussian process models the logarithm of the cost, as costs differ by ratios.  What is far above the median is
    cut off: how bad a bad row is says little about where the good ones are.  Infeasible rows count as just as bad.
    Besides its rank, the model knows of a whole number how many factors of two it has.

    The candidates are random rows and the surroundings of the best ones, so that a proposal takes the same time
    whatever the size of the space, and yet hill climbing is part of the search.

    With many observations the model learns from half of them chosen at random among all and from as many of the best.
    """

    def __init__(self, space: FiniteSpace, rng: np.random.Generator):
        self._space = space
        self._rng = rng
        self._twos = _twos(space)
        self._model = Kriging(self._points(np.zeros(1, int)).shape[1], rng)

    def propose(self, costs: Mapping[int, float], curiosity: float = 1.0, parameter: int | None = None) -> int | None:
        """The candidate with the largest expected improvement; None where every candidate has a cost.

        Args:
            costs: the cost of each row told, at least one of them finite.
            curiosity: by what the model's doubts are multiplied; above one, rows far from all others are preferred.
            parameter: of which the candidates have other levels than the best row; the improvement is then that on the
                best row told of these, so that they are searched for their own sake.  None for all rows.
        """
        rows = np.fromiter(costs.keys(), np.int64, len(costs))
        values = _response(np.fromiter(costs.values(), float, len(costs)))
        ranked = np.argsort(values, kind="stable")
        rows, values = rows[ranked], values[ranked]
        lowest, centres, among = float(values[0]), rows, None
        if parameter is not None:
            levels = self._space.rows[:, parameter]
            among = levels != levels[rows[0]]
            if not among.any():
                return None
            told = among[rows]
            lowest, centres = (float(values[told][0]), rows[told]) if told.any() else (float(values[-1]), rows)
        candidates = np.setdiff1d(self._candidates(centres, among), rows)
        if not len(candidates):
            return None
        points = self._points(rows)
        adapted, fitted = self._selection(len(rows), _ADAPTED), self._selection(len(rows), _FITTED)
        self._model.adapt(points[adapted], values[adapted], _STEPS)
        self._model.fit(points[fitted], values[fitted])
        mean, deviation = self._model.predict(self._points(candidates))
        return int(candidates[np.argmax(expected_improvement(mean, curiosity * deviation, lowest))])

    def _points(self, indices: np.ndarray) -> np.ndarray:
        rows = self._space.rows[indices]
        return np.column_stack([self._space.encode(rows), *(twos[rows[:, column]] for column, twos in self._twos)])

    def _selection(self, count: int, limit: int) -> np.ndarray:
        """Return which of `count` ranked observations are learned from: all, or the best and a sample of the others."""
        if count <= limit:
            return np.arange(count)
        best = limit // 2
        return np.concatenate([np.arange(best), best + self._rng.choice(count - best, limit - best, replace=False)])

    def _candidates(self, ranked: np.ndarray, among: np.ndarray | None) -> np.ndarray:
        """Return random rows and the surroundings of the first of some rows; with a mask, of those that it allows."""
        pairs = self._space.neighbours(int(ranked[0]), 2)
        drawn = self._rng.integers(len(self._space), size=_RANDOM_CANDIDATES)
        if among is not None:
            drawn = np.flatnonzero(among)[drawn % np.count_nonzero(among)]
        found = np.concatenate(
            [
                drawn,
                self._rng.permutation(pairs)[:_PAIRS],
                *(self._space.neighbours(int(row)) for row in ranked[:_CLIMBED]),
            ]
        )
        return found if among is None else found[among[found]]

    def state(self) -> dict[str, Any]:
        """Return what the model has learned besides the costs, as JSON keeps it."""
        return self._model.state()

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` returned."""
        self._model.restore(state)


def _twos(space: FiniteSpace) -> list[tuple[int, np.ndarray]]:
    """The share of the most factors of two that each level has, of columns of whole numbers.

    Multiples of large powers of two fit cache lines, memory banks, warps and vectors: 96 may be more like 32 and 160
    than like its neighbours 80 and 112.  Where the factors grow with the numbers, they say nothing new and are left
    out.
    """
    found = []
    for column, (levels, ordered) in enumerate(zip(space.levels, space.ordered, strict=True)):
        numbers = [level for level in levels if level is not None]
        if not ordered or not all(isinstance(number, int) and number for number in numbers):
            continue
        factors = [(number & -number).bit_length() - 1 for number in numbers]
        if factors != sorted(factors):
            absent = [0] * (len(levels) - len(numbers))
            found.append((column, np.array(factors + absent) / max(factors)))
    return found


def _response(costs: np.ndarray) -> np.ndarray:
    """Return what is modelled: the logarithms of the costs, cut off above and standardised."""
    feasible = np.isfinite(costs)
    tiny = np.finfo(float).tiny
    logarithms = np.log(np.maximum(costs, tiny, where=feasible, out=np.ones_like(costs)))
    least, median = logarithms[feasible].min(), np.median(logarithms[feasible])
    values = np.where(feasible, np.minimum(logarithms, 2 * median - least), -math.inf)
    values[~feasible] = values.max()
    deviation = values.std()
    return (values - values.mean()) / deviation if deviation > 0 else np.zeros_like(values)


_ZERO = 1e-3
"""The stand-in for a cost of zero, as a share of the smallest cost above zero: its logarithm is wanted."""


def response(costs: Mapping[int, float]) -> tuple[np.ndarray, np.ndarray]:
    """The rows that have a cost, and their costs as numbers whose logarithm exists.

    An infeasible row gets the largest feasible cost: the model is to avoid its like, without its absence of a cost
    bending everything else.

    Returns:
        Row indices, int64, and positive finite costs, float64, in the order of `costs`; both are empty if no row is
        feasible.
    """
    feasible = [cost for cost in costs.values() if cost < math.inf]
    if not feasible:
        return np.zeros(0, np.int64), np.zeros(0)
    largest, floor = max(feasible), _ZERO * min((cost for cost in feasible if cost > 0), default=1.0)
    values = np.fromiter((min(cost, largest) for cost in costs.values()), float, len(costs))
    return np.fromiter(costs, np.int64, len(costs)), np.maximum(values, floor)


_TABLE = 50_000
"""The largest space whose every configuration is compared with another one."""
_RADIUS = 3


def near_rows(space: FiniteSpace, centre: int, told: Mapping[int, float], *, limit: int) -> np.ndarray:
    """Indices, int64, of the configurations not told yet that differ from one in up to three parameters (in large
    spaces, two).

    Args:
        space: the space.
        centre: the index of that configuration.
        told: the indices to leave out.
        limit: how many indices to return at most: those that differ in the fewest parameters, and of these, those
            whose levels are the closest.
    """
    if len(space) <= _TABLE:
        differing = (space.rows != space.rows[centre]).sum(axis=1)
        near = np.flatnonzero((differing <= _RADIUS) & (differing > 0))
    else:
        near = space.neighbours(centre, hamming=2)
    near = near[~np.isin(near, np.fromiter(told, np.int64, len(told)))]
    if len(near) <= limit:
        return near
    apart = space.rows[near].astype(np.int64) - space.rows[centre]
    order = np.lexsort((np.abs(apart).sum(axis=1), (apart != 0).sum(axis=1)))
    return near[order[:limit]]


def candidate_rows(
    space: FiniteSpace, told: Mapping[int, float], rng: np.random.Generator, *, limit: int, best: int = 8
) -> np.ndarray:
    """Indices, int64, of configurations that have not been told: all of them, or up to `limit` of them where there are
    more.

    The choice is half of neighbours of the best configurations told, as far as there are so many, and otherwise
    random.

    Args:
        space: the space.
        told: the costs known.
        rng: draws the random ones.
        limit: how many indices to return at most.
        best: of how many configurations told the neighbours are taken.
    """
    if len(space) - len(told) <= limit:
        mask = np.ones(len(space), bool)
        mask[np.fromiter(told, np.int64, len(told))] = False
        return np.flatnonzero(mask)
    centres = sorted(told, key=told.__getitem__)[:best]
    around = np.unique(np.concatenate([space.neighbours(centre) for centre in centres] or [np.zeros(0, np.int64)]))
    if len(around) > limit // 2:
        around = rng.choice(around, limit // 2, replace=False)
    # Drawn with replacement and cleaned: what is drawn twice, or known, is rare where the space is large.
    drawn = rng.integers(len(space), size=limit - len(around))
    found = np.union1d(around, drawn)
    return found[~np.isin(found, np.fromiter(told, np.int64, len(told)))]
