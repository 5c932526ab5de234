"""Latin hypercube sampling: a random sample that covers the levels of every parameter evenly."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from polytune.errors import SearchError
from polytune.tuner.extras import library
from polytune.tuner.searchers.finite_searcher import FiniteSearcher
from polytune.tuner.spaces.finite import FiniteSpace

_SAMPLES = 100


class LatinHypercube(FiniteSearcher):
    """One Latin hypercube of as many points as there are evaluations (McKay, Beckman and Conover, 1979).

    Each point is the valid row nearest to it; where two points have the same row, and after the last point, rows are
    drawn at random.  Needs SciPy.

    Args:
        samples: the number of points; where not given, the budget, or 100 where there is none.
    """

    def __init__(
        self, space: FiniteSpace, rng: np.random.Generator, *, budget: int | None = None, samples: int | None = None
    ):
        super().__init__(space, rng, budget=budget)
        if samples is not None and samples < 1:
            raise SearchError(f"a Latin hypercube has at least one point, not samples={samples}")
        wanted = samples if samples is not None else budget if budget is not None else _SAMPLES
        sizes = np.array([len(levels) for levels in space.levels])
        points = np.zeros((0, len(sizes)))
        if len(sizes):
            qmc = library("scipy.stats.qmc", "the Latin hypercube search")
            points = qmc.LatinHypercube(len(sizes), rng=rng).random(max(min(wanted, len(space)), 1))
        # Each level owns an equal part of its axis, so it is the centre of that part that is level + 1/2.
        self._targets: deque[list[float]] = deque((points * sizes - 0.5).tolist())

    def _propose(self) -> int | None:
        return self.space.nearest(self._targets[0]) if self._targets else None

    def _learn(self, index: int, cost: float) -> None:
        self._targets.popleft()

    def _rule_state(self) -> dict[str, Any]:
        return {"targets": list(self._targets)}

    def _restore_rule(self, state: dict[str, Any]) -> None:
        self._targets = deque(state["targets"])
