"""Tuning a callable in one go."""

from __future__ import annotations

import math
import time
from types import SimpleNamespace

import numpy as np
import pytest

from polytune.errors import SpaceError
from polytune.tuner import Integer, Method, Nominal, Space, offline, tune
from polytune.tuner.counters.models import RecordedCounters
from tests.tuner.landscape import SPACE, cost

SIZES = Space([Integer("size", 1, 64)])


def test_it_finds_a_good_configuration_and_tells_every_trial():
    result = tune(cost, SPACE, budget=1000, stop_when_converged=True)
    assert result.cost == cost(result.best) <= 1.06e-3
    assert result.converged and not result.interrupted and len(result.trials) < 600
    assert all(trial.cost == cost(trial.configuration) for trial in result.trials)


def test_the_budget_bounds_the_calls_and_may_be_used_up():
    assert len(tune(cost, SPACE, budget=7).trials) == 7
    result = tune(lambda c: abs(c["size"] - 40), SIZES, budget=64 + 20, stop_when_converged=False)
    assert len({trial.configuration for trial in result.trials}) == 64 and result.best["size"] == 40


def test_without_a_returned_cost_the_run_time_is_the_cost():
    space = Space([Nominal("pause", (0.02, 0.0))])
    result = tune(lambda configuration: time.sleep(configuration["pause"]), space)
    assert result.best["pause"] == 0.0 and result.cost < 0.02


def test_exceptions_make_configurations_infeasible():
    def fails_when_small(configuration):
        if configuration["size"] < 30:
            raise MemoryError("no room")
        return configuration["size"]

    result = tune(fails_when_small, SIZES)
    assert result.best["size"] == 30
    assert {trial.reason for trial in result.trials if trial.cost is None} == {"MemoryError: no room"}


def test_an_interrupt_keeps_what_was_found():
    def interrupted(configuration):
        if configuration["size"] > 40:
            raise KeyboardInterrupt
        return 100.0 - configuration["size"]

    result = tune(interrupted, SIZES)
    assert result.interrupted and result.best["size"] == max(trial.configuration["size"] for trial in result.trials)


def test_an_interrupt_before_anything_was_found_is_passed_on():
    def interrupted(configuration):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(interrupted, SIZES)


def test_when_nothing_runs_the_reason_is_told():
    with pytest.raises(SpaceError, match="MemoryError: no room"):
        tune(lambda configuration: exec("raise MemoryError('no room')"), SIZES, budget=5)
    with pytest.raises(SpaceError, match="budget is 0"):
        tune(lambda configuration: 1.0, SIZES, budget=0)


def test_the_same_seed_gives_the_same_trials():
    assert tune(cost, SPACE, seed=3).trials == tune(cost, SPACE, seed=3).trials


@pytest.mark.parametrize("cost", [math.nan, math.inf, -1.0, "slow", [1.0, 2.0], np.zeros(2)])
def test_a_cost_that_cannot_be_makes_its_configuration_infeasible_and_loses_nothing(cost):
    result = tune(lambda c: cost if c["size"] == 33 else c["size"], SIZES, budget=60)
    assert result.cost == result.best["size"] < 33
    reasons = {trial.reason for trial in result.trials if trial.configuration["size"] == 33}
    assert len(reasons) == 1 and ("not a finite number" in reasons.pop() or isinstance(cost, np.ndarray))
    with pytest.raises(SpaceError, match="all 3 calls failed, the first with "):
        tune(lambda c: cost, SIZES, budget=3)


@pytest.mark.parametrize("cost", [np.float32(2), np.int64(2), np.array(2.0)])
def test_a_cost_may_be_a_number_of_numpy(cost):
    assert tune(lambda c: cost, SIZES, budget=5).cost == 2.0


def test_the_budget_may_be_a_time(monkeypatch):
    # On a busy machine the first call alone may use it up.
    assert 1 <= len(tune(lambda c: time.sleep(0.01), SIZES, budget="100 ms", stop_when_converged=False).trials) <= 10
    passed = 0.0

    def call(configuration):
        nonlocal passed
        passed += 0.01

    monkeypatch.setattr(offline, "time", SimpleNamespace(perf_counter=lambda: passed))
    assert len(tune(call, SIZES, budget="95 ms", stop_when_converged=False).trials) == 10


@pytest.mark.parametrize("budget", [None, "5 %", 2.5, "soon"])
def test_other_budgets_are_refused(budget):
    with pytest.raises(SpaceError, match="is no budget"):
        tune(lambda c: 1.0, SIZES, budget=budget)


def test_function_and_space_in_the_wrong_order_are_refused():
    space = Space([Integer("tile", 1, 8)])
    with pytest.raises(SpaceError, match="takes a function and the space"):
        tune(space, lambda configuration: 1.0)  # type: ignore[arg-type]


def test_the_budget_is_used_and_what_is_exact_is_not_measured_again():
    space = Space([Integer(name, 1, 64, default=1) for name in ("a", "b", "c")])
    result = tune(lambda c: 1.0 + abs(c["a"] - 40) + abs(c["b"] - 3) * abs(c["c"] - 50), space, budget=80)
    assert len(result.trials) == 80
    assert len({trial.configuration for trial in result.trials}) >= 70
    assert result.cost <= 1.2 * 1.0 + 4


def test_noisy_costs_are_measured_again():
    rng = np.random.default_rng(0)
    result = tune(lambda c: abs(c["size"] - 40) + 1 + 0.1 * rng.random(), SIZES, budget=120)
    counts = [sum(trial.configuration == each.configuration for trial in result.trials) for each in result.trials]
    assert max(counts) >= 3


def test_nothing_is_measured_once_all_is_known():
    result = tune(lambda c: abs(c["size"] - 40), SIZES, budget=1000)
    assert result.best["size"] == 40 and result.converged
    assert len(result.trials) <= 64 + 20


def test_a_search_that_has_converged_can_end_early():
    result = tune(cost, SPACE, budget=5000, stop_when_converged=True)
    assert result.converged and len(result.trials) < 5000


def test_a_model_of_counters_leads_to_the_best_configurations():
    """Counters that another machine has recorded say which tiles are fast, and `tune` goes there first."""
    configurations = [{"version": "tiled", "tile": tile} for tile in range(1, 65)]
    profiles = [{"expected__tiles.ns": 10.0 + abs(each["tile"] - 50)} for each in configurations]
    space = Space([Nominal("version", ("tiled",)), Integer("tile", 1, 64)])
    method = Method("profile", model=RecordedCounters(configurations, profiles))
    result = tune(lambda c: 10.0 + abs(c["tile"] - 48), space, budget=8, searchers={"numeric": method}, repeats=1)
    assert abs(result.best["tile"] - 48) <= 4
