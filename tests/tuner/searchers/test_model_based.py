"""Random forest, Gaussian process, tree-structured Parzen estimators, linear model: each method's own promises."""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
import pytest

from polytune.errors import SearchError
from polytune.tuner import Constraint, Integer, Nominal, Space
from polytune.tuner.searchers import make_search
from polytune.tuner.spaces.finite import FiniteSpace
from tests.tuner.recordings import recording, slowdowns

SPACE = FiniteSpace.from_space(
    Space(
        [
            Integer("x", 1, 12),
            Integer("y", 1, 12),
            Nominal("version", ("a", "b", "c")),
            Integer("idle", 1, 6),
        ],
        [Constraint("x * y <= 60")],
    )
)
LIBRARIES = {"random_forest": "sklearn", "gaussian_process": "sklearn", "tpe": "optuna", "linear_model": "statsmodels"}


def cost(row):
    """A valley along x = y, deepest at (7, 8), in one of three versions."""
    x, y, version, _ = (SPACE.rows[row] + np.array([1, 1, 0, 1])).tolist()
    return math.exp(0.08 * (x - y + 1) ** 2 + 0.03 * (x + y - 15) ** 2 + (0.7, 0.0, 0.4)[version])


OPTIMUM = min(map(cost, range(len(SPACE))))


def make(name, seed, **settings):
    pytest.importorskip(LIBRARIES.get(name, "numpy"))
    return make_search(name, SPACE, np.random.default_rng(seed), **settings)


def run(search, evaluations, measure=cost):
    asked = []
    for _ in range(evaluations):
        asked.append(search.ask())
        search.tell(asked[-1], measure(asked[-1]))
    return asked


@pytest.mark.parametrize(
    ("name", "settings", "worst"),
    [
        ("random_forest", {}, 1.4),
        ("random_forest", {"iterative": True}, 1.05),
        ("gaussian_process", {}, 1.01),
        ("tpe", {}, 1.3),
        ("linear_model", {"interactions": True}, 1.5),
    ],
)
def test_it_is_better_than_random(name, settings, worst):
    found = []
    for seed in range(5):
        search = make(name, seed, budget=60, **settings)
        run(search, 60)
        found.append(search.best[1] / OPTIMUM)
    random = [min(map(cost, np.random.default_rng(seed).permutation(len(SPACE))[:60])) / OPTIMUM for seed in range(50)]
    assert statistics.median(found) < statistics.median(random)
    assert statistics.median(found) <= worst


@pytest.mark.parametrize("name", LIBRARIES)
def test_what_is_infeasible_is_learned_too(name):
    """Half of the space, the better one, is infeasible: it is not asked for half of the time."""

    def walled(row):
        return math.inf if SPACE.rows[row, 2] == 1 else cost(row)

    shares = []
    for seed in range(3):
        rows = run(make(name, seed, budget=80), 80, walled)
        shares.append(sum(walled(row) == math.inf for row in rows[-10:]) / 10)
    assert statistics.mean(shares) < 0.5


@pytest.mark.parametrize(
    ("name", "setting", "value", "bounds"),
    [
        ("random_forest", "final", 0, "at least 1"),
        ("gaussian_process", "exploration", -0.1, "at least 0"),
        ("tpe", "good", 1.5, "from 0 to 1"),
        ("linear_model", "elimination", math.nan, "from 0 to 1"),
        ("dlmt", "runs_per_term", 0.5, "at least 1"),
    ],
)
def test_settings_have_bounds(name, setting, value, bounds):
    with pytest.raises(SearchError, match=f"'{name}' needs a setting {setting} of {bounds}, not {value}"):
        make(name, 0, **{setting: value})


# ---- random forest


