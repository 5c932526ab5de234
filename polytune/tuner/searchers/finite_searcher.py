"""The common part of searches over a finite space: memory, budget, random new rows, checked settings, exact states."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from polytune.errors import MeasurementError, SearchError
from polytune.tuner.models.analysis import DesignStep
from polytune.tuner.searcher import cost_from_json, cost_to_json, generator_to_json, is_number
from polytune.tuner.spaces.finite import FiniteSpace

_ANSWERS_FROM_MEMORY = 40  # within one `ask`, so that asking stays quick


class FiniteSearcher(ABC):
    """Minimises a cost over the rows of a finite space by ask and tell.

    A method's rule may want a row whose cost is known: it is answered from memory, without an evaluation, as Kernel
    Tuner does.  So no row is asked for twice while one is left.  Where the rule has come to its end, or has wanted
    nothing new for a while, rows are drawn at random from those that are left; the rule is not told of these.

    Subclasses say what the rule wants (`_propose`).  One that remembers more than the costs also says how it takes an
    answer (`_learn`) and what it remembers (`_rule_state`, `_restore_rule`).  Settings are keyword arguments.

    Args:
        space: what to search.
        rng: where random choices come from; the search is a function of it and of what is told.
        budget: how many evaluations there will be, where that is known; methods may plan for it.
    """

    def __init__(self, space: FiniteSpace, rng: np.random.Generator, *, budget: int | None = None):
        self.space = space
        self.budget = budget
        self._rng = rng
        self._costs: dict[int, float] = {}
        self._best: int | None = None
        self._asked: int | None = None
        self._asked_by_rule = False
        # A shuffle of all rows of which only the part drawn so far exists: what has been swapped, and what is left.
        self._swapped: dict[int, int] = {}
        self._left = len(space)

    @property
    def steps(self) -> Sequence[DesignStep]:
        """The steps of a designed experiment so far, with their analyses of variance; none of other methods."""
        return ()

    # ---- what a method is

    @abstractmethod
    def _propose(self) -> int | None:
        """The row that the rule wants to know the cost of, told or not; None when it has come to its end."""

    def _learn(self, index: int, cost: float) -> None:  # noqa: B027
        """Take in the cost of the row last proposed, infinite if it is infeasible; `_costs` has it already."""

    def _rule_state(self) -> dict[str, Any]:
        """Return the memory of the rule, as JSON keeps it, without the costs and the random generator."""
        return {}

    def _restore_rule(self, state: dict[str, Any]) -> None:  # noqa: B027
        """Take over what `_rule_state` returned."""

    @classmethod
    def lacks(cls, settings: Mapping[str, Any]) -> str:
        """Return what settings lack that the method cannot do without, as a sentence; empty where nothing.

        Args:
            settings: as they are written.
        """
        return ""

    @classmethod  # noqa: B027
    def check_files(cls, settings: Mapping[str, Any]) -> None:
        """See to it that files named by settings can be read, where they are written and not when the search begins.

        Args:
            settings: as they are written, each of the right type.

        Raises:
            PolytuneError: one cannot be read, or has something else in it.
        """

    def surround(self, values: Mapping[str, Any]) -> None:  # noqa: B027
        """Take in the values of parameters that are not in the space, before the first row is asked for.

        Most methods have no use for them; one whose model knows whole configurations has.
        """

    # ---- the protocol

    def ask(self) -> int:
        """The row to evaluate next, the same one until it is told; the best one once every row has been told."""
        if self._asked is None:
            if len(self._costs) == len(self.space):
                return self._best if self._best is not None else 0
            wanted = self._new_row_of_rule()
            self._asked_by_rule = wanted is not None
            self._asked = wanted if wanted is not None else self._fresh_row()
        return self._asked

    def _new_row_of_rule(self) -> int | None:
        for _ in range(_ANSWERS_FROM_MEMORY):
            wanted = self._propose()
            if wanted is None:
                return None
            if not isinstance(wanted, (int, np.integer)) or not 0 <= wanted < len(self.space):
                raise SearchError(
                    f"the search {type(self).__name__} wants to know the cost of the row {wanted!r}, but the space has "
                    f"the rows 0 to {len(self.space) - 1}"
                )
            if wanted not in self._costs:
                return int(wanted)
            self._learn(wanted, self._costs[wanted])
        return None

    def tell(self, index: int, cost: float) -> None:
        """Learn the cost of a row; infinite if it is infeasible.

        A row that was not asked for is remembered too; of a row told again, the lower cost is.

        Raises:
            MeasurementError: the cost is negative or not a number, or there is no such row.
        """
        if not isinstance(index, (int, np.integer)) or not 0 <= index < len(self.space):
            raise MeasurementError(
                f"row {index!r} cannot have a cost: the space has the rows 0 to {len(self.space) - 1}"
            )
        if not is_number(cost) or cost < 0:
            raise MeasurementError(
                f"the configuration {self.space.configuration(index)} cannot have the cost {cost!r}: a cost is a "
                "number of at least 0, and infinite where the configuration is infeasible"
            )
        index, cost = int(index), min(float(cost), self._costs.get(index, math.inf))
        self._costs[index] = cost
        if cost < math.inf and (self._best is None or cost < self._costs[self._best]):
            self._best = index
        if index == self._asked:
            self._asked = None
            if self._asked_by_rule:
                self._learn(index, cost)

    @property
    def best(self) -> tuple[int, float] | None:
        """The row with the lowest cost, with that cost; None while no feasible one is known."""
        return None if self._best is None else (self._best, self._costs[self._best])

    @property
    def converged(self) -> bool:
        """Return whether every row has been told, or as many as the budget has."""
        told = len(self._costs)
        return told == len(self.space) or (self.budget is not None and told >= self.budget)

    @property
    def costs(self) -> Mapping[int, float]:
        """The cost of every row told, in the order of telling."""
        return MappingProxyType(self._costs)

    # ---- for the rules

    def _known(self, index: int) -> float | None:
        """The cost of a row; None where it has not been told."""
        return self._costs.get(index)

    def _random_row(self) -> int:
        """Any row, uniformly at random."""
        return int(self._rng.integers(len(self.space)))

    def _fresh_row(self) -> int:
        """A row that has not been told, uniformly at random; there must be one.

        The rows are drawn in the order of a lazy Fisher-Yates shuffle, and those told meanwhile are passed over: the
        whole costs no more than one step per row.
        """
        while True:
            place = int(self._rng.integers(self._left))
            self._left -= 1
            row = self._swapped.get(place, place)
            last = self._swapped.pop(self._left, self._left)
            if place < self._left:
                self._swapped[place] = last
            if row not in self._costs:
                return row

    # ---- states

    def state(self) -> dict[str, Any]:
        """Everything that the search has learned, and its random generator, as JSON keeps it."""
        return {
            "search": type(self).__name__,
            "rows": len(self.space),
            "costs": [[index, cost_to_json(cost)] for index, cost in self._costs.items()],
            "best": self._best,
            "asked": self._asked,
            "asked_by_rule": self._asked_by_rule,
            "swapped": [[place, row] for place, row in self._swapped.items()],
            "left": self._left,
            "rng": generator_to_json(self._rng),
            "rule": self._rule_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue exactly from a state of a search of the same method, settings and space.

        The state of the random generator that the search was given is overwritten.

        Raises:
            SearchError: the state is of another method or of another space.
        """
        for field, mine in (("search", type(self).__name__), ("rows", len(self.space))):
            if state.get(field) != mine:
                raise SearchError(f"this is no state of this search: its {field} is {state.get(field)!r}, not {mine!r}")
        self._costs = {index: cost_from_json(cost) for index, cost in state["costs"]}
        self._best, self._asked, self._asked_by_rule = state["best"], state["asked"], state["asked_by_rule"]
        self._swapped = dict(state["swapped"])
        self._left = state["left"]
        self._rng.bit_generator.state = state["rng"]
        self._restore_rule(state["rule"])


def check_settings(search: str, low: float, high: float = math.inf, /, **settings: float | None) -> None:
    """Check that the settings given lie within bounds, both included; None stands for a default.

    Args:
        search: its name, for the message.
        low, high: the bounds.
        settings: the values, by the names of the settings.

    Raises:
        SearchError: one does not.
    """
    for name, value in settings.items():
        if value is not None and not low <= value <= high:
            bounds = f"at least {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
            raise SearchError(f"the search {search!r} needs a setting {name} of {bounds}, not {value}")
