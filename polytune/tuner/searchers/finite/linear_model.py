"""A linear model of a random sample: the plain counterpart of the design of experiments."""

from __future__ import annotations

import numpy as np

from polytune.tuner.models.regression import fit
from polytune.tuner.models.surrogate import candidate_rows, response
from polytune.tuner.models.terms import Terms
from polytune.tuner.searchers.finite_searcher import FiniteSearcher, check_settings
from polytune.tuner.spaces.finite import FiniteSpace

_SAMPLE = 2000
_CANDIDATES = 20_000


class LinearModel(FiniteSearcher):
    """Measures random configurations, then again and again the one that a linear model predicts to be the best.

    The model has the terms of `Terms` and is fitted anew, by `regression.fit`, to all measurements each time.

    Args:
        initial: how many random configurations come first; half of the budget where it is known and not given here,
            otherwise twice the number of terms.
        elimination: terms with a p-value not below it are left out, the least significant first.
        interactions: whether the model has the products of the parameters too.

    Raises:
        SearchError: a setting is out of its bounds.
    """

    def __init__(
        self,
        space: FiniteSpace,
        rng: np.random.Generator,
        *,
        budget: int | None = None,
        initial: int | None = None,
        elimination: float = 0.1,
        interactions: bool = False,
    ):
        super().__init__(space, rng, budget=budget)
        check_settings("linear_model", 1, initial=initial)
        check_settings("linear_model", 0, 1, elimination=elimination)
        spread = np.unique(np.linspace(0, len(space) - 1, _SAMPLE, dtype=np.int64))
        self._terms = Terms.of(space, space.rows[spread], interactions=interactions)
        planned = 2 * len(self._terms) if budget is None else max(budget // 2, 1)
        self._initial = planned if initial is None else initial
        self._elimination = elimination

    def _propose(self) -> int | None:
        if len(self._costs) < self._initial:
            return self._fresh_row()
        measured, costs = response(self._costs)
        if not len(measured):
            return None
        rows = self.space.rows
        model = fit(self._terms.matrix(rows[measured]), costs, self._terms.factors, elimination=self._elimination)
        candidates = candidate_rows(self.space, self._costs, self._rng, limit=_CANDIDATES)
        predictions = model.predict(self._terms.matrix(rows[candidates]))
        return int(candidates[np.argmin(predictions)])
