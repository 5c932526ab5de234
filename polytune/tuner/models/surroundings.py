"""Levels that have been tried the least around the best configuration: a hedge against a model sure of itself."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from polytune.tuner.models.additive import AdditiveModel
from polytune.tuner.models.surrogate import near_rows, response
from polytune.tuner.spaces.finite import FiniteSpace

__all__ = ["least_tried"]

_NEAR = 20_000
_PROMISING = 30


def least_tried(
    space: FiniteSpace, costs: Mapping[int, float], best: int, *, changes: int, guided: bool = False
) -> int | None:
    """The row near the best one whose differing levels have been tried the least.

    A level that has been tried n times, anywhere, counts 1 / (1 + n).

    Args:
        space: the space.
        costs: the cost of each row told, at least one of them finite.
        best: the best row.
        changes: in how many parameters the row differs from the best at most.
        guided: whether, of the thirty that have been tried the least, the one is taken that an additive model likes
            best (`AdditiveModel`).

    Returns:
        A row that has not been told; None where there is none so near.
    """
    rows = space.rows
    near = near_rows(space, best, costs, limit=_NEAR)
    differs = rows[near] != rows[best]
    within = differs.sum(axis=1) <= changes
    near, differs = near[within], differs[within]
    if not len(near):
        return None
    told = np.fromiter(costs, np.int64, len(costs))
    rarity = np.zeros(len(near))
    for column, levels in enumerate(space.levels):
        tried = np.bincount(rows[told, column], minlength=len(levels))
        rarity += np.where(differs[:, column], 1 / (1 + tried[rows[near, column]]), 0.0)
    if not guided:
        return int(near[int(np.argmax(rarity))])
    rarest = near[np.argsort(-rarity, kind="stable")[:_PROMISING]]
    measured, values = response(costs)
    return int(rarest[int(np.argmin(AdditiveModel(space, measured, values).predict(rows[rarest])))])
