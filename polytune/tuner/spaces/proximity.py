"""Which rows of a finite space are near others."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from polytune.tuner.spaces.trie import nearest_row

if TYPE_CHECKING:
    from polytune.tuner.spaces.finite import FiniteSpace


def neighbours(space: FiniteSpace, index: int, hamming: int, adjacent: bool) -> np.ndarray:
    """What `FiniteSpace.neighbours` says, by looking up the numbers of the rows that may be."""
    row = space.rows[index].astype(np.int64)
    sizes = [len(levels) for levels in space.levels]
    columns = np.repeat(np.arange(len(sizes)), sizes)
    levels = np.concatenate([np.arange(size) for size in sizes]) if sizes else columns
    wanted = levels != row[columns]
    if adjacent:
        ordered = np.array(space.ordered, bool)[columns]
        appears = _is_absence(space, columns, levels) | _is_absence(space, columns, row[columns])
        wanted &= ~ordered | appears | (abs(levels - row[columns]) == 1)
    columns, levels = columns[wanted], levels[wanted]
    if hamming > 2:
        return _scan(space, row, hamming, columns, levels)
    number = (row * space.weights).sum()
    steps = (levels - row[columns]) * space.weights[columns]
    numbers = [number + steps]
    if hamming == 2:
        one, other = np.array(list(combinations(range(len(steps)), 2)), int).reshape(-1, 2).T
        numbers.append((number + steps[one] + steps[other])[columns[one] != columns[other]])
    rows, valid = space.rows_numbered(np.concatenate(numbers))
    found = rows[valid]
    # A row found by a hash may be another one; what counts is how far it is.
    found = found[(space.rows[found] != row).sum(axis=1) <= hamming]
    if any(level is not None for level in space.inactive):
        missing = ~valid[: len(steps)]
        if space.deciding is not None:
            missing &= np.isin(columns, space.deciding)
        found = np.concatenate([found, _activations(space, row, columns[missing], levels[missing])])
    return np.unique(found[found != index]).astype(np.int64)


def _is_absence(space: FiniteSpace, columns: np.ndarray, levels: np.ndarray) -> np.ndarray:
    absent = np.array([-1 if level is None else level for level in space.inactive])
    return levels == absent[columns]


def _scan(space: FiniteSpace, row: np.ndarray, hamming: int, columns: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """The rows with few differences, each to one of the levels given, by looking at every row."""
    allowed = [np.zeros(len(values), bool) for values in space.levels]
    for column, level in zip(columns, levels, strict=True):
        allowed[column][level] = True
    differing = np.zeros(len(space), np.int64)
    within = np.ones(len(space), bool)
    for column, level in enumerate(row):
        differs = space.rows[:, column] != level
        differing += differs
        within &= ~differs | allowed[column][space.rows[:, column]]
    return np.flatnonzero(within & (differing > 0) & (differing <= hamming))


def _activations(space: FiniteSpace, row: np.ndarray, columns: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """The neighbours whose other differences are parameters that appear or vanish."""
    found = []
    here = np.arange(len(row))
    absent = _is_absence(space, here, row)
    for column, level in zip(columns.tolist(), levels.tolist(), strict=True):
        if absent[column] or space.levels[column][level] is None:
            continue  # it appears or vanishes by the change of another
        target = np.where(absent, np.nan, row).astype(float)
        target[column] = level
        index = nearest_row(space.rows, distances(space, target, decisive=column))
        differs = space.rows[index] != row
        differs[column] = space.rows[index, column] != level
        if not (differs & ~absent & ~_is_absence(space, here, space.rows[index])).any():
            found.append(index)
    return np.array(found, np.int64)


def distances(space: FiniteSpace, target: np.ndarray, decisive: int | None = None) -> list[np.ndarray]:
    """Per column how far each level is from the target: nothing where either is the absence of the parameter.

    Where nothing is wanted, or absence but there is none, the middle level is slightly better than others.

    Args:
        space: whose levels.
        target: (parameters,) levels; not a number where nothing is wanted.
        decisive: a column whose distance outweighs all others.
    """
    found = []
    for size, absence, ordered, wanted in zip(
        map(len, space.levels), space.inactive, space.ordered, target.tolist(), strict=True
    ):
        level = np.arange(size)
        active = size - (absence is not None)
        if math.isnan(wanted) or round(wanted) == absence:
            away = abs(level - active // 2) / (4 * size)
        elif ordered:
            away = np.minimum(abs(level - wanted) / max(active - 1, 1), 1.0)
        else:
            away = (level != round(wanted)).astype(float)
        if absence is not None:
            away[absence] = 0.0
        found.append(away)
    if decisive is not None:
        found[decisive] = found[decisive] * 1e6
    return found
