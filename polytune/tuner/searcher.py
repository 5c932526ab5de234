"""The one protocol of every search method: ask for a point, tell its cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

import numpy as np

Point = TypeVar("Point")
_INFINITY = math.inf
_NUMBERS = (float, int, np.floating, np.integer)


class Searcher(Protocol[Point]):
    """Minimises a cost by asking for points; points are an index (nominal spaces) or coordinates (real spaces).

    A searcher never measures and never draws from a random generator that it was not given.
    """

    def ask(self) -> Point:
        """The next point to measure; the same one again until its cost is told."""

    def tell(self, point: Point, cost: float) -> None:
        """Learn the cost of a point; infinite where the point turned out to be infeasible."""

    @property
    def best(self) -> tuple[Point, float] | None:
        """The cheapest feasible point told so far, with its cost."""

    @property
    def converged(self) -> bool:
        """Return whether asking further is not expected to find anything better."""

    def state(self) -> dict[str, Any]:
        """Everything that the search has learned, as JSON keeps it; `restore` continues exactly from there."""

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a state that `state` returned."""


def is_number(cost: Any) -> bool:
    """Return whether something is a real number, of Python's or of NumPy's, an infinity among them but not NaN."""
    return isinstance(cost, _NUMBERS) and not math.isnan(cost)


def is_measurement(cost: Any) -> bool:
    """Return whether something is a number that a measurement can give: finite, and not negative."""
    return isinstance(cost, _NUMBERS) and bool(0 <= cost < _INFINITY)


def generator_to_json(rng: np.random.Generator) -> dict[str, Any]:
    """The state of a random generator as JSON has it; every bit generator takes it back in this form."""
    state: dict[str, Any] = _plain(rng.bit_generator.state)
    return state


def _plain(state: Any) -> Any:
    if isinstance(state, Mapping):
        return {key: _plain(value) for key, value in state.items()}
    return state.tolist() if isinstance(state, (np.ndarray, np.generic)) else state


def cost_to_json(cost: float) -> float | None:
    """A cost as JSON has it, which knows no infinity."""
    return None if cost == float("inf") else cost


def cost_from_json(cost: float | None) -> float:
    """The cost that `cost_to_json` wrote."""
    return float("inf") if cost is None else cost
