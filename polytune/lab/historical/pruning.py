"""The part of a recorded space that a pruning chosen elsewhere leaves, and what that keeps and loses (section 4)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from polytune.errors import SearchError
from polytune.lab.historical.portions import THRESHOLD, expected_steps, well_performing
from polytune.lab.recording import RecordedSpace
from polytune.records import dataclass
from polytune.tuner import FiniteSpace
from polytune.tuner.historical import pruning
from polytune.tuner.historical.pruning import BINS, CUTOFF, LEVELS, METHODS, Pruning, check_pruning

__all__ = [
    "CUTOFF",
    "LEVELS",
    "METHODS",
    "Pruning",
    "Retention",
    "check_pruning",
    "kept_rows",
    "prune",
    "pruned",
    "retention",
]


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
    """Choose the parameters that need not be searched elsewhere, by `polytune.tuner.historical.pruning.prune`.

    Args:
        recorded: what was measured: a whole space, or a sample.
        method, cutoff, threshold, level, bins: as there.

    Raises:
        SearchError: there is no such method or level, or a number is out of its bounds.
    """
    return pruning.prune(
        recorded.space, recorded.seconds, method, cutoff=cutoff, threshold=threshold, level=level, bins=bins
    )


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
