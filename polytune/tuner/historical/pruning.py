"""Parameters that need not be searched, told from measurements elsewhere (section 4).

Two numbers say so: the mutual information of each parameter with the time, how much it has to do with that
(section 4.1), and the number of steps after which a random search has met a configuration that performs well (section
3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from polytune.errors import SearchError
from polytune.records import dataclass
from polytune.tuner.spaces.finite import FiniteSpace

__all__ = [
    "BINS",
    "CUTOFF",
    "LEVELS",
    "METHODS",
    "THRESHOLD",
    "Pruning",
    "check_pruning",
    "check_share",
    "expected_steps",
    "prune",
    "steps_to_find",
]

THRESHOLD = 0.9
"""The share of the optimum's performance from which on a configuration performs well, as in the paper."""


def steps_to_find(portion: float, probability: float = 0.9) -> int:
    """The steps after which a random search has met a well-performing configuration with a given probability.

    This is n_conf of the paper's formula 2, the logarithm of 1 - probability to the base 1 - portion, rounded up; draws
    are taken to be independent, as in spaces that are large beside the steps.

    Args:
        portion: how much of the space performs well, above 0 and at most 1.
        probability: from 0 to below 1.

    Raises:
        SearchError: a number is out of its bounds.

    >>> steps_to_find(0.01, 0.9)
    230
    """
    check_share("portion", portion)
    if not 0 <= probability < 1:
        raise SearchError(f"a probability of {probability} cannot be reached by a number of steps: give one below 1")
    if portion == 1:
        return 1
    return max(math.ceil(math.log1p(-probability) / math.log1p(-portion)), 1)


def expected_steps(rows: int, good: int) -> float:
    """The steps after which a random search without replacement meets a well-performing configuration, on average.

    Args:
        rows: how many configurations there are.
        good: how many of them perform well; infinitely many steps are needed where none does.
    """
    return (rows + 1) / (good + 1) if good else math.inf


def check_share(name: str, value: float) -> None:
    """See to it that a number is a share.

    Raises:
        SearchError: it is not above 0 and at most 1.
    """
    if not 0 < value <= 1:
        raise SearchError(f"the {name} must be above 0 and at most 1, not {value}")


BINS = 10
"""Into so many classes of equally many configurations times are sorted."""

_ROWS_OF_CLASS = 16  # of a sample, at least


def mutual_information(
    space: FiniteSpace, seconds: np.ndarray, bins: int = BINS, *, is_sample: bool = False
) -> dict[str, float]:
    """The mutual information of each parameter with the time, in bits, of the configurations that ran.

    It is the plug-in estimate: probabilities are the shares of the rows.  Parameters have few values each; times, which
    have not, are sorted into classes by their quantiles, so that only their order counts.

    Args:
        space: the configurations that were measured: a whole space, or a sample.
        seconds: (n,) float64, the time of each; infinite where it failed.
        bins: how many classes of times there are.
        is_sample: whether the rows are a few of many, of which the plug-in estimate is too large: Miller's and Madow's
            correction is made, and there are as many classes at most as have 16 rows each, but two.

    Raises:
        SearchError: there are less than two classes.
    """
    if bins < 2:
        raise SearchError(f"times have to be sorted into two classes or more, not {bins}")
    ran = np.isfinite(seconds)
    times = seconds[ran]
    bins = max(2, min(bins, len(times) // _ROWS_OF_CLASS)) if is_sample else bins
    limits = np.unique(np.quantile(times, np.linspace(0, 1, bins + 1)[1:-1]))
    classes = np.digitize(times, limits)
    return {
        name: _information(space.rows[ran, column], classes, is_sample=is_sample)
        for column, name in enumerate(space.names)
    }


def _information(levels: np.ndarray, classes: np.ndarray, *, is_sample: bool) -> float:
    counts = np.zeros((int(levels.max()) + 1, int(classes.max()) + 1))
    np.add.at(counts, (levels, classes), 1.0)
    together = counts / counts.sum()
    apart = together.sum(axis=1, keepdims=True) * together.sum(axis=0, keepdims=True)
    there = together > 0
    information = float((together[there] * np.log2(together[there] / apart[there])).sum())
    if is_sample:
        alone = np.count_nonzero(counts.sum(axis=0)) + np.count_nonzero(counts.sum(axis=1))
        information -= (np.count_nonzero(there) - alone + 1) / (2 * len(levels) * math.log(2))
    return max(information, 0.0)


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
    check_pruning(method, level, cutoff=cutoff, threshold=threshold)
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


def check_pruning(method: str, level: str | None, *, cutoff: float, threshold: float) -> None:
    """See to it that spaces can be pruned so.

    Args:
        method, level, cutoff, threshold: as for `prune`.

    Raises:
        SearchError: there is no such method or level, or a number is out of its bounds.
    """
    if method not in METHODS or level not in (None, *LEVELS):
        raise SearchError(
            f"spaces are pruned by the methods {', '.join(METHODS)}, to the levels {', '.join(LEVELS)}; there is no "
            f"{(method if method not in METHODS else level)!r}"
        )
    check_share("cutoff", cutoff)
    check_share("threshold", threshold)


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
