"""Hill climbing: from a random row to better neighbours until there is none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polytune.errors import SearchError
from polytune.tuner.searcher import cost_from_json, cost_to_json
from polytune.tuner.searchers.finite_searcher import FiniteSearcher
from polytune.tuner.spaces.finite import FiniteSpace


class Greedy(FiniteSearcher):
    """One climb from a random row; what is left of the budget after its end is spent at random.

    The neighbours of a row, those that differ in one parameter, are tried in random order.

    Args:
        first_improvement: move to the first neighbour that is better, instead of to the best of all of them.
        adjacent: neighbours of ordered parameters are adjacent levels only.
    """

    restarts = False

    def __init__(
        self,
        space: FiniteSpace,
        rng: np.random.Generator,
        *,
        budget: int | None = None,
        first_improvement: bool = True,
        adjacent: bool = False,
    ):
        super().__init__(space, rng, budget=budget)
        if not isinstance(first_improvement, bool) or not isinstance(adjacent, bool):
            raise SearchError("first_improvement and adjacent are True or False")
        self._first_improvement = first_improvement
        self._adjacent = adjacent
        self._at: int | None = None
        self._cost = math.inf
        self._waiting: list[int] = []  # neighbours to try, the next one last
        self._candidate: tuple[int, float] | None = None  # the best neighbour so far, if better than where we are
        self._ended = False

    def _propose(self) -> int | None:
        if self._at is None:
            return None if self._ended else self._random_row()
        return self._waiting[-1]

    def _learn(self, index: int, cost: float) -> None:
        if self._at is None:
            self._move(index, cost)
        else:
            self._waiting.pop()
            if cost < (self._candidate[1] if self._candidate else self._cost):
                self._candidate = (index, cost)
            if self._candidate and (self._first_improvement or not self._waiting):
                self._move(*self._candidate)
        if self._at is not None and not self._waiting:
            self._at = None
            self._ended = not self.restarts

    def _move(self, index: int, cost: float) -> None:
        self._at, self._cost, self._candidate = index, cost, None
        neighbours = self.space.neighbours(index, adjacent=self._adjacent)
        self._waiting = self._rng.permutation(neighbours).tolist()

    def _rule_state(self) -> dict[str, Any]:
        candidate = self._candidate
        return {
            "at": self._at,
            "cost": cost_to_json(self._cost),
            "waiting": self._waiting[:],
            "candidate": None if candidate is None else list(candidate),
            "ended": self._ended,
        }

    def _restore_rule(self, state: dict[str, Any]) -> None:
        self._at, self._cost, self._ended = state["at"], cost_from_json(state["cost"]), state["ended"]
        self._waiting = list(state["waiting"])
        self._candidate = None if state["candidate"] is None else (state["candidate"][0], state["candidate"][1])
