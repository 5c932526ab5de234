"""The tuner of running applications, on a recorded space: every evaluation is a call."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polytune.errors import SearchError, SpaceError
from polytune.lab.application import Application, node_methods
from polytune.tuner import Budget, FiniteSearcher, FiniteSpace, OnlineTuner
from polytune.tuner.searcher import cost_from_json, cost_to_json

__all__ = ["Online"]

_BUDGET = Budget(excess=math.inf)  # a first configuration drawn at random is none that calls are to be measured by


class Online(FiniteSearcher):
    """The calls of an application while it is tuned: most run the best configuration known, others try something.

    So an evaluation may be of a configuration that is known: the budget is a number of calls, and what it says of the
    time per call is what an application would see.  The application begins with a configuration drawn at random.  A
    call whose configuration fails is an evaluation that found nothing.

    Args:
        nominal, numeric: how nodes of nominal parameters and of numbers are searched, two of `polytune.tuner.SEARCHES`;
            by default as for kernels, by the length of the calls.
        epsilon, decay: those of the epsilon-greedy choice, where `nominal` is that.
    """

    def __init__(
        self,
        space: FiniteSpace,
        rng: np.random.Generator,
        *,
        budget: int | None = None,
        nominal: str = "epsilon_greedy",
        numeric: str | None = None,
        epsilon: float | None = None,
        decay: float | None = None,
    ):
        super().__init__(space, rng, budget=budget)
        self._methods = node_methods(nominal, numeric, epsilon, decay)
        self._begin(self._random_row(), int(rng.integers(1 << 31)))

    def _begin(self, start: int, seed: int) -> None:
        self._start, self._seed = start, seed
        self._application = Application(self.space, start)
        self._tuner = OnlineTuner(
            self._application.space,
            reject=self._application.reject,
            searchers=self._methods,
            budget=_BUDGET,
            seed=seed,
            clock=lambda: 0.0,  # what a proposal takes is no part of a recording
        )
        self._calls: list[tuple[int, float]] = []
        self._is_over = False

    def _propose(self) -> int | None:
        try:
            return self._application.row(self._tuner.choose())
        except SpaceError:  # nothing that is left runs
            self._is_over = True
            return None

    def ask(self) -> int:
        """The row that the next call runs."""
        if self._asked is None:
            wanted = self._propose()
            self._asked = self._random_row() if wanted is None else wanted
        return self._asked

    def tell(self, index: int, cost: float) -> None:
        """Take in the time of the call; that of a row which no call was to run is remembered only."""
        is_call = index == self._asked
        super().tell(index, cost)
        if is_call:
            self._learn(index, cost)

    def _learn(self, index: int, cost: float) -> None:
        self._calls.append((index, cost))
        if self._is_over:
            return
        configuration = self._application.configuration(index)
        if cost < math.inf:
            self._tuner.report(configuration, cost)
        else:
            self._tuner.fail(configuration, "it is said to fail")

    @property
    def converged(self) -> bool:
        """Return whether as many calls were made as the budget has; without one, whether the tuner has settled."""
        return self._tuner.converged if self.budget is None else len(self._calls) >= self.budget

    def _rule_state(self) -> dict[str, Any]:
        calls = [[index, cost_to_json(cost)] for index, cost in self._calls]
        return {"start": self._start, "seed": self._seed, "calls": calls}

    def _restore_rule(self, state: dict[str, Any]) -> None:
        """Make the same calls once more: what is tried is a function of the seed and of their times."""
        self._begin(state["start"], state["seed"])
        for index, cost in state["calls"]:
            if self._propose() not in (index, None):
                raise SearchError("this is no state of this search: it would have made other calls")
            self._learn(index, cost_from_json(cost))
        if self._asked is not None:
            self._propose()
