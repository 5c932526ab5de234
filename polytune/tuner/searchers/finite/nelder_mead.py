"""Nelder-Mead simplices over the level indices of a finite space."""

from __future__ import annotations

from typing import Any

import numpy as np

from polytune.tuner.searchers.finite_searcher import FiniteSearcher
from polytune.tuner.searchers.nelder_mead import NelderMead
from polytune.tuner.spaces.coordinates import mirror
from polytune.tuner.spaces.finite import FiniteSpace

_FIRST_STEP = 0.25  # of the levels of a parameter, as within a subspace of the hierarchical search


class FiniteNelderMead(FiniteSearcher):
    """Simplex after simplex, each from a random row (Pfaffe et al., ICS 2019, section 3.1).

    The levels of each parameter are one axis, unbounded and mirrored at its ends; the row of a point is the valid one
    nearest to it.  The levels of names are numbered too, which gives them an order that they do not have: on spaces
    with such parameters, another search is the better choice.
    """

    def __init__(self, space: FiniteSpace, rng: np.random.Generator, *, budget: int | None = None):
        super().__init__(space, rng, budget=budget)
        self._lengths = [len(levels) - 1 for levels in space.levels]
        self._free = [column for column, length in enumerate(self._lengths) if length > 0]
        self._simplex = self._start()

    def _start(self) -> NelderMead:
        start = self.space.rows[self._random_row()]
        steps = []
        for column in self._free:
            length = self._lengths[column]
            step = max(1.0, _FIRST_STEP * length)
            steps.append(step if length - start[column] >= start[column] else -step)
        return NelderMead([float(start[column]) for column in self._free], steps)

    def _propose(self) -> int | None:
        levels = [0] * len(self._lengths)
        for column, coordinate in zip(self._free, self._simplex.ask(), strict=True):
            # The mirrors stand half a unit outside, so that the outermost levels are as wide as the others.
            length = self._lengths[column]
            levels[column] = min(int(mirror(coordinate + 0.5, length + 1)), length)
        return self.space.nearest(levels)

    def _learn(self, index: int, cost: float) -> None:
        self._simplex.tell(self._simplex.ask(), cost)
        if self._simplex.converged:
            self._simplex = self._start()

    def _rule_state(self) -> dict[str, Any]:
        return {"simplex": self._simplex.state()}

    def _restore_rule(self, state: dict[str, Any]) -> None:
        self._simplex.restore(state["simplex"])
