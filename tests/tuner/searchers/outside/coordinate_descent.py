"""A search that polytune knows nothing of: all that another package has to write to add one."""

from __future__ import annotations

from typing import Any

import numpy as np

from polytune.tuner import FiniteSearcher, FiniteSpace


class CoordinateDescent(FiniteSearcher):
    """From the best row, all values of one parameter, then all of the next, until a round over all changes nothing.

    Args:
        start: the row to begin with; one at random where it is None.
    """

    def __init__(
        self,
        space: FiniteSpace,
        rng: np.random.Generator,
        *,
        budget: int | None = None,
        start: int | None = None,
    ):
        super().__init__(space, rng, budget=budget)
        self._at = self._random_row() if start is None else start
        self._column = -1
        self._unchanged = 0
        self._waiting = [self._at]

    def _propose(self) -> int | None:
        while not self._waiting:
            best = self._at if self.best is None else self.best[0]
            self._unchanged = 0 if best != self._at else self._unchanged + 1
            if self._unchanged > len(self.space.names):
                return None
            self._at, self._column = best, (self._column + 1) % len(self.space.names)
            others = np.delete(self.space.rows, self._column, axis=1)
            self._waiting = np.flatnonzero((others == others[best]).all(axis=1)).tolist()
        return self._waiting[0]

    def _learn(self, index: int, cost: float) -> None:
        del self._waiting[0]

    def _rule_state(self) -> dict[str, Any]:
        return {
            "at": self._at,
            "column": self._column,
            "unchanged": self._unchanged,
            "waiting": list(self._waiting),
        }

    def _restore_rule(self, state: dict[str, Any]) -> None:
        self._at, self._column, self._unchanged = state["at"], state["column"], state["unchanged"]
        self._waiting = list(state["waiting"])
