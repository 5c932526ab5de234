"""Design of experiments: D-optimal designs, a linear model of the transformed response, and factors fixed by ANOVA."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from polytune.tuner.models.additive import AdditiveModel
from polytune.tuner.models.analysis import DesignStep, analysis_of_variance
from polytune.tuner.models.fedorov import d_optimal_design
from polytune.tuner.models.regression import Regression, fit
from polytune.tuner.models.surrogate import near_rows, response
from polytune.tuner.models.terms import Terms
from polytune.tuner.searchers.finite_searcher import FiniteSearcher, check_settings
from polytune.tuner.spaces.finite import FiniteSpace

_CANDIDATES = 2000
_PREDICTIONS = 50_000
_REFINEMENT_WORK = 200_000
_MOST_OF_BUDGET = 0.6


class DLMT(FiniteSearcher):
    """A D-optimal design, a linear model and a transform, in stages, each in the part of the space that is left.

    A stage measures a D-optimal design of the model's terms (what has been measured in this part counts), fits the
    terms to the Box-Cox transformed costs, eliminates those that mean nothing, and measures the configuration
    predicted to be the best, to fit again.  The analysis of variance then tells the most significant factor, which is
    fixed at its level in the best prediction.  That goes on until no factor left is significant; what remains of
    the budget goes to the neighbourhood of the best configuration, in the order of an additive model (`AdditiveModel`).
    A stage that would take more than 60 % of the budget left does without curvature and interactions.

    After Bruel, Masnada, Videau, Legrand, Vincent, Goldman, "Autotuning under tight budget constraints: a transparent
    design of experiments approach" (CCGRID 2019), where a person chooses the factors to fix.

    Args:
        runs_per_term: size of a design, per term of the model.
        elimination: terms with a p-value not below it are left out, the least significant first.
        significance: a factor with a p-value below it is fixed.
        confirmations: how many times a stage measures its prediction and fits again.
        interactions: whether the model has the products of the parameters too.
        transform: whether the costs are transformed; without it this is the paper's DLM.

    Raises:
        SearchError: a setting is out of its bounds.
    """

    def __init__(
        self,
        space: FiniteSpace,
        rng: np.random.Generator,
        *,
        budget: int | None = None,
        runs_per_term: float = 1.5,
        elimination: float = 0.1,
        significance: float = 0.1,
        confirmations: int = 1,
        interactions: bool = False,
        transform: bool = True,
    ):
        super().__init__(space, rng, budget=budget)
        check_settings("dlmt", 1, runs_per_term=runs_per_term)
        check_settings("dlmt", 0, 1, elimination=elimination, significance=significance)
        check_settings("dlmt", 0, confirmations=confirmations)
        self._runs_per_term, self._elimination, self._significance = runs_per_term, elimination, significance
        self._confirmations, self._interactions, self._transform = confirmations, interactions, transform
        self._steps: list[DesignStep] = []
        self._fixed: dict[int, int] = {}
        self._queue: list[int] = []
        self._curved = True
        self._designed = False
        self._confirmed = 0
        self._refining = False

    @property
    def steps(self) -> Sequence[DesignStep]:
        """The stages that have come to a conclusion."""
        return self._steps

    @property
    def fixed(self) -> dict[str, Any]:
        """The factors fixed so far, in that order, and their values."""
        return {self.space.names[p]: self.space.levels[p][level] for p, level in self._fixed.items()}

    def _propose(self) -> int | None:
        while not self._queue and not self._refining:
            self._advance()
        return self._queue[0] if self._queue else self._refinement()

    def _learn(self, index: int, cost: float) -> None:
        if self._queue:
            self._queue.pop(0)

    def _advance(self) -> None:
        """Plan the design of a stage, or its next confirmation, or fix a factor and begin the next stage."""
        part = self._part()
        if not self._designed:
            self._curved = self._runs(self._terms(part, curved=True)) <= self._affordable()
        terms = self._terms(part, curved=self._curved)
        if len(terms) == 1:  # nothing left to choose
            self._refining = True
        elif not self._designed:
            self._queue = self._design(part, terms)
            self._designed = True
        else:
            self._analyse(part, terms)

    def _part(self) -> np.ndarray:
        """The configurations in which the fixed factors have their levels; ascending indices."""
        inside = np.ones(len(self.space), bool)
        for parameter, level in self._fixed.items():
            inside &= self.space.rows[:, parameter] == level
        return np.flatnonzero(inside)

    def _runs(self, terms: Terms) -> int:
        """Return how many measurements a stage needs, those it finds already made included."""
        return math.ceil(self._runs_per_term * len(terms))

    def _affordable(self) -> int:
        """Return how many measurements a stage may have: what exists in this part, and most of the budget that is
        left."""
        known = sum(self._inside(index) for index in self._costs)
        if self.budget is None:
            return len(self.space)
        return known + math.ceil(_MOST_OF_BUDGET * max(self.budget - len(self._costs), 0))

    def _terms(self, part: np.ndarray, *, curved: bool) -> Terms:
        # Which sample of a large part stands for it must not depend on the random numbers drawn so far.
        chosen = part if len(part) <= _CANDIDATES else part[np.linspace(0, len(part) - 1, _CANDIDATES, dtype=np.int64)]
        rows = self.space.rows[chosen]
        return Terms.of(self.space, rows, curvature=curved, interactions=self._interactions and curved)

    def _design(self, part: np.ndarray, terms: Terms) -> list[int]:
        """A D-optimal design that adds to what has been measured in this part of the space, in random order."""
        known = [index for index in self._costs if self._inside(index)]
        fresh = part
        if len(part) > 2 * _CANDIDATES:  # a cheap draw, with replacement; `unique` cleans it
            fresh = np.unique(self._rng.choice(part, _CANDIDATES))
        fresh = fresh[~np.isin(fresh, known)]
        size = max(min(self._runs(terms), self._affordable()) - len(known), 0)
        rows = self.space.rows
        design = d_optimal_design(terms.matrix(rows[fresh]), size, self._rng, known=terms.matrix(rows[known]))
        return [int(fresh[place]) for place in self._rng.permutation(design)]

    def _analyse(self, part: np.ndarray, terms: Terms) -> None:
        measured, costs = response({index: cost for index, cost in self._costs.items() if self._inside(index)})
        if not len(measured):
            self._refining = True
            return
        matrix = terms.matrix(self.space.rows[measured])
        model = fit(matrix, costs, terms.factors, elimination=self._elimination, transform=self._transform)
        predicted = self._best_prediction(part, terms, model)
        if self._confirmed < self._confirmations and predicted not in self._costs:
            self._confirmed += 1
            self._queue = [predicted]
            return
        factor = min(model.significance, key=model.significance.__getitem__, default=None)
        self._refining = factor is None or model.significance[factor] >= self._significance
        self._conclude(len(part), terms, matrix, model, predicted, factor)
        if self._refining or factor is None:
            return
        self._fixed[factor] = int(self.space.rows[predicted, factor])
        self._designed, self._confirmed = False, 0

    def _conclude(
        self, candidates: int, terms: Terms, matrix: np.ndarray, model: Regression, predicted: int, factor: int | None
    ) -> None:
        """Note what a stage has come to.

        Args:
            candidates: how many configurations there are in this part.
            terms, matrix, model: what was fitted.
            predicted: the row with the best prediction.
            factor: the most significant one; None where no term is left.
        """
        tried = list(model.tried)
        best = self.space.configuration(predicted)
        found = ", ".join(f"{self.space.names[f]} {model.significance[f]:.3g}" for f in model.significance)
        tests = f"the p-values of the F-tests of each factor's terms that are left are {found}"
        rest = "what is left of the budget goes to the surroundings of the best configuration"
        if factor is None:
            reason = f"no term means anything: {rest}"
        elif self._refining:
            reason = f"{tests}, none below {self._significance:g}: {rest}"
        else:
            level = self.space.levels[factor][int(self.space.rows[predicted, factor])]
            value = "absent" if level is None else level
            reason = (
                f"{self.space.names[factor]} keeps {value}, its value in the best prediction: {tests}; its own is the "
                f"least, and below {self._significance:g}"
            )
        self._steps.append(
            DesignStep(
                points=len(self._costs),
                candidates=candidates,
                power=model.power,
                table=analysis_of_variance(matrix[:, tried], model.response, [terms.labels[t] for t in tried]),
                left_out=tuple(terms.labels[t] for t in tried[1:] if model.coefficients[t] == 0),
                predicted=best,
                fixed=None if self._refining or factor is None else self.space.names[factor],
                reason=reason,
            )
        )

    def _inside(self, index: int) -> bool:
        row = self.space.rows[index]
        return all(row[parameter] == level for parameter, level in self._fixed.items())

    def _best_prediction(self, part: np.ndarray, terms: Terms, model: Regression) -> int:
        """The row of the part with the best prediction; of equals the cheapest that is known, else any."""
        if len(part) > _PREDICTIONS:
            part = np.unique(self._rng.choice(part, _PREDICTIONS))
        predictions = model.predict(terms.matrix(self.space.rows[part]))
        lowest = predictions.min()
        equal = part[predictions <= lowest + 1e-9 * max(1.0, abs(lowest))]
        known = [int(index) for index in equal if int(index) in self._costs]
        return min(known, key=self._costs.__getitem__) if known else int(self._rng.choice(equal))

    def _refinement(self) -> int | None:
        """The unknown configuration near the best one that the additive model likes best."""
        if self._best is None:
            return None
        measured, costs = response(self._costs)
        near = near_rows(self.space, self._best, self._costs, limit=max(_REFINEMENT_WORK // len(measured), 1))
        if not len(near):
            return None
        model = AdditiveModel(self.space, measured, costs)
        return int(near[np.argmin(model.predict(self.space.rows[near]))])

    def _rule_state(self) -> dict[str, Any]:
        return {
            "fixed": [[parameter, level] for parameter, level in self._fixed.items()],
            "queue": list(self._queue),
            "curved": self._curved,
            "designed": self._designed,
            "confirmed": self._confirmed,
            "refining": self._refining,
            "steps": [step.to_json() for step in self._steps],
        }

    def _restore_rule(self, state: dict[str, Any]) -> None:
        self._fixed = dict(state["fixed"])
        self._queue = list(state["queue"])
        self._curved, self._designed = state["curved"], state["designed"]
        self._confirmed, self._refining = state["confirmed"], state["refining"]
        self._steps = [DesignStep.from_json(step) for step in state.get("steps", ())]
