"""All configurations of a space as a table of level indices, built column by column instead of one by one.

The nearest row of a sorted table is found by walking the tree of its common prefixes.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from polytune.errors import SpaceError
from polytune.tuner.spaces.condition import Value
from polytune.tuner.spaces.constraint import Constraint
from polytune.tuner.spaces.parameters import Parameter, Ratio
from polytune.tuner.spaces.space import Space

MAX_ROWS = 1 << 23
MAX_LEVELS = (1 << 16) - 2  # so that a level more, for absence, and a bound after it are numbers of 16 bits too


def tabulate(space: Space, *, levels: int | None = None) -> tuple[list[tuple[Any, ...]], np.ndarray]:
    """The values of each parameter, and a row of their indices for every configuration.

    A parameter that is inactive in some configuration has the last level None there.  Conditions and constraints are
    evaluated once for each distinct combination of the values that they look at, as soon as these are known.

    Args:
        space: a space with finitely many configurations.
        levels: how many evenly spaced values stand for each `Ratio` parameter.

    Returns:
        The levels per parameter, and the rows, (n, parameters) uint16, in lexicographic order.

    Raises:
        SpaceError: there is a `Ratio` parameter and `levels` is not given, or the table would be too large.
    """
    values = [_values(parameter, levels) for parameter in space.parameters]
    names = [parameter.name for parameter in space.parameters]
    table = np.zeros((1, len(names)), np.uint16)
    for column, parameter in enumerate(space.parameters):
        active = np.ones(len(table), bool)
        if parameter.when is not None:
            watched = [names.index(name) for name in sorted(parameter.when.names())]
            active = _evaluate(table, watched, names, values, parameter.when.holds)
        table = _extend(table, column, active, len(values[column]), parameter.name)
        if not active.all():
            values[column] = (*values[column], None)
        for constraint in space.constraints:
            looked_at = [names.index(name) for name in sorted(constraint.names)]
            if max(looked_at) == column:
                table = table[_evaluate(table, looked_at, names, values, partial(_permits, constraint))]
    return values, table


def _permits(constraint: Constraint, values: Mapping[str, Value]) -> bool:
    return not constraint.names <= values.keys() or constraint.holds(values)


def _values(parameter: Parameter, levels: int | None) -> tuple[Any, ...]:
    if isinstance(parameter, Ratio):
        if levels is None:
            raise SpaceError(
                f"the values of {parameter.name!r}, a real number, cannot be listed; pass levels= to take a grid of "
                "them, or declare it as an Integer"
            )
        return parameter.grid(levels)
    if len(parameter.levels) > MAX_LEVELS:
        raise SpaceError(f"parameter {parameter.name!r} has {len(parameter.levels)} values, more than {MAX_LEVELS}")
    return tuple(parameter.levels)


def _extend(table: np.ndarray, column: int, active: np.ndarray, levels: int, name: str) -> np.ndarray:
    """Each row once per level of the column where that is active, and with the level after the last one elsewhere."""
    copies = np.where(active, levels, 1)
    ends = np.cumsum(copies)
    if ends[-1:].sum() > MAX_ROWS:
        raise SpaceError(
            f"the space has {int(ends[-1])} combinations of the parameters up to {name!r}, more than the {MAX_ROWS} "
            "that a table holds; use fewer values, or put the parameters that a constraint ties together first"
        )
    extended = np.repeat(table, copies, axis=0)
    position = np.arange(len(extended)) - np.repeat(ends - copies, copies)
    extended[:, column] = np.where(np.repeat(active, copies), position, levels)
    return extended


def _evaluate(
    table: np.ndarray,
    columns: Sequence[int],
    names: Sequence[str],
    values: Sequence[tuple[Any, ...]],
    predicate: Callable[[Mapping[str, Value]], bool],
) -> np.ndarray:
    """Return what the predicate says of each row, given the values of the columns that are active there."""
    combinations, row_of = distinct_rows(table[:, columns], [len(values[column]) for column in columns])
    answers = np.empty(len(combinations), bool)
    for number, combination in enumerate(combinations.tolist()):
        chosen = {names[column]: values[column][level] for column, level in zip(columns, combination, strict=True)}
        answers[number] = predicate({name: value for name, value in chosen.items() if value is not None})
    per_row: np.ndarray = answers[row_of]
    return per_row


def distinct_rows(rows: np.ndarray, sizes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """The different rows, and for each row the number of the one that equals it.

    Args:
        rows: (n, columns) level indices.
        sizes: how many levels each column has.
    """
    number = np.zeros(len(rows), np.int64)
    bound = 1
    for column, size in enumerate(sizes):
        number = number * size + rows[:, column]
        bound *= size
        if bound > 1 << 40:  # number them anew, lest the product of the sizes overflow
            number = np.unique(number, return_inverse=True)[1].astype(np.int64)
            bound = int(number.max(initial=0)) + 1
    _, first, inverse = np.unique(number, return_index=True, return_inverse=True)
    return rows[first], inverse


_EXPANSIONS = 16


def nearest_row(rows: np.ndarray, distances: Sequence[np.ndarray], expansions: int = _EXPANSIONS) -> int:
    """The index of a row for which the sum of the columns' distances is small.

    Rows in lexicographic order form a tree whose nodes are ranges of rows with a common prefix.  It is searched best
    first; the distance of a prefix is a lower bound of those of its rows, so the first whole row reached is the
    nearest.  That may need many nodes: after `expansions` of them the answer is the better of two rows, those found
    by following the nearest branches from the root and from the best node open.  So the time stays below a
    millisecond whatever the size of the table.

    Args:
        rows: (n, d) level indices in lexicographic order, columns contiguous, n >= 1.
        distances: for each of d columns how far each of its levels is from what is wanted; not negative.
        expansions: how many nodes are opened at most.
    """
    n, d = rows.shape
    found = _descend(rows, distances, (0.0, 0, 0, n))
    # Distance, minus the number of columns decided (of equal distances the longest prefix first), and the range.
    heap: list[tuple[float, int, int, int]] = [(0.0, 0, 0, n)]
    for _ in range(expansions):
        distance, decided, first, end = heapq.heappop(heap)
        if distance >= found[0]:
            return found[1]
        if -decided == d:
            return first
        starts, ends, away = _children(rows, distances, -decided, first, end)
        for far, start, stop in zip(away.tolist(), starts.tolist(), ends.tolist(), strict=True):
            if distance + far < found[0]:
                heapq.heappush(heap, (distance + far, decided - 1, start, stop))
        if not heap:
            return found[1]
    return min(found, _descend(rows, distances, heap[0]))[1]


def _descend(rows: np.ndarray, distances: Sequence[np.ndarray], node: tuple[float, int, int, int]) -> tuple[float, int]:
    """The row reached from a node by always following the nearest branch, after its distance."""
    total, decided, first, end = node
    for column in range(-decided, len(distances)):
        if end - first == 1:
            total += float(distances[column][rows[first, column]])
            continue
        starts, ends, away = _children(rows, distances, column, first, end)
        nearest = int(away.argmin())
        total += float(away[nearest])
        first, end = int(starts[nearest]), int(ends[nearest])
    return total, first


def _children(
    rows: np.ndarray, distances: Sequence[np.ndarray], column: int, first: int, end: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ranges of rows within [first, end) that have the same level in a column: starts, ends and distances."""
    levels = rows[first:end, column]
    count = len(distances[column])
    if count < len(levels):
        bounds = levels.searchsorted(np.arange(count + 1, dtype=levels.dtype))
        there = np.flatnonzero(bounds[1:] > bounds[:-1])
        return first + bounds[there], first + bounds[there + 1], distances[column][there]
    starts = np.concatenate([[0], np.flatnonzero(levels[1:] != levels[:-1]) + 1])
    ends = np.append(starts[1:], len(levels))
    return first + starts, first + ends, distances[column][levels[starts]]
