"""Epsilon-greedy search over the parameters of a finite space."""

from __future__ import annotations

from typing import Any

import numpy as np

from polytune.errors import SearchError
from polytune.tuner.searchers.finite_searcher import FiniteSearcher
from polytune.tuner.spaces.finite import FiniteSpace


class FiniteEpsilonGreedy(FiniteSearcher):
    """A random row with the probability epsilon, otherwise a neighbour of the best row.

    An epsilon-greedy search exploits by taking the best arm again; as a row told once tells nothing more, it is here
    the best row's surroundings that are taken: first the rows that differ from it in one parameter, in random order,
    then those that differ in two, then random ones.  Epsilon decays with every choice (Pfaffe et al., ICS 2019, section
    4.3: 5 % and 10 % per iteration).

    Args:
        first: how many random rows are tried before anything else.
        epsilon: the probability of exploring.
        decay: the share of epsilon that is lost with every choice.
    """

    def __init__(
        self,
        space: FiniteSpace,
        rng: np.random.Generator,
        *,
        budget: int | None = None,
        first: int = 10,
        epsilon: float = 0.05,
        decay: float = 0.1,
    ):
        super().__init__(space, rng, budget=budget)
        if first < 0 or not 0 <= epsilon <= 1 or not 0 <= decay <= 1:
            raise SearchError(
                f"an epsilon-greedy search needs first >= 0 and epsilon and decay from 0 to 1, not {first}, {epsilon} "
                f"and {decay}"
            )
        self._first = first
        self._epsilon = epsilon
        self._decay = decay
        self._around: int | None = None  # the row whose neighbours wait
        self._hamming = 0
        self._waiting: list[int] = []
        self._proposed: int | None = None

    def _propose(self) -> int | None:
        if self._proposed is None:
            self._proposed = self._choose()
        return self._proposed

    def _choose(self) -> int:
        if len(self.costs) < self._first or self.best is None:
            return self._fresh_row()
        explores = self._rng.random() < self._epsilon
        self._epsilon *= 1 - self._decay
        if explores:
            return self._fresh_row()
        best = self.best[0]
        if best != self._around:
            self._around, self._hamming, self._waiting = best, 0, []
        while not self._waiting and self._hamming < 2:
            self._hamming += 1
            neighbours = self.space.neighbours(best, self._hamming)
            self._waiting = [row for row in self._rng.permutation(neighbours).tolist() if row not in self.costs]
        return self._waiting.pop() if self._waiting else self._fresh_row()

    def _learn(self, index: int, cost: float) -> None:
        self._proposed = None

    def _rule_state(self) -> dict[str, Any]:
        return {
            "epsilon": self._epsilon,
            "around": self._around,
            "hamming": self._hamming,
            "waiting": self._waiting[:],
            "proposed": self._proposed,
        }

    def _restore_rule(self, state: dict[str, Any]) -> None:
        self._epsilon, self._around, self._hamming = state["epsilon"], state["around"], state["hamming"]
        self._waiting, self._proposed = list(state["waiting"]), state["proposed"]
