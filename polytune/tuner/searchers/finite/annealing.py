"""Simulated annealing, with the rules of CLTune."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polytune.errors import SearchError
from polytune.tuner.searcher import cost_from_json, cost_to_json
from polytune.tuner.searchers.finite_searcher import FiniteSearcher
from polytune.tuner.spaces.finite import FiniteSpace

_BUDGET = 200
_DRAWS = 100


class Annealing(FiniteSearcher):
    """A walk that also moves to worse rows, ever more rarely (Nugteren and Codreanu, CLTune, MCSoC 2015, section 3).

    From a random row, a random neighbour, which differs in at most `distance` parameters, is accepted with the
    probability exp(-(its cost - the present one) / T), where T falls linearly to zero over the budget.  A neighbour
    that has been visited is drawn anew, `retries` times at most.

    Costs have no natural scale here, so T is in multiples of the first feasible cost.

    Args:
        temperature: T at the start.
        distance: how many parameters a neighbour differs in at most.
        retries: how often a visited neighbour is drawn anew.
    """

    def __init__(
        self,
        space: FiniteSpace,
        rng: np.random.Generator,
        *,
        budget: int | None = None,
        temperature: float = 0.5,
        distance: int = 3,
        retries: int = 10,
    ):
        super().__init__(space, rng, budget=budget)
        if not temperature > 0 or distance < 1 or retries < 0:
            raise SearchError(
                f"annealing needs temperature > 0, distance >= 1 and retries >= 0, not {temperature}, {distance} and "
                f"{retries}"
            )
        self._temperature = temperature
        self._distance = min(distance, len(space.names))
        self._retries = retries
        self._at: int | None = None
        self._cost = math.inf
        self._scale: float | None = None
        self._proposed: int | None = None

    def _propose(self) -> int | None:
        if self._proposed is None:
            self._proposed = self._random_row() if self._at is None else self._neighbour(self._at)
        return self._proposed

    def _neighbour(self, at: int) -> int:
        for _ in range(self._retries + 1):
            row = self._draw(at)
            if row not in self.costs:
                break
        return row

    def _draw(self, at: int) -> int:
        """A valid row that differs from one in at most `distance` parameters; that row itself where none is drawn."""
        row = self.space.rows[at].tolist()
        for _ in range(_DRAWS):
            changed = row[:]
            for column in self._rng.choice(len(row), int(self._rng.integers(1, self._distance + 1)), replace=False):
                changed[column] = int(self._rng.integers(len(self.space.levels[column])))
            index = self.space.index_of(changed)
            if index is not None and index != at:
                return index
        neighbours = self.space.neighbours(at)
        return int(neighbours[int(self._rng.integers(len(neighbours)))]) if len(neighbours) else self._random_row()

    def _learn(self, index: int, cost: float) -> None:
        self._proposed = None
        if self._scale is None and 0 < cost < math.inf:
            self._scale = cost
        if self._at is None or cost <= self._cost or self._rng.random() < self._acceptance(cost):
            self._at, self._cost = index, cost

    def _acceptance(self, cost: float) -> float:
        if cost == math.inf or self._scale is None:
            return 0.0
        horizon = min(self.budget if self.budget is not None else _BUDGET, len(self.space))
        temperature = self._temperature * self._scale * max(1 - len(self.costs) / horizon, 0.0)
        return math.exp(-(cost - self._cost) / temperature) if temperature > 0 else 0.0

    def _rule_state(self) -> dict[str, Any]:
        return {
            "at": self._at,
            "cost": cost_to_json(self._cost),
            "scale": self._scale,
            "proposed": self._proposed,
        }

    def _restore_rule(self, state: dict[str, Any]) -> None:
        self._at, self._cost = state["at"], cost_from_json(state["cost"])
        self._scale, self._proposed = state["scale"], state["proposed"]
