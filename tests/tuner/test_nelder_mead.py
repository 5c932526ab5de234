"""The ask/tell simplex search: SciPy's is the oracle, point by point."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from polytune.errors import MeasurementError
from polytune.tuner import NelderMead


def sphere(x):
    return sum((c - 1.5 * i) ** 2 for i, c in enumerate(x))


def rosenbrock(x):
    return sum(100 * (b - a * a) ** 2 + (1 - a) ** 2 for a, b in itertools.pairwise(x))


def ridge(x):
    return abs(x[0] + x[1]) + 0.1 * abs(x[0] - 3) + abs(math.sin(3 * x[-1]))


@pytest.mark.parametrize("function", [sphere, rosenbrock, ridge])
@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_it_asks_for_the_same_points_as_scipy(function, dimension):
    start = np.linspace(-1.2, 1.0, dimension)
    steps = [0.7] * dimension
    evaluated = []

    def recorded(x):
        evaluated.append(tuple(x))
        return function(x)

    simplex = np.vstack([start, *(start + row for row in np.diag(steps))])
    options = {"initial_simplex": simplex, "maxfev": 300, "xatol": 0, "fatol": 0}
    minimize(recorded, start, method="Nelder-Mead", options=options)
    search = NelderMead(start, steps, tolerance=0, restarts=False)
    for expected in evaluated:
        point = search.ask()
        assert point == pytest.approx(expected, rel=1e-6, abs=1e-6)
        search.tell(point, function(point))


def run(search, function, limit=2000):
    for count in range(limit):
        if search.converged:
            return count
        point = search.ask()
        search.tell(point, function(point))
    raise AssertionError(f"not converged after {limit} points: {search.best}")


@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_it_converges_to_the_minimum(dimension):
    search = NelderMead([5.0] * dimension, [2.0] * dimension, tolerance=1e-4)
    run(search, sphere)
    assert search.best[0] == pytest.approx([1.5 * i for i in range(dimension)], abs=1e-3)
    assert search.best[1] == sphere(search.best[0])


def test_on_levels_the_result_is_no_worse_than_its_neighbours():
    def rugged(x):
        i, j = (round(c) for c in x)
        return (i - 4) ** 2 + (j + 7) ** 2 + 3 * (i * j % 3)

    for start in itertools.product((-9, 0, 13), repeat=2):
        search = NelderMead([float(c) for c in start], [3.0, -3.0])
        run(search, rugged)
        i, j = (round(c) for c in search.best[0])
        assert search.best[1] <= min(rugged((i + 1, j)), rugged((i, j + 1)), rugged((i - 1, j)), rugged((i, j - 1)))


@pytest.mark.parametrize("flat", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_axes_that_do_not_matter_beside_a_real_one_do_not_keep_it_from_ending(flat, seed):
    """Along the flat axes the simplex stays large, along the real one it finds ever smaller gains."""
    rng = np.random.default_rng(seed)
    search = NelderMead([*rng.uniform(0, 8, flat), rng.uniform(0, 100)], [2.0] * flat + [25.0])
    assert run(search, lambda x: 1 + abs(x[-1] - 31.4)) < 50 * (flat + 2)
    assert search.best[1] < 1.01


def test_infeasible_points_are_left_behind():
    def walled(x):
        return math.inf if x[0] + x[1] > 3 else (x[0] - 5) ** 2 + (x[1] - 1) ** 2

    search = NelderMead([0.0, 0.0], [2.0, 2.0], tolerance=0.01)
    run(search, walled)
    assert search.best[0][0] + search.best[0][1] <= 3
    # The constrained optimum is (3.5, -0.5), of cost 4.5; the start costs 26.
    assert search.best[1] < 6


def test_a_search_without_any_feasible_point_ends():
    search = NelderMead([0.0, 0.0], [4.0, 4.0])
    assert run(search, lambda x: math.inf) < 50
    assert search.best is None


def test_no_dimension_is_one_point():
    search = NelderMead([], [])
    assert search.ask() == ()
    search.tell((), 2.0)
    assert search.converged and search.best == ((), 2.0) and search.ask() == ()


def test_the_same_point_is_asked_for_until_it_is_told():
    search = NelderMead([1.0], [1.0])
    assert search.ask() == search.ask() == (1.0,)
    with pytest.raises(MeasurementError, match="not asked for"):
        search.tell((7.0,), 1.0)
    with pytest.raises(MeasurementError, match="it is nan"):
        search.tell((1.0,), math.nan)


def test_a_restored_search_continues_exactly():
    search = NelderMead([-1.2, 1.0, 0.5], [0.5, 0.5, -0.5], tolerance=0.05)
    seen = set()
    while not search.converged:
        state = json.loads(json.dumps(search.state(), allow_nan=False))
        seen.add(state["phase"])
        other = NelderMead([0.0] * 3, [1.0] * 3, tolerance=0.05)
        other.restore(state)
        assert other.ask() == search.ask()
        assert other.state() == search.state()
        cost = math.inf if search.ask()[0] > 1.5 else rosenbrock(search.ask())
        other.tell(other.ask(), cost)
        search.tell(search.ask(), cost)
        search = other
    assert {"initial", "reflect", "expand", "contract_inside", "contract_outside"} <= seen


def test_it_has_a_point_where_nothing_was_feasible():
    search = NelderMead([3.0, 1.0], [1.0, 1.0])
    for _ in range(100):
        if not search.converged:
            search.tell(search.ask(), math.inf)
    assert search.converged and search.best is None and len(search.ask()) == 2
