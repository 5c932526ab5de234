"""Which configurations a surrogate is asked about: all of a small space, a fair choice of a large one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from polytune.tuner.spaces.finite import FiniteSpace

_TABLE = 50_000
"""The largest space whose every configuration is compared with another one."""
_RADIUS = 3


def near_rows(space: FiniteSpace, centre: int, told: Mapping[int, float], *, limit: int) -> np.ndarray:
    """The configurations not told yet that differ from one in up to three parameters (in large spaces, two).

    Args:
        space: the space.
        centre: the index of that configuration.
        told: the indices to leave out.
        limit: how many indices to return at most: those that differ in the fewest parameters, and of these, those
            whose levels are the closest.
    """
    if len(space) <= _TABLE:
        differing = (space.rows != space.rows[centre]).sum(axis=1)
        near = np.flatnonzero((differing <= _RADIUS) & (differing > 0))
    else:
        near = space.neighbours(centre, hamming=2)
    near = near[~np.isin(near, np.fromiter(told, np.int64, len(told)))]
    if len(near) <= limit:
        return near
    apart = space.rows[near].astype(np.int64) - space.rows[centre]
    order = np.lexsort((np.abs(apart).sum(axis=1), (apart != 0).sum(axis=1)))
    return near[order[:limit]]


def candidate_rows(
    space: FiniteSpace, told: Mapping[int, float], rng: np.random.Generator, *, limit: int, best: int = 8
) -> np.ndarray:
    """Configurations that have not been told: all of them, or up to `limit` of them where there are more.

    The choice is half of neighbours of the best configurations told, as far as there are so many, and otherwise
    random.

    Args:
        space: the space.
        told: the costs known.
        rng: draws the random ones.
        limit: how many indices to return at most.
        best: of how many configurations told the neighbours are taken.
    """
    if len(space) - len(told) <= limit:
        mask = np.ones(len(space), bool)
        mask[np.fromiter(told, np.int64, len(told))] = False
        return np.flatnonzero(mask)
    centres = sorted(told, key=told.__getitem__)[:best]
    around = np.unique(np.concatenate([space.neighbours(centre) for centre in centres] or [np.zeros(0, np.int64)]))
    if len(around) > limit // 2:
        around = rng.choice(around, limit // 2, replace=False)
    # Drawn with replacement and cleaned: what is drawn twice, or known, is rare where the space is large.
    drawn = rng.integers(len(space), size=limit - len(around))
    found = np.union1d(around, drawn)
    return found[~np.isin(found, np.fromiter(told, np.int64, len(told)))]
