"""The design of experiments: what it fixes, what it spends, and how well it does on a real space."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polytune.tuner import Integer, Nominal, Space
from polytune.tuner.spaces.finite import FiniteSpace
from tests.tuner.recordings import recording, slowdowns

pytest.importorskip("statsmodels")

from polytune.tuner.searchers.finite.dlmt import DLMT

SPACE = FiniteSpace.from_space(
    Space(
        [
            Integer("decisive", 1, 16),
            Integer("weaker", 1, 16),
            Integer("useless", 1, 8),
            Nominal("version", ("a", "b", "c")),
            Integer("idle", 1, 8),
        ]
    )
)


def cost(row):
    decisive, weaker, _, version, _ = SPACE.rows[row].tolist()
    return math.exp(0.2 * decisive + 0.03 * abs(weaker - 9) + (0.0, 0.4, 0.2)[version])


def noisy(rng):
    return lambda row: cost(row) * math.exp(0.02 * rng.normal())


def run(search, measure, evaluations):
    for _ in range(evaluations):
        row = search.ask()
        search.tell(row, measure(row))
    return search


@pytest.mark.slow
def test_it_fixes_the_factors_that_matter_first():
    orders, levels = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        fixed = run(DLMT(SPACE, rng, budget=70), noisy(rng), 70).fixed
        orders.append(list(fixed)[:2])
        levels.append((fixed.get("decisive"), fixed.get("version")))
    assert orders.count(["decisive", "version"]) >= 8
    assert levels.count((1, "a")) >= 8


@pytest.mark.slow
def test_it_finds_the_optimum_of_an_additive_space():
    found = []
    for seed in range(10):
        search = run(DLMT(SPACE, np.random.default_rng(seed), budget=60), cost, 60)
        found.append(search.best[1] / min(map(cost, range(len(SPACE)))))
    assert np.median(found) == pytest.approx(1) and max(found) < 1.1


def test_the_first_stage_is_a_design_of_the_planned_size():
    search = DLMT(SPACE, np.random.default_rng(0), budget=60)
    search.ask()
    # 1 + 2 + 2 + 2 + 2 + 2 terms, one and a half times
    assert len(search.state()["rule"]["queue"]) == 17
    small = DLMT(SPACE, np.random.default_rng(0), budget=20)
    small.ask()
    # 60 % of 20 pays for 1 + 1 + 1 + 1 + 2 + 1 straight terms only
    assert len(small.state()["rule"]["queue"]) == 11


def test_without_any_effect_nothing_is_fixed():
    fixed = [run(DLMT(SPACE, np.random.default_rng(s), budget=40), lambda row: 1.0, 40).fixed for s in range(3)]
    assert fixed == [{}] * 3


def test_what_is_infeasible_is_avoided():
    for seed in range(4):
        search = DLMT(SPACE, np.random.default_rng(seed), budget=80)
        run(search, lambda row: math.inf if SPACE.rows[row, 0] < 4 else cost(row), 80)
        feasible = [row for row in range(len(SPACE)) if SPACE.rows[row, 0] >= 4]
        assert search.best[1] <= 1.3 * min(map(cost, feasible))


def test_interactions_can_be_asked_for():
    search = run(DLMT(SPACE, np.random.default_rng(0), budget=120, interactions=True), cost, 120)
    assert "decisive" in search.fixed


@pytest.mark.parametrize(("budget", "mean", "worst"), [(55, 1.013, 1.03), (120, 1.005, 1.03)])
def test_the_laplacian_space(budget, mean, worst):
    """Bruel's DLMT reaches 1.0122 at 50 to 56 points, with the factors to fix chosen by hand."""
    recorded = recording("laplacian/search_space.csv.gz")
    searches = [DLMT(recorded.space, np.random.default_rng(seed), budget=budget) for seed in range(6)]
    found = [slowdowns(search, recorded, budget)[-1] for search in searches]
    assert np.mean(found) <= mean
    assert max(found) <= worst
