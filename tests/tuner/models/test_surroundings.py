"""What has been tried the least around the best row."""

from __future__ import annotations

import numpy as np

from polytune.tuner import Integer, Space
from polytune.tuner.models.surroundings import least_tried
from polytune.tuner.spaces.finite import FiniteSpace

SPACE = FiniteSpace.from_space(Space([Integer("a", 0, 5), Integer("b", 0, 5), Integer("c", 0, 5)]))


def row(a, b, c):
    return SPACE.index_of([a, b, c])


def test_the_rarest_level_of_one_parameter():
    costs = {row(a, b, 0): 1.0 + a + b for a in range(6) for b in range(6) if b != 4}
    costs |= {row(0, 0, c): 2.0 + c for c in range(1, 6)}
    found = least_tried(SPACE, costs, row(0, 0, 0), changes=1)
    assert SPACE.rows[found].tolist() == [0, 4, 0]  # the only level that has never been tried


def test_two_changes_take_the_two_rarest_levels():
    costs = {row(a, b, c): 1.0 + a + b + c for a in range(5) for b in range(5) for c in range(6)}
    found = least_tried(SPACE, costs, row(0, 0, 0), changes=2)
    assert SPACE.rows[found].tolist() == [5, 5, 0]


def test_nothing_is_proposed_twice_and_it_ends():
    costs = {row(0, 0, 0): 1.0}
    best = row(0, 0, 0)
    for _ in range(5 * 3):
        found = least_tried(SPACE, costs, best, changes=1)
        assert found not in costs and (SPACE.rows[found] != 0).sum() == 1
        costs[found] = 2.0
    assert least_tried(SPACE, costs, best, changes=1) is None
    assert least_tried(SPACE, costs, best, changes=2) is not None


def test_a_guide_prefers_what_costs_little_among_the_rare():
    """Large values of a and small ones of b are known to cost little; of c nothing is known."""
    rng = np.random.default_rng(0)
    told = rng.choice(len(SPACE), 60, replace=False)
    costs = {int(r): float(np.exp(0.3 * (5 - SPACE.rows[r][0]) + 0.3 * SPACE.rows[r][1])) for r in told}
    best = min(costs, key=costs.__getitem__)
    guided = SPACE.rows[least_tried(SPACE, costs, best, changes=3, guided=True)].astype(int)
    rows = SPACE.rows[[r for r in range(len(SPACE)) if r not in costs]].astype(int)
    quality = guided[0] - guided[1]
    assert quality >= np.quantile(rows[:, 0] - rows[:, 1], 0.8)
