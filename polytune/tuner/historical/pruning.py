"""Parameters that need not be searched, told from measurements elsewhere (section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polytune.errors import SearchError
from polytune.records import dataclass
from polytune.tuner.historical.information import BINS, mutual_information
from polytune.tuner.historical.portions import THRESHOLD, check_share
from polytune.tuner.spaces.finite import FiniteSpace

__all__ = ["CUTOFF", "LEVELS", "METHODS", "Pruning", "prune"]

METHODS = ("naive", "aggressive", "conservative")
LEVELS = ("common", "best", "median")
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


def prune(
    space: FiniteSpace,
    seconds: np.ndarray,
    method: str = "conservative",
    *,
    cutoff: float = CUTOFF,
    threshold: float = THRESHOLD,
    level: str | None = None,
    bins: int = BINS,
    is_sample: bool = False,
) -> Pruning:
    """Choose the parameters that need not be searched elsewhere.

    Parameters are looked at in the order of their mutual information with the time, the least first.  ``"naive"``
    prunes those below the cutoff; ``"aggressive"`` prunes until the best of what is left falls below the threshold;
    ``"conservative"`` prunes those below the cutoff which may be pruned without that.

    Args:
        space: the configurations that were measured: a whole space, or a sample.
        seconds: (n,) float64, the time of each; infinite where it failed.
        method: one of `METHODS`.
        cutoff: a share of the largest mutual information, above 0 and at most 1.
        threshold: a share of the performance of the best configuration, above 0 and at most 1.
        level: the value that a pruned parameter keeps: ``"common"``, the one that most of the configurations left that
            reach the threshold have, ``"best"``, that of the fastest configuration left, or ``"median"``, as in the
            paper, that in the middle of the rows left.  None is ``"median"`` for the aggressive method, which would
            otherwise prune everything, and ``"common"`` for the others.
        bins, is_sample: as for `mutual_information`.

    Raises:
        SearchError: there is no such method or level, or a number is out of its bounds.
    """
    level = level or ("median" if method == "aggressive" else "common")
    if method not in METHODS or level not in LEVELS:
        raise SearchError(
            f"spaces are pruned by the methods {', '.join(METHODS)}, to the levels {', '.join(LEVELS)}; there is no "
            f"{(method if method not in METHODS else level)!r}"
        )
    check_share("cutoff", cutoff)
    check_share("threshold", threshold)
    information = mutual_information(space, seconds, bins, is_sample=is_sample)
    rows = space.rows
    free = [name for column, name in enumerate(space.names) if (rows[:, column] != rows[0, column]).any()]
    limit = cutoff * max(information.values(), default=0.0)
    slowest = seconds.min() / threshold
    inside = np.ones(len(rows), bool)
    fixed: dict[str, Any] = {}
    for name in sorted(free, key=information.__getitem__):
        if method != "aggressive" and information[name] >= limit:
            break
        column = space.names.index(name)
        kept = _level(rows[:, column], seconds, inside, level, slowest)
        left = inside & (rows[:, column] == kept)
        if method != "naive" and seconds[left].min() > slowest:
            if method == "aggressive":
                break
            continue
        inside = left
        fixed[name] = space.levels[column][kept]
    return Pruning(method, fixed, len(free))


def _level(column: np.ndarray, seconds: np.ndarray, inside: np.ndarray, level: str, slowest: float) -> int:
    """The level of a parameter that is kept, of the rows that are left; there always is one.

    The fastest row alone may have any level of a parameter that matters little: that of most of the rows that perform
    well is more likely to do so elsewhere, and leaves more of them.  Where none is left that does, and where levels are
    as common, the faster row decides.
    """
    present = np.flatnonzero(inside)
    if level != "median":
        ranked = present[np.argsort(seconds[present], kind="stable")]
        well = ranked[seconds[ranked] <= slowest] if level == "common" else ranked[:1]
        levels = column[well] if len(well) else column[ranked[:1]]
        counts = np.bincount(levels)
        return int(levels[np.argmax(counts[levels])])
    values = np.sort(column[present])
    return int(values[(len(values) - 1) // 2])
