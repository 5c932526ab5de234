"""The numeric subspace under one combination of structural values, with the search of its own that it keeps.

A search that needs a table is given one of the subspace.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polytune.errors import SpaceError
from polytune.tuner.models.analysis import DesignStep
from polytune.tuner.searcher import Searcher, cost_from_json, cost_to_json
from polytune.tuner.searchers import FiniteSearcher, Method, NelderMead, make_search
from polytune.tuner.searchers.method import checked
from polytune.tuner.spaces.condition import Value
from polytune.tuner.spaces.configuration import Configuration
from polytune.tuner.spaces.constraint import Constraint
from polytune.tuner.spaces.coordinates import Coordinate, axis_of
from polytune.tuner.spaces.finite import FiniteSpace
from polytune.tuner.spaces.parameters import Integer, Ordinal, Parameter, Ratio
from polytune.tuner.spaces.space import Space

__all__ = ["table_around"]

_FIRST_STEP = 0.25  # of an axis's extent: far enough to see a difference, not so far as to leave the good region
_EVALUATIONS_PER_AXIS = 24
_GAIN = 0.005  # less than this share of the cost is no progress: it is not worth the measurements
_MOVES_WITHOUT_GAIN = 4

SIMPLEX = "nelder_mead"
"""The name of the method that searches coordinates; all others search a table."""

_SIMPLEX = Method(SIMPLEX)


class Subspace:
    """The active numeric parameters under a structural combination, and a search over them.

    All of them form one space: parameters whose conditions hold together cannot be tuned apart (Pfaffe et al.,
    ICS 2019, section 3.1.1).  By default they are searched by a simplex in mirrored coordinates; another method, of
    `polytune.tuner.searchers.SEARCHES`, gets the table of their values (`table_around`), points being rows of it.

    It ends where the search has converged.  A simplex also ends where it has gained less than half a percent in the
    last moves, as it may follow a flat valley for long; another method, which looks everywhere, ends with its budget.

    Args:
        space: the whole space.
        start: the configuration that gives the structural values and the point where the search starts.
        method: the search.
        rng: where its random choices come from; the simplex makes none.
        fixed: names of parameters that are not searched: they keep the values of the start.

    Attributes:
        dimension: how many parameters have more than one value.
    """

    def __init__(
        self,
        space: Space,
        start: Configuration,
        method: Method = _SIMPLEX,
        rng: np.random.Generator | None = None,
        fixed: Collection[str] = (),
    ):
        self._start = dict(start)
        parameters = [
            parameter
            for parameter in space.active_numeric(start)
            if parameter.name in start and parameter.name not in fixed
        ]
        axes = [axis_of(parameter) for parameter in parameters]
        # A parameter with a single value has an axis without extent: nothing to search.
        free = [(parameter, axis) for parameter, axis in zip(parameters, axes, strict=True) if axis.extent > 0]
        self.dimension = len(free)
        self._names = [parameter.name for parameter, _ in free]
        self._axes: list[Coordinate] = [axis for _, axis in free]
        self._method = method if free or method.name == SIMPLEX else _SIMPLEX
        self._table: FiniteSpace | None = None
        self._expected = math.inf  # the cost when there was progress for the last time
        self._fruitless = 0  # points told since
        self._patience: float = _MOVES_WITHOUT_GAIN * (self.dimension + 1)  # of them
        self._first: int | None = None  # of a table: the row of the start, which is measured before any other
        self._searcher: Searcher[Any]
        if self._method.name == SIMPLEX:
            at = [axis.encode(start[name]) for name, axis in zip(self._names, self._axes, strict=True)]
            steps = [_first_step(axis.extent, place) for axis, place in zip(self._axes, at, strict=True)]
            self._searcher = NelderMead(at, steps, **checked(SIMPLEX, NelderMead, method.settings if free else {}))
        else:
            self._patience = math.inf
            constraints = [each for each in space.constraints if each.names <= set(self._names)]
            self._table = table_around([parameter for parameter, _ in free], constraints, start)
            own = np.random.default_rng(None if rng is None else int(rng.integers(1 << 62)))
            self._searcher = self._search_of_table(self._table, start, own)
            places = [
                _level(parameter, axis, start[parameter.name], levels)
                for (parameter, axis), levels in zip(free, self._table.levels, strict=True)
            ]
            self._first = self._table.nearest(places)

    def _search_of_table(self, table: FiniteSpace, start: Configuration, rng: np.random.Generator) -> Searcher[Any]:
        """The search of a table of values, which knows the values around it."""
        budget = min(len(table), _EVALUATIONS_PER_AXIS * self.dimension)
        searcher = make_search(self._method, table, rng, budget=budget)
        searcher.surround({name: value for name, value in start.items() if name not in self._names})
        return searcher

    def configuration(self, point: Any) -> Configuration:
        """The configuration that a point of the search stands for; it may break a constraint of the space."""
        values = self._start.copy()
        if self._table is not None:
            values.update(self._table.configuration(point))
        else:
            for name, axis, coordinate in zip(self._names, self._axes, point, strict=True):
                values[name] = axis.decode(coordinate)
        return Configuration(values)

    def ask(self) -> Any:
        """The next point to measure; the same one again until its cost is told."""
        return self._searcher.ask() if self._first is None else self._first

    def tell(self, point: Any, cost: float) -> None:
        """Learn the cost of the point last asked for; infinite where it is infeasible."""
        self._searcher.tell(point, cost)
        self._first = None
        self._fruitless += 1
        if cost < (1 - _GAIN) * self._expected:
            self._expected, self._fruitless = cost, 0

    def learn(self, configuration: Configuration, cost: float) -> None:
        """Learn the cost of a configuration that was not asked for, where the search remembers such.

        Args:
            configuration: a member of the subspace; one that the search's table has no row for teaches nothing.
            cost: infinite where it is infeasible.
        """
        if self._table is None or not isinstance(self._searcher, FiniteSearcher):
            return
        try:
            levels = [
                values.index(configuration[name])
                for name, values in zip(self._table.names, self._table.levels, strict=True)
            ]
        except (LookupError, ValueError):
            return
        row = self._table.index_of(levels)
        if row is not None:
            self._searcher.tell(row, cost)

    @property
    def steps(self) -> Sequence[DesignStep]:
        """The steps of a designed experiment, where the search is one."""
        return self._searcher.steps if isinstance(self._searcher, FiniteSearcher) else ()

    @property
    def best(self) -> tuple[Any, float] | None:
        """The cheapest feasible point told so far, with its cost."""
        return self._searcher.best

    @property
    def converged(self) -> bool:
        """Return whether asking further is not expected to find anything better."""
        return self._searcher.converged or self._fruitless > self._patience

    def state(self) -> dict[str, Any]:
        """Return where the search started and how far it is."""
        return {
            "start": self._start.copy(),
            "method": str(self._method),
            "first": self._first,
            "expected": cost_to_json(self._expected),
            "fruitless": self._fruitless,
            "search": self._searcher.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state of a subspace with the same start and method."""
        self._first = state["first"]
        self._expected, self._fruitless = cost_from_json(state["expected"]), state["fruitless"]
        self._searcher.restore(state["search"])


