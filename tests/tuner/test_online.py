"""Tuning while running: convergence, cost, failures, drift, threads."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest

from polytune.errors import MeasurementError, SpaceError
from polytune.tuner import Budget, Configuration, Nominal, OnlineTuner, Space
from tests.tuner.landscape import SPACE, Machine, cost

ABC = Space([Nominal("version", ("a", "b", "c"))])


def calls(tuner, measure, count):
    made = []
    for _ in range(count):
        configuration = tuner.choose()
        tuner.report(configuration, measure(configuration))
        made.append(configuration)
    return made


@pytest.mark.parametrize("seed", range(5))
def test_it_converges_to_a_good_configuration_and_stays(seed):
    tuner, machine = OnlineTuner(SPACE, seed=seed), Machine(seed)
    made = calls(tuner, machine.measure, 3000)
    assert tuner.converged
    assert cost(tuner.best[0]) <= 1.15e-3
    assert set(made[-1000:]) == {tuner.best[0]}
    assert made[0] == SPACE.default()


def test_what_it_says_it_cost_and_saved_adds_up():
    tuner, total = OnlineTuner(SPACE), 0.0
    for _ in range(1000):
        configuration = tuner.choose()
        tuner.report(configuration, cost(configuration))
        total += cost(configuration)
    told = tuner.statistics()
    assert told.calls == 1000 and told.converged and told.failed == 0 and told.reopened == 0
    assert told.total_seconds == pytest.approx(total)
    assert told.default_seconds == pytest.approx(cost(SPACE.default()))
    assert told.best_seconds == pytest.approx(tuner.best[1]) == pytest.approx(cost(tuner.best[0]))
    assert told.saved_seconds == pytest.approx(1000 * cost(SPACE.default()) - total)
    assert told.explored == len(tuner.ranking()) >= 20
    assert 0 < told.lost_seconds < 0.1 * total


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_trials_lose_no_more_than_the_budget(share):
    budget = Budget(share=share, trials=8)
    tuner = OnlineTuner(SPACE, budget=budget)
    for _ in range(2000):
        configuration = tuner.choose()
        tuner.report(configuration, cost(configuration), compile_seconds=0.0)
        told = tuner.statistics()
        # The last trial may overstep by itself: what it loses is known only afterwards.
        assert told.trials <= 8 or told.lost_seconds <= share * told.total_seconds + 6e-3


def test_compiling_the_default_is_no_cost_of_tuning():
    tuner = OnlineTuner(SPACE)
    tuner.report(tuner.choose(), 1e-3, compile_seconds=1.0)
    statistics = tuner.statistics()
    assert statistics.compile_seconds == statistics.lost_seconds == statistics.saved_seconds == 0
    # But no program should wait for one more compilation after milliseconds of work: other numbers cost none.
    for _ in range(30):
        configuration = tuner.choose()
        assert configuration["version"] == SPACE.default()["version"]
        tuner.report(configuration, 1e-3)
    assert tuner.statistics().explored >= 3


def test_slow_calls_of_the_default_are_no_cost_of_tuning():
    tuner = OnlineTuner(Space([Nominal("version", ("only",))]))
    for number in range(30):
        tuner.report(tuner.choose(), 2e-3 if number % 3 else 1e-3)
    told = tuner.statistics()
    assert (told.calls, told.saved_seconds, told.repaid_after) == (30, 0, 0)


def test_compile_time_is_charged_to_the_budget():
    tuner = OnlineTuner(SPACE, budget=Budget(share=0.1, trials=4))
    compiled: set[Configuration] = set()
    for _ in range(100):
        configuration = tuner.choose()
        new = configuration not in compiled
        compiled.add(configuration)
        tuner.report(configuration, 1e-3, compile_seconds=1.0 if new else 0.0)
    # 100 ms of calls can never pay for seconds of compilation: nothing beyond the free trials.
    assert len(compiled) <= 4 and tuner.statistics().compile_seconds == len(compiled) - 1  # the default is free


def test_a_limit_ends_the_trials():
    tuner = OnlineTuner(SPACE, budget=Budget(share=1.0, limit=10))
    made = calls(tuner, cost, 100)
    assert tuner.statistics().trials == 10 and len(set(made[20:])) == 1


@pytest.mark.parametrize("settings", [{"share": 1.1}, {"share": -0.1}, {"trials": -1}, {"limit": -1}])
def test_senseless_budgets_are_refused(settings):
    with pytest.raises(SpaceError, match="budget"):
        Budget(**settings)


def test_failures_are_served_by_others_and_not_repeated():
    tuner, failed = OnlineTuner(SPACE), []
    for _ in range(500):
        configuration = tuner.choose()
        while configuration["version"] == "tiled":
            failed.append(configuration)
            tuner.fail(configuration, "it does not compile")
            configuration = tuner.choose()
        tuner.report(configuration, cost(configuration))
    assert len(set(failed)) == len(failed) == tuner.statistics().failed
    assert tuner.best[0]["version"] == "wavefront"


def test_when_everything_fails_the_caller_is_told():
    tuner = OnlineTuner(ABC)
    for _ in range(3):
        tuner.fail(tuner.choose(), "no compiler")
    with pytest.raises(SpaceError, match="no compiler"):
        tuner.choose()


def test_the_settled_configuration_may_fail():
    tuner = OnlineTuner(ABC)
    seconds = {"a": 3.0, "b": 1.0, "c": 2.0}
    calls(tuner, lambda c: seconds[c["version"]], 50)
    assert tuner.converged and tuner.choose()["version"] == "b"
    tuner.fail(tuner.choose(), "the device is gone")
    assert "b" not in {c["version"] for c in calls(tuner, lambda c: seconds[c["version"]], 50)}
    assert tuner.converged and tuner.choose()["version"] == "c"


def test_calls_may_be_reported_as_dictionaries_and_times_in_any_number():
    tuner = OnlineTuner(SPACE)
    tuner.report(dict(tuner.choose()), np.float32(0.5))
    assert tuner.best == (SPACE.default(), 0.5)
    with pytest.raises(MeasurementError, match="there is no parameter 'colour'"):
        tuner.report({**SPACE.default(), "colour": 1}, 0.25)
    assert tuner.statistics().calls == 1


def test_a_machine_that_changes_reopens_the_search():
    tuner, loaded = OnlineTuner(ABC), False

    def measure(configuration):
        return {"a": 3.0, "b": 5.0 if loaded else 1.0, "c": 2.0}[configuration["version"]]

    calls(tuner, measure, 200)
    assert tuner.choose()["version"] == "b"
    loaded = True
    calls(tuner, measure, 200)
    assert tuner.choose()["version"] == "c" and tuner.converged
    assert tuner.statistics().reopened == 1
    loaded = False
    calls(tuner, measure, 400)
    assert tuner.choose()["version"] == "c"  # nothing tells that b has become fast again: c runs as before


def test_single_interruptions_do_not_reopen_the_search():
    tuner, machine = OnlineTuner(ABC), iter(range(10**6))
    calls(tuner, lambda c: {"a": 3.0, "b": 1.0, "c": 2.0}[c["version"]] * (20 if next(machine) % 5 == 0 else 1), 3000)
    assert tuner.statistics().reopened == 0


def test_irregular_run_times_reopen_ever_more_rarely():
    tuner, count = OnlineTuner(ABC), iter(range(10**6))
    calls(tuner, lambda c: 1.0 if next(count) // 500 % 2 else 2.0, 20000)  # twice as slow for 500 calls, by turns
    assert 1 <= tuner.statistics().reopened <= 6


def test_a_trial_that_is_never_reported_is_offered_again():
    tuner = OnlineTuner(ABC)
    calls(tuner, lambda c: 1.0, 3)
    lost = tuner.choose()
    assert lost["version"] != "a"
    others = {tuner.choose() for _ in range(100)}
    assert others == {ABC.default()}
    assert lost in {tuner.choose() for _ in range(400)}


def test_an_abandoned_trial_is_offered_again_at_once():
    tuner = OnlineTuner(ABC)
    calls(tuner, lambda c: 1.0, 3)
    configuration = tuner.choose()
    tuner.abandon(configuration)
    assert tuner.choose() == configuration


def test_run_times_a_call_and_passes_on_what_it_returns_and_raises():
    tuner, now = OnlineTuner(ABC, clock=lambda: now), 0.0

    def work(configuration):
        nonlocal now
        now += 0.25
        return configuration["version"]

    assert tuner.run(work) == "a" and tuner.best == (ABC.default(), 0.25)
    with pytest.raises(ZeroDivisionError):
        tuner.run(lambda configuration: 1 // 0)
    assert tuner.statistics().calls == 1


@pytest.mark.parametrize(("seconds", "compile_seconds"), [(-1.0, 0.0), (float("nan"), 0.0), (1.0, float("inf"))])
def test_impossible_times_are_refused_and_change_nothing(seconds, compile_seconds):
    tuner = OnlineTuner(ABC)
    with pytest.raises(MeasurementError, match="a call cannot have taken 'fast': a time is a finite number"):
        tuner.report(SPACE.default(), "fast")
    with pytest.raises(MeasurementError, match="cannot have taken"):
        tuner.report(tuner.choose(), seconds, compile_seconds=compile_seconds)
    assert tuner.statistics().calls == 0 and tuner.best is None


def test_a_report_of_another_space_is_refused():
    with pytest.raises(MeasurementError, match="not a configuration of the space"):
        OnlineTuner(ABC).report(SPACE.default(), 1.0)


def test_many_threads_tune_together():
    tuner = OnlineTuner(SPACE)
    problems: list[BaseException] = []

    def work(seed):
        machine = Machine(seed, outliers=0)
        try:
            for _ in range(400):
                configuration = tuner.choose()
                time.sleep(0)
                tuner.report(configuration, machine.measure(configuration))
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert tuner.statistics().calls == 8 * 400
    # How much of the search is left depends on when the threads had their turns.
    machine = Machine(8, outliers=0)
    while not tuner.converged:
        calls(tuner, machine.measure, 100)
    assert cost(tuner.best[0]) <= 1.15e-3


def test_choosing_is_quick():
    tuner = OnlineTuner(SPACE)
    spent, exploring = [], 0
    for _ in range(400):
        started = time.thread_time()
        configuration = tuner.choose()
        chosen = time.thread_time()
        exploring += not tuner.converged
        tuner.report(configuration, cost(configuration))
        if not tuner.converged:
            spent.append(chosen - started)
    # Processor time, as others may have the machine; generous: it is a few microseconds on average.
    assert exploring > 40 and sorted(spent)[len(spent) // 2] < 300e-6
    started = time.thread_time()
    for _ in range(10000):
        tuner.choose()
    assert (time.thread_time() - started) / 10000 < 20e-6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_goes_on_tuning():
    tuner = OnlineTuner(SPACE)
    calls(tuner, cost, 20)
    child = os.fork()
    if child == 0:
        calls(tuner, cost, 500)
        os._exit(0 if tuner.converged else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert not tuner.converged


@pytest.mark.parametrize(("seconds", "method"), [(1.0, "portfolio:designs=false"), (1e-3, "nelder_mead")])
def test_long_calls_are_searched_by_the_best_method_and_short_ones_by_a_quick_one(seconds, method):
    tuner = OnlineTuner(SPACE, budget=Budget.unlimited())
    for _ in range(40):
        configuration = tuner.choose()
        tuner.report(configuration, seconds * cost(configuration) / cost(SPACE.default()))
    methods = set()

    def visit(state):
        if state and "method" in state:
            methods.add(state["method"])
        for _, child in (state or {}).get("children", []):
            visit(child)

    visit(tuner._search.state()["walk"]["root"])
    assert method in methods
    assert method.startswith("portfolio") or methods == {method}


def test_what_proposals_take_is_counted_as_lost():
    times = iter(np.arange(0.0, 1000.0, 0.5))
    tuner = OnlineTuner(SPACE, clock=lambda: float(next(times)))
    for _ in range(3):
        tuner.report(tuner.choose(), 1.0)
    assert tuner.statistics().lost_seconds == 2 * 0.5  # of the first call nothing is known before it


@pytest.mark.parametrize("scale", [1.0, 1e-7], ids=["long", "short"])
def test_calls_of_what_was_settled_on_can_be_reported_the_short_way(scale):
    one, other = OnlineTuner(SPACE), OnlineTuner(SPACE)
    for tuner in (one, other):
        while not tuner.converged:
            configuration = tuner.choose()
            tuner.report(configuration, scale * cost(configuration))
        tuner.report(tuner.settled, scale * cost(tuner.settled))
    seconds = scale * cost(one.settled)
    for factor in (1.0, 2.0):
        for _ in range(200):
            one.report_steady(one.settled or one.choose(), factor * seconds)
            other.report(other.settled or other.choose(), factor * seconds)
            if not (one.converged and other.converged):
                break
    assert one.statistics() == other.statistics()
    assert one.statistics().reopened == 1


def test_no_short_call_is_forgotten_whoever_asks():
    """They are taken in several at a time, and before anything else is done or told."""
    tuner = OnlineTuner(SPACE)
    while not tuner.converged:
        configuration = tuner.choose()
        tuner.report(configuration, 1e-7 * cost(configuration))
    settled = tuner.settled
    tuner.report(settled, 1e-6)
    begun = tuner.statistics()
    for count in range(1, 40):
        tuner.report_steady(settled, 1e-6)
        found = tuner.statistics()
        assert found.calls == begun.calls + count
        np.testing.assert_allclose(found.total_seconds - begun.total_seconds, count * 1e-6)
    for _ in range(5):
        tuner.report_steady(settled, 1e-6)
    tuner.report(settled, 2.0, disturbed=True)
    found = tuner.statistics()
    assert (found.calls, found.disturbed_calls) == (begun.calls + 45, begun.disturbed_calls + 1)


@pytest.mark.parametrize(("seconds", "at_a_time"), [(1e-6, 16), (3e-4, 16), (1e-3, 5), (3e-3, 2), (5e-3, 1)])
def test_calls_are_learned_from_together_that_are_short_beside_it(seconds, at_a_time, monkeypatch):
    tuner = OnlineTuner(SPACE)
    while not tuner.converged:
        configuration = tuner.choose()
        best = tuner.best[0] if tuner.best else configuration
        tuner.report(configuration, seconds * cost(configuration) / cost(best))
    settled, taken = tuner.settled, []
    tuner.report(settled, seconds)
    catch_up = tuner._catch_up
    monkeypatch.setattr(tuner, "_catch_up", lambda: (taken.append(len(tuner._waiting)), catch_up()))
    for _ in range(80):
        tuner.report_steady(settled, seconds)
    assert taken == [at_a_time] * (80 // at_a_time)


def test_it_says_what_runs_next_while_nothing_may_be_tried():
    tuner, best = OnlineTuner(SPACE, budget="0.001 %"), None
    steady = []
    for _ in range(100):
        configuration = tuner.choose()
        best = tuner.best[0] if tuner.best is not None else configuration
        assert tuner.steady in (None, configuration)
        steady.append(tuner.steady is not None)
        tuner.report(configuration, 1e-3 if configuration == best else 2e-3)
    assert sum(steady) > 80 and tuner.settled is None


def test_it_asks_again_after_some_calls():
    tuner = OnlineTuner(SPACE, budget="0.001 %")
    tuner.report(tuner.choose(), 1e-3)
    while tuner.steady is None:
        configuration = tuner.choose()
        if tuner.steady is None:
            tuner.report(configuration, 1e-3)
    calls, before = 0, tuner.steady
    while tuner.steady is not None:
        assert tuner.steady is before
        tuner.report(before, 1e-3)
        calls += 1
    assert 2 <= calls <= 100
    tuner.choose()
    tuner.report(before, 1e-3, disturbed=True)
    assert tuner.steady is None
