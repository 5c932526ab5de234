"""The first rows to measure of a space of which nothing is known: far from each other, and not at its edges."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from polytune.tuner.spaces.finite import FiniteSpace

__all__ = ["filling_row"]

_DRAWN = 32


def filling_row(space: FiniteSpace, told: Collection[int], rng: np.random.Generator) -> int | None:
    """The next row of a design that fills a space: a maximin design (Johnson, Moore, Ylvisaker, 1990), row by row.

    Of some rows drawn at random it is the one whose nearest row told is the farthest; where none has been told, the one
    nearest to the middle of the space.  The rows are drawn, as the farthest of all lie in the corners: a corner has
    an extreme level of every parameter, which is rarely good.

    Args:
        space: the space.
        told: the rows that have been measured.
        rng: draws the rows.

    Returns:
        A row that has not been told; None where all that were drawn have been.
    """
    drawn = rng.integers(len(space), size=_DRAWN)
    known = np.fromiter(told, np.int64, len(told))
    drawn = drawn[~np.isin(drawn, known)]
    if not len(drawn):
        return None
    points = space.encode(space.rows[drawn])
    if not len(known):
        return int(drawn[np.argmin(((points - 0.5) ** 2).sum(axis=1))])
    distances = np.abs(points[:, None] - space.encode(space.rows[known])).sum(axis=2)
    return int(drawn[np.argmax(distances.min(axis=1))])
