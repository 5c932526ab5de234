"""Parameters that need not be searched, told from measurements elsewhere (section 4), and what that keeps and loses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from polytune.errors import SearchError
from polytune.lab.historical.information import BINS, mutual_information
from polytune.lab.historical.portions import THRESHOLD, check_share, expected_steps, well_performing
from polytune.lab.recording import RecordedSpace
from polytune.records import dataclass
from polytune.tuner import FiniteSpace

__all__ = ["CUTOFF", "LEVELS", "METHODS", "Pruning", "Retention", "kept_rows", "prune", "pruned", "retention"]

METHODS = ("naive", "aggressive", "conservative")
LEVELS = ("best", "median")
CUTOFF = 0.05
"""The share of the largest mutual information below which a parameter may be pruned.

The paper has 0.2; with a tenth of the rows in each class of times, 0.05 keeps the parameters whose best value differs
between devices.
"""


@dataclass(frozen=True)
class Pruning:
    """A decision not to search some parameters.

    Attributes:
        method: one of `METHODS`.
        fixed: the parameters pruned, in that order, with the values that they keep.
        parameters: how many there are with more than one value, those pruned included.
    """

    method: str
    fixed: Mapping[str, Any]
    parameters: int


@dataclass(frozen=True)
class Retention:
    """A pruned space beside the full one.

    Attributes:
        reduction: SSR, how many times as many rows the full space has; infinite where no row is left.
        pruned: how many parameters are pruned, of `parameters`: the paper's PP.
        parameters: how many could have been.
        performance: PR, the performance of the best row left as a share of the best of all; 0 where none runs.
        precision: the portion of the rows left that perform well.
        recall: the portion of the well-performing rows that are left.
        full_steps, pruned_steps: how many steps a random search needs on average to meet a configuration that performs
            well, beside the best of the full space, in the full and in the pruned space.
    """

    reduction: float
    pruned: int
    parameters: int
    performance: float
    precision: float
    recall: float
    full_steps: float
    pruned_steps: float


def prune(
    recorded: RecordedSpace,
    method: str = "conservative",
    *,
    cutoff: float = CUTOFF,
    threshold: float = THRESHOLD,
    level: str | None = None,
    bins: int = BINS,
) -> Pruning:
    """Choose the parameters that need not be searched elsewhere.

    Parameters are looked at in the order of their mutual information with the time, the least first.  ``"naive"``
    prunes those below the cutoff; ``"aggressive"`` prunes until the best of what is left falls below the threshold;
    ``"conservative"`` prunes those below the cutoff which may be pruned without that.

    Args:
        recorded: what was measured: a whole space, or a sample.
        method: one of `METHODS`.
        cutoff: a share of the largest mutual information, above 0 and at most 1.
        threshold: a share of the performance of the best configuration, above 0 and at most 1.
        level: the value that a pruned parameter keeps: ``"best"``, that of the fastest configuration left, or
            ``"median"``, as in the paper, that in the middle of the rows left.  None is ``"median"`` for the aggressive
            method, which would otherwise prune everything, and ``"best"`` for the others.
        bins: as for `mutual_information`.

    Raises:
        SearchError: there is no such method or level, or a number is out of its bounds.
    """
    level = level or ("median" if method == "aggressive" else "best")
    if method not in METHODS or level not in LEVELS:
        raise SearchError(
            f"spaces are pruned by the methods {', '.join(METHODS)}, to the levels {', '.join(LEVELS)}; there is no "
            f"{(method if method not in METHODS else level)!r}"
        )
    check_share("cutoff", cutoff)
    check_share("threshold", threshold)
    information = mutual_information(recorded, bins)
    rows = recorded.space.rows
    free = [name for column, name in enumerate(recorded.space.names) if (rows[:, column] != rows[0, column]).any()]
    limit = cutoff * max(information.values(), default=0.0)
    inside = np.ones(len(recorded), bool)
    fixed: dict[str, Any] = {}
    for name in sorted(free, key=information.__getitem__):
        if method != "aggressive" and information[name] >= limit:
            break
        column = recorded.space.names.index(name)
        kept = _level(recorded, column, inside, level)
        left = inside & (rows[:, column] == kept)
        if method != "naive" and _performance(recorded, left) < threshold:
            if method == "aggressive":
                break
            continue
        inside = left
        fixed[name] = recorded.space.levels[column][kept]
    return Pruning(method, fixed, len(free))


def _level(recorded: RecordedSpace, column: int, inside: np.ndarray, level: str) -> int:
    present = np.flatnonzero(inside)
    if level == "best":
        return int(recorded.space.rows[present[np.argmin(recorded.seconds[present])], column])
    values = np.sort(recorded.space.rows[present, column])
    return int(values[(len(values) - 1) // 2])


def _performance(recorded: RecordedSpace, rows: np.ndarray) -> float:
    return float(1.0 / recorded.slowdowns[rows].min()) if rows.any() else 0.0


def kept_rows(recorded: RecordedSpace, pruning: Pruning) -> np.ndarray:
    """The rows of a space that a pruning leaves; a parameter is not pruned where the space does not have its value.

    Returns:
        (n,) bool.
    """
    kept = np.ones(len(recorded), bool)
    for name, value in pruning.fixed.items():
        if name in recorded.space.names:
            column = recorded.space.names.index(name)
            levels = recorded.space.levels[column]
            if value in levels:
                kept &= recorded.space.rows[:, column] == levels.index(value)
    return kept


def pruned(recorded: RecordedSpace, pruning: Pruning) -> RecordedSpace:
    """The part of a space that a pruning leaves, without the parameters pruned, of which nothing is left to choose.

    Raises:
        SearchError: nothing is left.
    """
    kept = kept_rows(recorded, pruning)
    if not kept.any():
        raise SearchError(f"the pruned space of {recorded.name} is empty: prune by another method, or less")
    table, rows = recorded.space, np.flatnonzero(kept)
    columns = [
        column
        for column in range(len(table.names))
        if table.names[column] not in pruning.fixed or len(np.unique(table.rows[rows, column])) > 1
    ] or [0]
    deciding = None
    if table.deciding is not None:
        deciding = tuple(place for place, column in enumerate(columns) if column in table.deciding)
    space = FiniteSpace(
        tuple(table.names[column] for column in columns),
        tuple(table.levels[column] for column in columns),
        tuple(table.ordered[column] for column in columns),
        table.rows[rows][:, columns],
        deciding,
    )
    return replace(
        recorded,
        space=space,
        seconds=recorded.seconds[rows],
        measurements=tuple(recorded.measurements[row] for row in rows),
        status=tuple(recorded.status[row] for row in rows),
        counters={name: values[rows] for name, values in recorded.counters.items()},
    )


def retention(recorded: RecordedSpace, pruning: Pruning, threshold: float = THRESHOLD) -> Retention:
    """Hold a pruning that was chosen elsewhere against a space.

    Args:
        recorded: the space.
        pruning: what is not searched.
        threshold: from when on a configuration performs well.
    """
    kept, good = kept_rows(recorded, pruning), well_performing(recorded, threshold)
    left, both = int(kept.sum()), int((kept & good).sum())
    return Retention(
        reduction=len(recorded) / left if left else float("inf"),
        pruned=len(pruning.fixed),
        parameters=pruning.parameters,
        performance=_performance(recorded, kept),
        precision=both / left if left else 0.0,
        recall=both / int(good.sum()),
        full_steps=expected_steps(len(recorded), int(good.sum())),
        pruned_steps=expected_steps(left, both),
    )
