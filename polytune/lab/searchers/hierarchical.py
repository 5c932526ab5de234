"""The hierarchical search of kernels, on a recorded space."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polytune.errors import SpaceError
from polytune.lab.application import Application, node_methods
from polytune.tuner import FiniteSearcher, FiniteSpace, HierarchicalTuner
from polytune.tuner.searcher import cost_from_json, cost_to_json

__all__ = ["Hierarchical"]


class Hierarchical(FiniteSearcher):
    """The search that tunes kernels: every node of the graph of the space on its own, by a walk from the root.

    A recording has no default configuration: a random one takes its place.  Where what decides whether a parameter
    exists can be told from the table, the graph has that condition.

    After Pfaffe, Grosser and Tillmann, "Efficient Hierarchical Online-Autotuning" (ICS 2019), section 3.1; figure 7b
    there varies epsilon and its decay.

    Args:
        nominal: how nodes of nominal parameters are searched, one of `polytune.tuner.SEARCHES`.
        numeric: how the others are.
        epsilon, decay: those of the epsilon-greedy choice, where `nominal` is that.
    """

    def __init__(
        self,
        space: FiniteSpace,
        rng: np.random.Generator,
        *,
        budget: int | None = None,
        nominal: str = "epsilon_greedy",
        numeric: str = "portfolio",
        epsilon: float | None = None,
        decay: float | None = None,
    ):
        super().__init__(space, rng, budget=budget)
        self._methods = node_methods(nominal, numeric, epsilon, decay)
        self._begin(self._random_row(), int(rng.integers(1 << 62)))

    def _begin(self, start: int, seed: int) -> None:
        self._start, self._seed = start, seed
        self._application = Application(self.space, start)
        self._tuner = HierarchicalTuner(
            self._application.space,
            rng=np.random.default_rng(seed),
            reject=self._application.reject,
            searchers=self._methods,
            may_be_exact=True,
        )
        self._learned: list[tuple[int, float]] = []

    def _propose(self) -> int | None:
        try:
            return self._application.row(self._tuner.ask())
        except SpaceError:  # nothing that is left runs
            return None

    def _learn(self, index: int, cost: float) -> None:
        self._learned.append((index, cost))
        configuration = self._application.configuration(index)
        if cost < math.inf:
            self._tuner.tell(configuration, cost)
        else:
            self._tuner.fail(configuration, "it is said to fail")

    def _rule_state(self) -> dict[str, Any]:
        learned = [[index, cost_to_json(cost)] for index, cost in self._learned]
        return {"start": self._start, "seed": self._seed, "learned": learned}

    def _restore_rule(self, state: dict[str, Any]) -> None:
        """Take the same way once more: the search is a function of its seed and of what it is told."""
        self._begin(state["start"], state["seed"])
        for index, cost in state["learned"]:
            self._propose()
            self._learn(index, cost_from_json(cost))
