"""Random forest regression: train once on a random sample, or again and again."""

from __future__ import annotations

from typing import Any

import numpy as np

from polytune.tuner.extras import library
from polytune.tuner.models.kriging import expected_improvement
from polytune.tuner.models.surrogate import candidate_rows, response
from polytune.tuner.searchers.finite_searcher import FiniteSearcher, check_settings
from polytune.tuner.spaces.finite import FiniteSpace

_CANDIDATES = 20_000
_CANDIDATES_EACH_TIME = 2000
_SMALL_FOREST = 30
_AGREEMENT = 1e-9  # the deviation where all trees agree


class RandomForest(FiniteSearcher):
    """Runs what a forest of regression trees, trained on the configurations measured, predicts to be the fastest.

    With a budget of S, S - 10 random configurations are measured, a forest is trained on them, and the 10
    configurations of the best predictions are run, as in Tørring and Elster, "Analyzing search techniques for
    autotuning image-based GPU kernels: the impact of sample sizes" (IPDPSW 2022).  Where the budget is not known, or
    with `iterative`, a smaller forest is trained time and again, whenever another twentieth of the measurements has
    come in, and the configurations of the largest expected improvement are run, the disagreement of the trees being
    the uncertainty (Hutter, Hoos, Leyton-Brown, "Sequential model-based optimization for general algorithm
    configuration", LION 2011).

    Costs are predicted in their logarithm: trees average, and one slow configuration would hide many fast ones.

    Args:
        iterative: train again and again even if the budget is known.
        final: how many predictions are run at the end of the budget.
        initial: how many random configurations the iterative mode begins with; twice the number of parameters, but
            ten at least, where it is not given.
        trees: in a forest; 100, or 30 in the iterative mode, where it is not given.

    Raises:
        SearchError: a setting is out of its bounds.
    """

    def __init__(
        self,
        space: FiniteSpace,
        rng: np.random.Generator,
        *,
        budget: int | None = None,
        iterative: bool = False,
        final: int = 10,
        initial: int | None = None,
        trees: int | None = None,
    ):
        super().__init__(space, rng, budget=budget)
        check_settings("random_forest", 1, final=final, initial=initial, trees=trees)
        self._iterative = iterative or budget is None
        self._initial = max(2 * len(space.names), 10) if initial is None else initial
        if budget is not None and not self._iterative:
            self._initial = max(budget - final, 1)
        self._final = final
        self._trees = trees if trees is not None else _SMALL_FOREST if self._iterative else 100
        self._queue: list[int] = []

    def _propose(self) -> int | None:
        if len(self._costs) < self._initial:
            return self._fresh_row()
        while self._queue and self._queue[0] in self._costs:  # told without having been asked for
            self._queue.pop(0)
        if not self._queue:
            self._queue = self._predictions()
        return self._queue[0] if self._queue else None

    def _learn(self, index: int, cost: float) -> None:
        if self._queue:
            self._queue.pop(0)

    def _predictions(self) -> list[int]:
        """The configurations to run next, the most promising first."""
        measured, costs = response(self._costs)
        if not len(measured):
            return []
        ensemble = library("sklearn.ensemble", "the random forest search")
        seed = int(self._rng.integers(1 << 31))
        forest = ensemble.RandomForestRegressor(self._trees, min_samples_leaf=1, random_state=seed, n_jobs=1)
        forest.fit(self.space.encode(self.space.rows[measured]), np.log(costs))
        limit = _CANDIDATES_EACH_TIME if self._iterative else _CANDIDATES
        candidates = candidate_rows(self.space, self._costs, self._rng, limit=limit)
        features = self.space.encode(self.space.rows[candidates])
        if self._iterative:
            each = np.array([tree.predict(features) for tree in forest.estimators_])
            deviation = np.maximum(each.std(axis=0), _AGREEMENT)
            promise = expected_improvement(each.mean(axis=0), deviation, float(np.log(costs.min())))
            count = max(len(measured) // 20, 1)
        else:
            promise, count = -forest.predict(features), self._final
        # Equal predictions, of which a forest makes many, are taken in random order.
        order = np.lexsort((self._rng.random(len(candidates)), -promise))
        return [int(index) for index in candidates[order[:count]]]

    def _rule_state(self) -> dict[str, Any]:
        return {"queue": list(self._queue)}

    def _restore_rule(self, state: dict[str, Any]) -> None:
        self._queue = list(state["queue"])