def test_a_forest_is_trained_once_on_all_but_ten():
    search, sampled = make("random_forest", 4, budget=50), make("random_forest", 4, budget=50)
    rows = run(search, 40)
    assert search.state()["rule"]["queue"] == []
    predictions = [search.ask(), *search.state()["rule"]["queue"][1:]]
    assert len(predictions) == 10 and not set(predictions) & set(rows)
    assert run(search, 10) == predictions
    assert search.converged
    # The sample does not depend on what is measured.
    assert run(sampled, 40, lambda row: 1.0) == rows
    assert np.mean([cost(row) for row in predictions]) < np.mean([cost(row) for row in rows]) / 2


def test_a_forest_is_trained_again_as_measurements_come_in():
    search = make("random_forest", 0, iterative=True, initial=12)
    run(search, 12)
    sizes = []
    for _ in range(60):
        search.ask()
        sizes.append(len(search.state()["rule"]["queue"]))
        search.tell(search.ask(), cost(search.ask()))
    assert sizes[:20] == [1] * 20  # a twentieth of up to 39
    assert max(sizes) == 3


# ---- Gaussian process


@pytest.mark.parametrize(("budget", "initial"), [(100, 8), (50, 4), (25, 3), (None, 8)])
def test_the_first_eight_percent_are_random(budget, initial):
    one, other = (make("gaussian_process", 0, budget=budget) for _ in range(2))
    here, there = run(one, initial + 1), run(other, initial + 1, lambda row: 1 / cost(row))
    assert here[:initial] == there[:initial]
    assert here[initial] != there[initial]


def test_the_covariance_is_fitted_as_the_measurements_grow():
    search = make("gaussian_process", 0, budget=60)
    fitted = []
    for _ in range(60):
        search.tell(search.ask(), cost(search.ask()))
        fitted.append(search.state()["rule"]["fitted_at"])
    times = sorted(set(fitted))
    assert times[:3] == [0, 5, 6] and times[-1] >= 52
    assert all(later >= 1.15 * earlier for earlier, later in itertools.pairwise(times))


# ---- tree-structured Parzen estimators


def test_the_first_twenty_are_random():
    one, other = (make("tpe", 0) for _ in range(2))
    here, there = run(one, 30), run(other, 30, lambda row: 1 / cost(row))
    assert here[:20] == there[:20] and here[20:] != there[20:]


def test_a_restored_study_draws_the_same():
    """The study is made anew from the costs: it has to draw what the one before would have drawn."""
    search, other = make("tpe", 0), make("tpe", 1)
    run(search, 45)
    other.restore(search.state())
    assert run(other, 30) == run(search, 30)


def test_parameters_that_matter_together_are_drawn_together():
    """Estimators of x and of y alone see little of a valley along x = y: two of these eight runs would miss its end."""
    for seed in range(8):
        search = make("tpe", seed)
        run(search, 60)
        assert search.best[1] <= 1.05 * OPTIMUM


def test_known_draws_move_on_to_neighbours():
    search = make("tpe", 0)
    rows = run(search, 300)
    assert len(set(rows)) == 300
    assert search.best[1] == pytest.approx(OPTIMUM)


# ---- linear model


def test_half_of_the_budget_is_random_the_rest_the_best_prediction():
    def separable(row):
        x, y, version, _ = SPACE.rows[row].tolist()
        return math.exp(0.3 * x - 0.2 * y + version)

    rows = run(make("linear_model", 0, budget=60), 40, separable)
    assert run(make("linear_model", 0, budget=60), 30, cost) == rows[:30]
    costs = sorted(map(separable, range(len(SPACE))))
    assert separable(rows[30]) == costs[0]
    assert max(map(separable, rows[30:])) <= costs[15]


# ---- on a real space


@pytest.mark.parametrize("name", ["gaussian_process", "tpe"])
def test_the_laplacian_space(name):
    """Random search is at a mean of 1.13 after 120 evaluations."""
    pytest.importorskip(LIBRARIES[name])
    recorded = recording("laplacian/search_space.csv.gz")
    searches = [make_search(name, recorded.space, np.random.default_rng(seed), budget=120) for seed in range(3)]
    assert statistics.median(slowdowns(search, recorded, 120)[-1] for search in searches) < 1.12
