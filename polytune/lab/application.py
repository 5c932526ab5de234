"""A table of configurations as an application would have it: parameters with conditions, and which rows there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polytune.tuner import Configuration, FiniteSpace, Is, Method, Nominal, Ordinal, Space

__all__ = ["Application", "node_methods"]

_ABSENT = "absent"


class Application:
    """The space of parameters of which a table has some combinations, for searches that walk the graph of a space.

    A parameter that exists under some values of one nominal parameter alone has that as its condition.  Where it
    depends on more, its absence is a level of its own.  Parameters have names of Python's here, as recordings may call
    them anything.

    Args:
        table: the configurations.
        start: the row of the configuration that is the default.

    Attributes:
        space: the parameters.
    """

    def __init__(self, table: FiniteSpace, start: int):
        self._table = table
        self._names = [f"parameter_{column}" for column in range(len(table.levels))]
        conditions = [_condition(table, column) for column in range(len(table.levels))]
        self._levels: list[tuple[Any, ...]] = []
        parameters = []
        for column, (name, condition) in enumerate(zip(self._names, conditions, strict=True)):
            levels = table.levels[column]
            if condition is not None:
                levels = tuple(level for level in levels if level is not None)
            self._levels.append(tuple(_ABSENT if level is None else level for level in levels))
            default = table.levels[column][int(table.rows[start, column])]
            if default is None:
                default = _ABSENT if condition is None else levels[len(levels) // 2]
            when = None if condition is None else Is(self._names[condition[0]], *condition[1])
            kind = Ordinal if table.ordered[column] else Nominal
            parameters.append(kind(name, self._levels[-1], default=default, when=when))
        self.space = Space(parameters)
        self._position = [{level: place for place, level in enumerate(values)} for values in table.levels]

    def row(self, configuration: Mapping[str, Any]) -> int | None:
        """The row of a configuration; None where the table has none."""
        levels = []
        for name, position in zip(self._names, self._position, strict=True):
            value = configuration.get(name, _ABSENT)
            level = position.get(None) if value == _ABSENT and None in position else position.get(value)
            if level is None:
                return None
            levels.append(level)
        return self._table.index_of(levels)

    def configuration(self, row: int) -> Configuration:
        """The configuration of a row."""
        values = {}
        for name, levels, mine, level in zip(
            self._names, self._table.levels, self._levels, self._table.rows[row].tolist(), strict=True
        ):
            value = _ABSENT if levels[level] is None else levels[level]
            if value in mine:  # else it does not exist
                values[name] = value
        return self.space.configuration(**values)

    def reject(self, configuration: Configuration) -> str | None:
        """Say why a configuration is not to be proposed: the table does not have it."""
        return None if self.row(configuration) is not None else "it is not a configuration of the space"


def _condition(table: FiniteSpace, column: int) -> tuple[int, tuple[Any, ...]] | None:
    """The nominal parameter that decides whether another one exists, and the values under which it does; None where it
    always does, or no single one decides."""
    if None not in table.levels[column]:
        return None
    is_active = table.rows[:, column] != table.levels[column].index(None)
    for other, levels in enumerate(table.levels):
        if other == column or table.ordered[other] or None in levels:
            continue
        active = set(np.unique(table.rows[is_active, other]).tolist())
        if active.isdisjoint(np.unique(table.rows[~is_active, other]).tolist()):
            return other, tuple(levels[level] for level in sorted(active))
    return None


def node_methods(nominal: str, numeric: str | None, epsilon: float | None, decay: float | None) -> dict[str, Method]:
    """The methods of the nodes of a graph of subspaces, as the tuners take them.

    Args:
        nominal, numeric: how nodes of nominal parameters and of numbers are searched; with None for the latter, that
            is left to the tuner.
        epsilon, decay: those of the epsilon-greedy choice; its own where they are None.
    """
    bandit = {name: value for name, value in (("epsilon", epsilon), ("decay", decay)) if value is not None}
    methods = {"nominal": Method(nominal, **bandit)}
    return methods if numeric is None else {**methods, "numeric": Method(numeric)}
