"""One node of the search space graph under one combination of the values chosen before it, and the search among its
arms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polytune.errors import SpaceError
from polytune.tuner.hierarchy.arms import Arm
from polytune.tuner.hierarchy.subspace import Subspace
from polytune.tuner.models.analysis import DesignStep
from polytune.tuner.searchers import EpsilonGreedy, FiniteSearcher, Method, make_search
from polytune.tuner.spaces.condition import Value
from polytune.tuner.spaces.configuration import Configuration
from polytune.tuner.spaces.finite import FiniteSpace

__all__ = ["FiniteArms", "NodeSearch"]


class NodeSearch:
    """The arms of a node: its combinations of values that go with those chosen before.

    Attributes:
        chosen: the structural values of earlier nodes.
        arms: the combinations, in the order in which they are tried first.
        first_visits: how many arms are tried before the search among them begins.
        search: chooses among them.
        children: per arm that has been walked through, what lies beyond.
        seen: the arms of which a cost, or that they are infeasible, is known.
        failures: how many arms have failed while none is known to run.
    """

    __slots__ = ("_position", "arms", "children", "chosen", "failures", "first_visits", "search", "seen")

    def __init__(self, chosen: Arm, arms: Sequence[Arm], search: EpsilonGreedy, first_visits: int):
        self.chosen = chosen
        self.arms = list(arms)
        self.first_visits = min(first_visits, len(self.arms))
        self.search = search
        self.children: dict[int, NodeSearch | Subspace] = {}
        self.seen: set[int] = set()
        self.failures = 0
        self._position = {tuple(arm.items()): index for index, arm in enumerate(self.arms)}

    def values(self, arm: int) -> Arm:
        """All structural values chosen once an arm is."""
        return {**self.chosen, **self.arms[arm]}

    def arm_of(self, configuration: Configuration) -> int | None:
        """The arm with the values of a configuration; None where it is not listed."""
        if not self.arms:
            return None
        return self._position.get(tuple((name, configuration.get(name)) for name in self.arms[0]))

    def tell(self, arm: int, cost: float) -> None:
        """Learn the cost of a configuration beyond an arm."""
        self.seen.add(arm)
        self.search.tell(arm, cost)

    def searches_further(self, arm: int) -> bool:
        """Return whether the first visits are over and an arm was taken that had been seen: what its searches find
        counts."""
        return len(self.seen) >= self.first_visits and arm in self.seen

    def is_hopeless(self, most_failures: int) -> bool:
        """Return whether no arm is known to run, after all of them or enough have been seen."""
        return self.search.best is None and (self.search.converged or self.failures >= most_failures)

    def state(self) -> dict[str, Any]:
        """The branch and everything beyond, as JSON keeps it."""
        return {
            "chosen": self.chosen,
            "arms": self.arms,
            "search": self.search.state(),
            "seen": sorted(self.seen),
            "failures": self.failures,
            "children": [[arm, child.state()] for arm, child in self.children.items()],
        }


class FiniteArms(EpsilonGreedy):
    """Epsilon-greedy choice whose first visits follow a search over the table of the arms instead of their order.

    So a node with many arms is explored by the method of choice, and what it has found is then searched further like
    that of any other node.

    Args:
        method: one of `polytune.tuner.searchers.SEARCHES`.
        arms: the arms.
        rng: where random choices come from.
        first_visits: how many arms the search may visit.
        chosen: the values of the nodes above.
        settings: as for `EpsilonGreedy`.
    """

    def __init__(
        self,
        method: Method,
        arms: Sequence[Mapping[str, Value]],
        rng: np.random.Generator,
        first_visits: int,
        chosen: Mapping[str, Value],
        **settings: Any,
    ):
        super().__init__(len(arms), rng, first_visits=first_visits, **settings)
        table = FiniteSpace.from_configurations(list(arms[0]), arms)
        position = {tuple(arm.items()): index for index, arm in enumerate(arms)}
        self._arm_of_row = [position[tuple(table.configuration(row).items())] for row in range(len(table))]
        self._row_of_arm = {arm: row for row, arm in enumerate(self._arm_of_row)}
        self._visits_left = min(first_visits, len(arms))
        own = np.random.default_rng(int(rng.integers(1 << 62)))
        self._finite: FiniteSearcher = make_search(method, table, own, budget=self._visits_left)
        self._finite.surround(chosen)

    def _choose(self) -> int:
        while self._visits_left and not self._finite.converged:
            arm = self._arm_of_row[self._finite.ask()]
            if self._open[arm]:
                return arm
            self._finite.tell(self._row_of_arm[arm], math.inf)  # closed from outside: not worth a visit
        return super()._choose()

    @property
    def steps(self) -> Sequence[DesignStep]:
        """The steps of a designed experiment, where the search is one."""
        return self._finite.steps

    def tell(self, point: int, cost: float) -> None:
        """Learn the cost of one pull of an arm; infinite if it was infeasible."""
        if self._costs[point] is None:
            self._visits_left = max(self._visits_left - 1, 0)
        super().tell(point, cost)
        self._finite.tell(self._row_of_arm[point], cost)

    def state(self) -> dict[str, Any]:
        """Return what has been learned."""
        return {**super().state(), "visits_left": self._visits_left, "finite": self._finite.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state of a search over the same arms with the same method."""
        super().restore(state)
        if "finite" not in state:
            raise SpaceError("the state is not one of this search method")
        self._visits_left = state["visits_left"]
        self._finite.restore(state["finite"])
