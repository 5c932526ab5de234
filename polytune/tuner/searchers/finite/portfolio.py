"""The search to use when nothing else is known: several methods, each where it is good."""

from __future__ import annotations

import importlib.util
import math
from typing import Any

import numpy as np

from polytune.errors import SearchError
from polytune.tuner.models.additive import expected_best
from polytune.tuner.models.filling import filling_row
from polytune.tuner.models.surrogate import Surrogate
from polytune.tuner.models.surroundings import least_tried
from polytune.tuner.searchers.finite.dlmt import DLMT
from polytune.tuner.searchers.finite.greedy_restart import GreedyWithRestart
from polytune.tuner.searchers.finite_searcher import FiniteSearcher
from polytune.tuner.spaces.finite import FiniteSpace

_FEASIBLE = 3  # costs that a model needs at least
_CURIOSITY = 3.0
_PLAINER_MODEL = 3
_WIDE = math.log(1.8)  # the deviation of the logarithms of costs from which on they are spread widely
_WIDE_SAMPLE = 20  # evaluations before the first hedge there
_WIDE_PATIENCE = 4
_DESIGN_PATIENCE = 24
_VERY_WIDE = math.log(2.1)  # the deviation from which on designed experiments come first
_TURNS_OF_PARAMETER = 4  # in which rows with other levels of a parameter are searched, before those of the next
_DESIGNED = 24  # evaluations after the first sample that are theirs alone, and of small budgets at most
_DESIGNED_SHARE = 0.6
_LAST_DESIGNED = 60  # evaluations from which on the other hedges take their place


