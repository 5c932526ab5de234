"""The tiles that stand for all of a region."""

from __future__ import annotations

from itertools import product

import pytest

from polytune.runtime.tuning.tile_places import windows_of

TRIANGLE = ((0, 1), (0, 2), (1, 2))


def order_of(window: tuple[int, ...]) -> tuple[int, ...]:
    """Which members of a tile begin before which: -1, 0 or 1 for each pair."""
    starts = window[::2]
    return tuple((starts[a] > starts[b]) - (starts[a] < starts[b]) for a, b in TRIANGLE)


@pytest.mark.parametrize("size", [100, 50, 33, 27])
def test_tiles_of_each_order_have_their_share(size):
    """However few there are of an order, as those on a diagonal or those strictly below it."""
    members = [(0, 400, size)] * 3
    shares: dict[tuple[int, ...], float] = {}
    for window, share in windows_of(members, TRIANGLE):
        assert all(upper - lower == size for lower, upper in zip(window[::2], window[1::2], strict=True))
        shares[order_of(window)] = shares.get(order_of(window), 0.0) + share
    whole = 400 // size
    counted: dict[tuple[int, ...], int] = {}
    for places in product(range(whole), repeat=3):
        order = order_of(tuple(number for place in places for number in (place, place + 1)))
        counted[order] = counted.get(order, 0) + 1
    assert shares.keys() == counted.keys()
    for order, share in shares.items():
        assert share == pytest.approx(counted[order] / whole**3), order


def test_members_that_nothing_compares_have_one_tile_in_the_middle():
    assert windows_of([(0, 100, 10), (5, 45, 8)], ()) == [((50, 60, 21, 29), 1.0)]
    chosen = windows_of([(0, 100, 10), (0, 100, 10), (0, 70, 10)], ((0, 1),))
    assert sum(share for _, share in chosen) == pytest.approx(1)
    assert {order_of(window)[0] for window, _ in chosen} == {-1, 0, 1}


def test_many_tiles_are_not_looked_at_one_by_one():
    members = [(0, 1 << 40, 2)] * 3
    chosen = windows_of(members, TRIANGLE)
    assert 1 < len(chosen) < 20 and sum(share for _, share in chosen) == pytest.approx(1)


@pytest.mark.parametrize("members", [[(0, 0, 4), (0, 10, 4)], [(10, 3, 4), (0, 2, 4)]])
def test_ranges_without_tiles_have_a_place_too(members):
    assert sum(share for _, share in windows_of(members, ((0, 1),))) == pytest.approx(1)