def restored_point(point: Sequence[float] | int) -> tuple[float, ...] | int:
    """A point of a search as JSON gave it back."""
    return point if isinstance(point, int) else tuple(point)


def _level(parameter: Parameter, axis: Coordinate, value: Value, levels: Sequence[Value]) -> float:
    """Return where a value lies among the levels of a table; between two of them, for a real parameter."""
    if isinstance(parameter, Ratio):
        return (len(levels) - 1) * axis.encode(value) / axis.extent
    return float(levels.index(value))


def _first_step(extent: float, at: float) -> float:
    """The step of the first simplex along an axis: towards the side where there is more room."""
    step = max(1.0, _FIRST_STEP * extent)
    return step if extent - at >= at else -step


_GRID = 33  # values that stand for a real parameter
_FEWER = (129, 65, 33, 17, 9, 5, 3, 2)  # values of each parameter, where all of them together are too many
_ROWS = 1 << 20  # of such a table at most


def table_around(
    parameters: Sequence[Parameter], constraints: Sequence[Constraint], start: Mapping[str, Value]
) -> FiniteSpace:
    """The values of some numeric parameters together, of real ones a grid.

    Where these are more than a table holds, it has the ends of each parameter, the start, and as many values between
    them, evenly spaced (by ratio where the parameter is logarithmic), as make a table of a million rows or less.

    Args:
        parameters: not nominal.
        constraints: of these parameters alone.
        start: a configuration that satisfies the constraints; its values are in the table, but for real parameters.

    Raises:
        SpaceError: there are so many parameters that even two values of each are too many.
    """
    alone: list[Parameter] = []
    for parameter in parameters:
        default: Any = start[parameter.name]
        alone.append(replace(parameter, when=None, default=default))
    try:
        return FiniteSpace.from_space(Space(alone, constraints), levels=_GRID)
    except SpaceError:
        for most in _FEWER:
            fewer = [_thinned(parameter, most) for parameter in alone]
            grid = min(most, _GRID)
            if math.prod(grid if isinstance(p, Ratio) else len(p.levels) for p in fewer) <= _ROWS:
                return FiniteSpace.from_space(Space(fewer, constraints), levels=grid)
        raise


def _thinned(parameter: Parameter, most: int) -> Parameter:
    """A parameter with so many of its levels at most, and its default."""
    if isinstance(parameter, Ratio) or len(parameter.levels) <= most:
        return parameter
    last = len(parameter.levels) - 1
    shares = np.linspace(0.0, 1.0, most)
    if isinstance(parameter, Integer) and parameter.logarithmic and not parameter.powers_of_two:
        low, high = parameter.levels[0], parameter.levels[-1]
        shares = (low * (high / low) ** shares - low) / (high - low)
    positions = {round(share * last) for share in shares.tolist()} | {parameter.levels.index(parameter.default)}
    return Ordinal(parameter.name, tuple(parameter.levels[place] for place in sorted(positions)), parameter.default)