class Portfolio(FiniteSearcher):
    """Everything where the budget suffices for it; else a sample, then a model, with hedges against its errors.

    A few rows far from each other (`filling_row`) give a model something to learn from; from then on the model
    (`Surrogate`) says where the largest improvement is expected.  Every third row is one that a plainer model of
    another kind expects to be the best, a sum of one function per parameter (`expected_best`).  When nothing has
    improved for `patience` evaluations, the models may be wrong, or the best be found: from then on, until the next
    improvement, every other evaluation is a hedge, by turns a step of a climb from a random row and a row of which the
    model knows little.

    A model that is sure of a valley proposes rows in it alone, and a row of another valley is worse at first.  So after
    a third of that patience every other proposal of the model is one with another level of one parameter than the best
    row has, by its improvement on the best of such rows: a valley of its own is searched for a few turns, by turns of
    all parameters, those of the fewest levels first, as they are most often the ones that choose between algorithms.
    While designed experiments come first (below) there are no such turns: these look everywhere themselves.

    Where the costs of the first sample are spread widely, by a geometric standard deviation of 1.8, a model of a smooth
    surface is easily sure of a valley that is not the best one.  There, after a few evaluations without an improvement
    every other one is what has been tried the least around the best row (`least_tried`), in one parameter or in two,
    and after some more by turns a designed experiment (`DLMT`, where statsmodels is installed).

    Where they are spread very widely, by 2.1, such an experiment comes first, and then has every other turn of the
    first sixty in place of these hedges: the main effects are large there, and its designs measure them all over the
    space, where a model goes on varying in the first good valley what hardly matters.

    Args:
        initial: the rows of the first sample, of small budgets a fifth of them.
        patience: evaluations without an improvement before hedging begins.
        designs: whether designed experiments are among the hedges, of which a proposal may take a tenth of a second.
    """

    def __init__(
        self,
        space: FiniteSpace,
        rng: np.random.Generator,
        *,
        budget: int | None = None,
        initial: int = 8,
        patience: int = 24,
        designs: bool = True,
    ):
        super().__init__(space, rng, budget=budget)
        if initial < 1 or patience < 1:
            raise SearchError(f"a portfolio needs initial >= 1 and patience >= 1, not {initial} and {patience}")
        self._initial = initial if budget is None else min(initial, max(budget // 5, 1))
        self._patience = patience
        self._designs = designs
        self._surrogate = Surrogate(space, rng)
        self._climber = GreedyWithRestart(space, rng)
        self._designer: DLMT | None = None
        self._is_wide: bool | None = None  # None: the first sample is not complete
        self._is_very_wide = False
        self._hedges = 0
        self._elsewhere_turns = 0
        self._varied: list[int] | None = None  # parameters with several levels, found when they are first needed
        self._proposed: int | None = None
        self._turns_since_improvement = 0
        self._lowest = math.inf

    def _propose(self) -> int | None:
        if self._proposed is None:
            self._proposed = self._choose()
        return self._proposed

    def _choose(self) -> int:
        if self.budget is not None and self.budget >= len(self.space):
            return self._fresh_row()
        feasible = sum(cost < math.inf for cost in self.costs.values())
        if len(self.costs) < self._initial or feasible < _FEASIBLE:
            wanted = filling_row(self.space, self.costs, self._rng)
            return wanted if wanted is not None else self._fresh_row()
        if self._is_wide is None:
            sample = [math.log(cost) for cost in self.costs.values() if 0 < cost < math.inf]
            spread = float(np.std(sample)) if len(sample) > 1 else 0.0
            self._is_wide, self._is_very_wide = spread > _WIDE, spread > _VERY_WIDE
        is_early = self._is_very_wide and len(self.costs) < _LAST_DESIGNED and self._has_designs()
        hedge = self._designed() if is_early and self._is_design_due() else None
        is_sure = self._turns_since_improvement >= self._patience // 3
        if hedge is None and is_sure and not is_early and len(self.costs) % 2 == 0:
            hedge = self._elsewhere()
        if hedge is None and self._is_wide and not is_early:
            hedge = self._early_hedge()
        if hedge is not None:
            return hedge
        late = self._turns_since_improvement - self._patience
        if late >= 0 and late % 4 == 0:
            return self._climber.ask()
        is_hedge = late >= 0 and late % 4 == 2
        if not is_hedge and len(self.costs) % _PLAINER_MODEL == 0:
            wanted = expected_best(self.space, self.costs, self._rng)
        else:
            wanted = self._surrogate.propose(self.costs, _CURIOSITY if is_hedge else 1.0)
        return wanted if wanted is not None else self._fresh_row()

    def _elsewhere(self) -> int | None:
        """The row of another valley from which the model expects the most; None where there is nothing to vary."""
        if self._varied is None:
            counts = [len(np.unique(column)) for column in self.space.rows.T]
            self._varied = sorted((each for each, count in enumerate(counts) if count > 1), key=counts.__getitem__)
        if not self._varied:
            return None
        parameter = self._varied[self._elsewhere_turns // _TURNS_OF_PARAMETER % len(self._varied)]
        self._elsewhere_turns += 1
        return self._surrogate.propose(self.costs, parameter=parameter)

    def _has_designs(self) -> bool:
        return self._designs and importlib.util.find_spec("statsmodels") is not None

    def _is_design_due(self) -> bool:
        """Return whether a designed experiment has its turn: at first it has all, then every other one."""
        first = self._initial + _DESIGNED
        if self.budget is not None:
            first = min(first, math.ceil(_DESIGNED_SHARE * self.budget))
        return len(self.costs) < first or len(self.costs) % 2 == 1

    def _early_hedge(self) -> int | None:
        """A hedge for costs that are spread widely; None where the model is to go on."""
        waited = self._turns_since_improvement - _WIDE_PATIENCE
        if len(self.costs) < _WIDE_SAMPLE or waited < 0 or waited % 2 or self._best is None:
            return None
        self._hedges += 1
        is_odd = self._hedges % 2 == 1
        is_late = self._turns_since_improvement >= _DESIGN_PATIENCE
        if not is_odd and is_late and self._has_designs():
            return self._designed()
        return least_tried(self.space, self.costs, self._best, changes=1 if is_odd else 2, guided=not is_odd)

    def _designed(self) -> int | None:
        """The next measurement of a designed experiment that knows all that has been told."""
        if self._designer is None:
            self._designer = DLMT(self.space, self._rng, budget=self.budget)
        known = self._designer.costs
        for row, cost in self.costs.items():
            if row not in known:
                self._designer.tell(row, cost)
        wanted = self._designer.ask()
        return None if wanted in self.costs else wanted

    def tell(self, index: int, cost: float) -> None:
        super().tell(index, cost)
        self._climber.tell(index, cost)

    def _learn(self, index: int, cost: float) -> None:
        self._proposed = None
        self._turns_since_improvement = 0 if cost < self._lowest else self._turns_since_improvement + 1
        self._lowest = min(self._lowest, cost)

    def _rule_state(self) -> dict[str, Any]:
        return {
            "proposed": self._proposed,
            "turns_since_improvement": self._turns_since_improvement,
            "lowest": None if self._lowest == math.inf else self._lowest,
            "surrogate": self._surrogate.state(),
            "climber": self._climber.state(),
            "designer": None if self._designer is None else self._designer.state(),
            "is_wide": self._is_wide,
            "is_very_wide": self._is_very_wide,
            "hedges": self._hedges,
            "elsewhere_turns": self._elsewhere_turns,
        }

    def _restore_rule(self, state: dict[str, Any]) -> None:
        self._proposed = state["proposed"]
        self._turns_since_improvement = state["turns_since_improvement"]
        self._lowest = math.inf if state["lowest"] is None else state["lowest"]
        self._surrogate.restore(state["surrogate"])
        self._climber.restore(state["climber"])
        self._is_wide, self._hedges = state["is_wide"], state["hedges"]
        self._is_very_wide = state.get("is_very_wide", False)  # states of 0.1 and earlier lack it
        self._elsewhere_turns = state.get("elsewhere_turns", 0)  # and states of 0.2 this
        self._designer = None
        if state["designer"] is not None:
            self._designer = DLMT(self.space, self._rng, budget=self.budget)
            self._designer.restore(state["designer"])
