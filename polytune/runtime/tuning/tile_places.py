"""The tiles that stand for all of a region, each for its share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

__all__ = ["windows_of"]

_LATTICE = 7
_PLACES = tuple(
    tuple((step * place % _LATTICE + 0.5) / _LATTICE for step in (1, 2, 4, 3, 6, 5)) for place in range(_LATTICE)
)
"""The places along members of tiles that stand for all: points of a lattice, of which the first three coordinates are
in each order once, so that triangles count by their area, and few tiles lie on diagonals where there are many."""

_MIDDLE = (0.5,)
_MOST_COMPARED = 4096  # tiles, all of which are looked at


def windows_of(
    members: Sequence[tuple[int, ...]], pairs: Sequence[tuple[int, int]]
) -> list[tuple[tuple[int, ...], float]]:
    """Return the windows of some tiles, lower and upper bound of each member, each with its share of all.

    Tiles are alike where members that are compared with one another begin and end in the same order: in the tiles of a
    triangle the one before the other, behind it, or in the same place.  Each of these kinds has a tile, as few as there
    are of it.

    Args:
        members: the lower bound, the upper bound and the size of a tile of each.
        pairs: which members are compared with which, so that tiles differ by their places.
    """
    whole = [max(1, (upper - lower) // size) if upper > lower else 1 for lower, upper, size, *_ in members]
    if not pairs:
        return [(_window(members, _along(whole, _MIDDLE)), 1.0)]
    found = [_along(whole, place) for place in _PLACES]
    related = sorted({member for pair in pairs for member in pair})
    number = math.prod(whole[member] for member in related)
    if number > _MOST_COMPARED:
        return [(_window(members, each), times / _LATTICE) for each, times in Counter(found).items()]
    tiles = np.indices([whole[member] for member in related]).reshape(len(related), number)
    kinds = _kinds(members, related, tiles, pairs)
    shares = dict(enumerate(np.bincount(kinds) / number))
    shape = tuple(whole[member] for member in related)
    chosen: dict[int, Counter[tuple[int, ...]]] = {}
    for each in found:
        kind = int(kinds[np.ravel_multi_index(tuple(each[member] for member in related), shape)])
        chosen.setdefault(kind, Counter())[each] += 1
    for kind, share in shares.items():
        if share and kind not in chosen:
            alike = np.flatnonzero(kinds == kind)
            middle = list(_along(whole, _MIDDLE))
            for member, place in zip(related, tiles[:, alike[len(alike) // 2]].tolist(), strict=True):
                middle[member] = place
            chosen[kind] = Counter([tuple(middle)])
    return [
        (_window(members, each), float(shares[kind]) * times / places.total())
        for kind, places in chosen.items()
        for each, times in places.items()
    ]


def _kinds(
    members: Sequence[tuple[int, ...]], related: Sequence[int], tiles: np.ndarray, pairs: Sequence[tuple[int, int]]
) -> np.ndarray:
    """Return a number for each tile, equal for those that are alike.

    Args:
        members: as in `windows_of`.
        related: those that are compared.
        tiles: the place of each tile along these.
        pairs: which are compared with which.
    """
    bounds = {}
    for member, places in zip(related, tiles, strict=True):
        lower, upper, size, *_ = members[member]
        begin = lower + places * size
        bounds[member] = begin, np.minimum(begin + size, upper)
    kinds = np.zeros(tiles.shape[1], np.int64)
    for first, second in pairs:
        before = bounds[first][1] <= bounds[second][0]
        behind = bounds[second][1] <= bounds[first][0]
        kinds = 3 * kinds + before + 2 * behind
    return np.unique(kinds, return_inverse=True)[1]


def _along(whole: Sequence[int], place: Sequence[float]) -> tuple[int, ...]:
    """Return which tile lies at a place along each member.

    Args:
        whole: how many whole tiles each has.
        place: the part of each that is before.
    """
    return tuple(int(place[number % len(place)] * count) for number, count in enumerate(whole))


def _window(members: Sequence[tuple[int, ...]], tile: Sequence[int]) -> tuple[int, ...]:
    """Return the bounds of a tile, lower and upper one of each member.

    Args:
        members: the lower bound, the upper bound and the size of a tile of each.
        tile: which it is along each.
    """
    window: list[int] = []
    for (lower, upper, size, *_), place in zip(members, tile, strict=True):
        start = lower + place * size
        window += [start, min(start + size, upper)]
    return tuple(window)
