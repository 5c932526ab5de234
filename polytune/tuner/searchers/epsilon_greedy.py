"""Epsilon-greedy search over an enumerated nominal space."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from polytune.errors import MeasurementError
from polytune.tuner.models.analysis import DesignStep
from polytune.tuner.searcher import cost_from_json, cost_to_json, is_number
from polytune.tuner.searchers.finite_searcher import check_settings


class EpsilonGreedy:
    """Mostly the best arm known, now and then a random one, ever more rarely.

    An arm is one combination of nominal values, and may itself hold a search: its cost is the lowest told for it, and
    it is pulled again until it is closed.  Every arm is pulled once, in order, before any is pulled twice; of long
    lists only the first `first_visits`, the rest being left to chance until all that looks good is closed.

    The published settings are epsilon 5 %, decaying by 10 % per iteration (Pfaffe et al., ICS 2019, section 4.3).

    Args:
        arms: how many arms there are; points are their indices, in the order in which they are to be tried.
        rng: where random choices come from.
        epsilon: the probability of exploring.
        decay: the share of epsilon that is lost with every greedy or random choice.
        promise: an arm is worth pulling again only while its cost is below `promise` times the best.
        first_visits: how many arms are pulled once before anything else.

    Raises:
        SearchError: a setting is out of its bounds.
    """

    def __init__(
        self,
        arms: int,
        rng: np.random.Generator,
        *,
        epsilon: float = 0.05,
        decay: float = 0.1,
        promise: float = 2.0,
        first_visits: int = 64,
    ):
        check_settings("epsilon_greedy", 0, 1, epsilon=epsilon, decay=decay)
        check_settings("epsilon_greedy", 1, promise=promise, first_visits=first_visits)
        self._rng = rng
        self._epsilon = epsilon
        self._decay = decay
        self._promise = promise
        self._first_visits = first_visits
        self._costs: list[float | None] = [None] * arms  # None: never pulled
        self._open = [True] * arms
        self._seen = 0  # every arm before this one has been pulled or closed
        self._searchable: dict[
            int, None
        ] = {}  # the arms that have been pulled and are open, in order of the first pull
        self._asked: int | None = None
        self._best: int | None = None

    def ask(self) -> int:
        """The next arm to pull; the best one once everything is closed."""
        if self._asked is None:
            self._asked = self._choose()
        return self._asked

    def _choose(self) -> int:
        unseen = self._first_unseen()
        if unseen is not None and unseen < self._first_visits:
            return unseen
        explores = self._rng.random() < self._epsilon
        self._epsilon *= 1 - self._decay
        if explores:
            candidates = [arm for arm, is_open in enumerate(self._open) if is_open]
            if candidates:
                return candidates[int(self._rng.integers(len(candidates)))]
        promising = self._promising()
        if promising:
            return min(promising, key=self._cost)
        if unseen is not None:
            return unseen
        return self._best if self._best is not None else 0

    def _first_unseen(self) -> int | None:
        while self._seen < len(self._costs) and (self._costs[self._seen] is not None or not self._open[self._seen]):
            self._seen += 1
        return self._seen if self._seen < len(self._costs) else None

    def _promising(self) -> list[int]:
        limit = math.inf if self._best is None else self._promise * self._cost(self._best)
        return [arm for arm in self._searchable if self._cost(arm) <= limit]

    def _cost(self, arm: int) -> float:
        cost = self._costs[arm]
        return math.inf if cost is None else cost

    def tell(self, point: int, cost: float) -> None:
        """Learn the cost of one pull of an arm; infinite if it was infeasible.

        Raises:
            MeasurementError: the cost is not a number, or there is no such arm.
        """
        if not is_number(cost) or not 0 <= point < len(self._costs):
            raise MeasurementError(f"arm {point} of {len(self._costs)} cannot have the cost {cost!r}")
        self._costs[point] = min(self._cost(point), cost)
        if cost < math.inf and (self._best is None or cost < self._cost(self._best)):
            self._best = point
        if self._open[point]:
            self._searchable[point] = None
        self._asked = None

    def close(self, point: int) -> None:
        """Pull this arm no more: it has nothing left to find."""
        self._open[point] = False
        self._searchable.pop(point, None)
        self._asked = None

    def reopen(self, point: int) -> None:
        """Pull this arm again: there is something new to find."""
        self._open[point] = True
        self._seen = min(self._seen, point)
        if self._costs[point] is not None:
            self._searchable[point] = None

    @property
    def steps(self) -> Sequence[DesignStep]:
        """The steps of a designed experiment; it makes none."""
        return ()

    @property
    def best(self) -> tuple[int, float] | None:
        """The arm with the lowest cost, with that cost."""
        return None if self._best is None else (self._best, self._cost(self._best))

    @property
    def converged(self) -> bool:
        """Return whether every arm has been pulled and all those worth pulling again are closed."""
        return self._first_unseen() is None and not self._promising()

    def state(self) -> dict[str, Any]:
        """Return what has been learned; the random generator belongs to the caller and is not part of it."""
        return {
            "arms": len(self._costs),
            "epsilon": self._epsilon,
            "costs": [[arm, cost_to_json(cost)] for arm, cost in enumerate(self._costs) if cost is not None],
            "closed": [arm for arm, is_open in enumerate(self._open) if not is_open],
            "searchable": list(self._searchable),
            "asked": self._asked,
            "best": self._best,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state of a search over the same arms."""
        self._epsilon = state["epsilon"]
        self._costs = [None] * state["arms"]
        for arm, cost in state["costs"]:
            self._costs[arm] = cost_from_json(cost)
        closed = set(state["closed"])
        self._open = [arm not in closed for arm in range(state["arms"])]
        self._searchable = dict.fromkeys(state["searchable"])
        self._seen = 0
        self._asked, self._best = state["asked"], state["best"]
        arms = range(state["arms"])
        if not all(arm is None or arm in arms for arm in (self._asked, self._best)):
            raise ValueError("the state names arms that there are not")
        if not is_number(self._epsilon) or not all(cost is None or is_number(cost) for cost in self._costs):
            raise ValueError("the state has costs that are none")
