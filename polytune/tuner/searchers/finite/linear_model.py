"""A linear model of a sample: the plain counterpart of the design of experiments."""

from __future__ import annotations

from typing import Any

import numpy as np

from polytune.errors import SearchError
from polytune.tuner.models.fedorov import d_optimal_design
from polytune.tuner.models.regression import fit, fit_quantile
from polytune.tuner.models.surrogate import candidate_rows, response
from polytune.tuner.models.terms import Terms
from polytune.tuner.searchers.finite_searcher import FiniteSearcher, check_settings
from polytune.tuner.spaces.finite import FiniteSpace

_SAMPLE = 2000
_CANDIDATES = 20_000
_DESIGN_CANDIDATES = 2000
_SAMPLES = ("random", "d_optimal")


class LinearModel(FiniteSearcher):
    """Measures a sample, then again and again the configuration that a linear model predicts to be the best.

    The model has the terms of `Terms` and is fitted anew to all measurements each time: by least squares, or, where a
    quantile is given, to that.

    Args:
        initial: how many configurations the sample has; half of the budget where it is known and neither this nor
            `final` is given, otherwise twice the number of terms.
        final: how many predictions are left of a budget after the sample, where `initial` is not given.
        sample: ``"random"``, or ``"d_optimal"`` for a design from which the model is estimated best.
        elimination: terms with a p-value not below it are left out, the least significant first; not of quantiles.
        interactions: whether the model has the products of the parameters too.
        transform: whether the costs are transformed as Box and Cox do; not of quantiles.
        quantile: which quantile of the costs is modelled, as a share; their mean where it is not given.

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
        final: int | None = None,
        sample: str = "random",
        elimination: float = 0.1,
        interactions: bool = False,
        transform: bool = True,
        quantile: float | None = None,
    ):
        super().__init__(space, rng, budget=budget)
        check_settings("linear_model", 1, initial=initial, final=final)
        check_settings("linear_model", 0, 1, elimination=elimination, quantile=quantile)
        if quantile in (0, 1):
            raise SearchError("the search 'linear_model' needs a quantile above 0 and below 1")
        if sample not in _SAMPLES:
            raise SearchError(f"the search 'linear_model' needs a sample of {' or '.join(_SAMPLES)}, not {sample!r}")
        spread = np.unique(np.linspace(0, len(space) - 1, _SAMPLE, dtype=np.int64))
        self._terms = Terms.of(space, space.rows[spread], interactions=interactions)
        planned = 2 * len(self._terms) if budget is None else max(budget // 2, 1)
        if budget is not None and final is not None:
            planned = max(budget - final, 1)
        self._initial = planned if initial is None else initial
        self._elimination, self._transform, self._quantile = elimination, transform, quantile
        self._queue = self._design(min(self._initial, len(space))) if sample == "d_optimal" else []

    def _design(self, size: int) -> list[int]:
        """A D-optimal design of the model, in random order."""
        candidates = np.arange(len(self.space))
        if len(candidates) > _DESIGN_CANDIDATES:
            candidates = np.sort(self._rng.choice(candidates, max(_DESIGN_CANDIDATES, size), replace=False))
        design = d_optimal_design(self._terms.matrix(self.space.rows[candidates]), size, self._rng)
        return [int(candidates[place]) for place in self._rng.permutation(design)]

    def _propose(self) -> int | None:
        self._queue = [row for row in self._queue if row not in self._costs]
        if self._queue:
            return self._queue[0]
        if len(self._costs) < self._initial:
            return self._fresh_row()
        measured, costs = response(self._costs)
        if not len(measured):
            return None
        rows = self.space.rows
        matrix = self._terms.matrix(rows[measured])
        if self._quantile is None:
            model = fit(matrix, costs, self._terms.factors, elimination=self._elimination, transform=self._transform)
            coefficients = model.coefficients
        else:
            coefficients = fit_quantile(matrix, costs, self._quantile)
        candidates = candidate_rows(self.space, self._costs, self._rng, limit=_CANDIDATES)
        predictions = self._terms.matrix(rows[candidates]) @ coefficients
        return int(candidates[np.argmin(predictions)])

    def _rule_state(self) -> dict[str, Any]:
        return {"queue": list(self._queue)}

    def _restore_rule(self, state: dict[str, Any]) -> None:
        self._queue = list(state.get("queue", ()))
