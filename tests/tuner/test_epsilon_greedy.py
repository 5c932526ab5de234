"""Epsilon-greedy search: first visits, greed, exploration that fades."""

from __future__ import annotations

import json
import math
from collections import Counter

import numpy as np
import pytest

from polytune.errors import MeasurementError
from polytune.tuner import EpsilonGreedy


def pulls(search, costs, count):
    asked = []
    for _ in range(count):
        asked.append(search.ask())
        search.tell(asked[-1], costs[asked[-1]])
    return asked


def test_every_arm_is_pulled_once_in_order_then_the_best():
    search = EpsilonGreedy(5, np.random.default_rng(0), epsilon=0)
    assert pulls(search, [5, 3, 1, 4, 2], 9) == [0, 1, 2, 3, 4, 2, 2, 2, 2]
    assert search.best == (2, 1)


def test_exploration_has_the_rate_of_epsilon_and_fades():
    def explored(decay):
        search = EpsilonGreedy(2, np.random.default_rng(1), epsilon=0.4, decay=decay, promise=math.inf)
        return Counter(pulls(search, [1.0, 2.0], 2002)[2:])[1]

    # Half of the explorations hit the best arm itself: 2000 * 0.4 / 2 without decay, 0.4 / 0.1 / 2 with it.
    assert explored(decay=0.0) == pytest.approx(400, abs=60)
    assert explored(decay=0.1) <= 8


def test_closed_and_hopeless_arms_are_not_pulled_again():
    search = EpsilonGreedy(4, np.random.default_rng(0), epsilon=0, promise=2.0)
    costs = [1.0, 1.5, 3.0, 1.2]
    pulls(search, costs, 4)
    assert not search.converged
    search.close(0)
    assert pulls(search, costs, 2) == [3, 3]
    search.close(3)
    assert search.ask() == 1 and not search.converged
    search.close(1)
    assert search.converged and search.best == (0, 1.0)
    search.reopen(1)
    assert search.ask() == 1 and not search.converged


def test_of_a_long_list_only_the_first_arms_are_certain_and_the_rest_come_last():
    search = EpsilonGreedy(6, np.random.default_rng(0), epsilon=0, first_visits=2)
    costs = [1.0, 2.0, 3.0, 0.1, 9.0, 9.0]
    assert pulls(search, costs, 4) == [0, 1, 0, 0]
    search.close(0)
    search.close(1)
    assert pulls(search, costs, 4) == [2, 3, 3, 3]
    search.close(3)
    assert pulls(search, costs, 2) == [4, 5] and search.converged


def test_infeasible_arms_are_never_the_best():
    search = EpsilonGreedy(2, np.random.default_rng(0), epsilon=0)
    search.tell(search.ask(), math.inf)
    assert search.best is None
    search.tell(search.ask(), 3.0)
    assert search.best == (1, 3.0) and search.ask() == 1


def test_bad_costs_are_refused():
    search = EpsilonGreedy(2, np.random.default_rng(0))
    with pytest.raises(MeasurementError):
        search.tell(0, math.nan)
    with pytest.raises(MeasurementError):
        search.tell(2, 1.0)


def test_a_restored_search_continues_exactly():
    costs = [3.0, 1.0, math.inf, 2.0, 1.1]
    rng, other_rng = np.random.default_rng(3), np.random.default_rng(3)
    search = EpsilonGreedy(5, rng, epsilon=0.5, decay=0.01)
    pulls(search, costs, 17)
    search.close(0)
    search.ask()
    other = EpsilonGreedy(1, other_rng, epsilon=0.1, decay=0.01)
    other.restore(json.loads(json.dumps(search.state(), allow_nan=False)))
    other_rng.bit_generator.state = rng.bit_generator.state
    assert pulls(search, costs, 100) == pulls(other, costs, 100)
    assert search.state() == other.state()
