"""What docs/tuning.md promises, held against the truth: in simulated programs, over random kernels and machines.

A few fixed programs of each kind here; ``pytest tests/tuner/test_promises.py --fuzz 1000`` takes as many others.
"""

from __future__ import annotations

import secrets

import numpy as np
import pytest

from polytune.tuner import Budget, Nominal, OnlineTuner, Space
from tests.tuner.simulated import QUIET, Program, Surroundings

USUAL = Surroundings()
ROUGH = Surroundings(noise=0.2, interrupted=0.06, tail=1.2, busiest=4.0, cold=5.0, switched=1.5)
BUDGETS = {
    "default": None,
    "1 %": "1 %",
    "5 %": "5 %",
    "20 %": "20 %",
    "2 s": "2 s",
    "200 ms": "200 ms",
    "20 calls": 20,
    "unlimited": Budget.unlimited(),
    "share": Budget(share=0.1, trials=8),
}
OTHERS = [{"numeric": "random"}, {"numeric": "portfolio"}, {"nominal": "genetic", "numeric": "tpe"}]


@pytest.fixture
def seeds(fuzz):
    """The seeds of the programs of one kind."""
    if fuzz is None:
        return range(6)
    first = secrets.randbelow(2**31)
    print(f"the seeds are {first} and the {fuzz - 1} after it")
    return range(first, first + fuzz)


both_compilers = pytest.mark.parametrize("background", [False, True], ids=["waits", "background"])


def programs(seeds, calls, *arguments, **settings):
    for seed in seeds:
        for default_is_best in (False, True):
            yield Program(seed, *arguments, default_is_best=default_is_best, **settings).run(calls)


@both_compilers
@pytest.mark.parametrize("percent", [1, 5, 20])
def test_a_percentage_is_held_at_every_call(seeds, percent, background):
    """Compiling included, by waiting or by being disturbed; only a trial that is worse than could be expected oversteps
    it, and that is won back.  (Twice what it lost: the machine may just have changed its speed, so that nobody knows
    what the best configuration takes.)"""
    share, worst = percent / 100, []
    for program in programs(seeds, 800, f"{percent} %", background):
        lost, at_best = program.lost(), program.at_best()
        if not background:
            worst_trial = max(call.seconds + call.waited - call.at_best for call in program.calls)
            assert (lost - share * at_best).max() <= 2 * worst_trial, program.seed
        assert lost[-1] <= 1.25 * share * at_best[-1], program.seed
        worst.append((lost / at_best).max())
    assert np.quantile(worst, 0.75) <= 1.1 * share and np.quantile(worst, 0.95) <= 2 * share


@both_compilers
def test_a_percentage_is_held_on_a_machine_that_is_hard_to_measure_on(seeds, background):
    worst = []
    for program in programs(seeds, 800, "5 %", background, surroundings=ROUGH):
        over = program.lost() / program.at_best()
        assert over[-1] <= 2 * 0.05, program.seed
        worst.append(over.max())
    assert np.quantile(worst, 0.75) <= 1.25 * 0.05


@both_compilers
@pytest.mark.parametrize("percent", [1, 5])
def test_what_was_overstepped_is_won_back_before_the_next_trial(seeds, percent, background):
    share = percent / (100 + percent)
    for seed in seeds:
        program = Program(seed, f"{percent} %", background)
        for _ in range(600):
            before = program.tuner.statistics()
            if program.call().begins:
                assert before.lost_seconds <= share * (before.total_seconds + before.compile_seconds), program.seed


@both_compilers
@pytest.mark.parametrize(("seconds", "usually"), [(0.2, 2.0), (2.0, 1.1)])
def test_a_time_is_held(seeds, seconds, usually, background):
    """A time of one or two calls is not held as closely: what a call costs is not known before there were some."""
    worst = []
    for program in programs(seeds, 800, f"{seconds} s", background):
        if seconds == 2.0:
            assert program.lost().max() <= 2 * seconds, program.seed
        worst.append(program.lost()[-1])
    assert np.quantile(worst, 0.75) <= usually * seconds


@both_compilers
@pytest.mark.parametrize("calls", [0, 1, 20])
def test_a_number_of_calls_is_held(seeds, calls, background):
    for program in programs(seeds, 400, calls, background):
        told = program.tuner.statistics()
        assert told.trials <= calls and sum(call.begins for call in program.calls) <= calls, program.seed
        if not calls:
            assert {call.configuration for call in program.calls} == {program.default}
            assert (told.explored, told.lost_seconds, told.paused) == (1, 0.0, "the budget allows for no trials")


@both_compilers
def test_without_a_budget_trials_begin_only_where_the_documentation_says(seeds, background):
    for seed in seeds:
        program = Program(seed, None, background)
        for _ in range(600):
            before = program.tuner.statistics()
            ledger = program.tuner._ledger
            waited = before.compile_seconds + ledger.default_compile_seconds
            begun, disturbed = len(program._ready), ledger.disturbed_seconds
            call = program.call()
            if len(program._ready) > begun:
                assert disturbed <= 0.2 * before.total_seconds, program.seed
            if call.begins:
                assert background or not call.waited or waited <= before.total_seconds, program.seed
                assert before.trials < 24 or before.lost_seconds <= 0.15 * (
                    before.total_seconds + before.compile_seconds
                ), program.seed
                assert program.tuner._ledger.default_seconds > 0


@both_compilers
@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
def test_nothing_slower_than_the_default_is_settled_on_or_shown(seeds, budget, background):
    for default_is_best in (False, True):
        for seed in seeds:
            program = Program(seed, budget, background, default_is_best=default_is_best)
            shown = 0
            for _ in range(800):
                program.call()
                told = program.tuner.statistics()
                if told.best_seconds is None or told.default_seconds is None:  # the search has just begun anew
                    continue
                is_slower = told.best_seconds > told.default_seconds
                shown = shown + 1 if is_slower else 0
                assert shown <= 64, "for a round of a race and one with the default, and no longer"
                # Tuning cannot have cost more than what it has lost: the default was there all the time.
                assert told.saved_seconds >= -1.05 * told.lost_seconds - 2 * told.best_seconds, program.seed
            if program.tuner.converged:
                best, _ = program.tuner.best
                assert program.kernel.cost(best) <= 1.05 * program.kernel.cost(program.default), program.seed


@both_compilers
@pytest.mark.parametrize("searchers", OTHERS, ids=lambda each: "-".join(each.values()))
def test_the_promises_hold_whatever_searches(seeds, searchers, background):
    for seed in list(seeds)[:4]:
        for budget in ("5 %", None):
            program = Program(seed, budget, background, searchers=searchers).run(500)
            if budget:
                assert program.lost()[-1] <= 1.25 * 0.05 * program.at_best()[-1], seed
            if program.tuner.converged:
                best, _ = program.tuner.best
                assert program.kernel.cost(best) <= 1.05 * program.kernel.cost(program.default), seed


def test_where_nothing_is_noisy_what_is_shown_as_saved_is_what_was_saved(seeds):
    for program in programs(seeds, 600, Budget.unlimited(), surroundings=QUIET):
        saved = sum(call.at_default - call.seconds - call.waited for call in program.calls)
        total = sum(call.seconds for call in program.calls)
        assert program.tuner.statistics().saved_seconds == pytest.approx(saved, abs=1e-6 * total), program.seed


def test_what_is_shown_as_saved_is_near_what_was_saved(seeds):
    errors = []
    for program in programs(seeds, 800, None, True):
        saved = sum(call.at_default - call.seconds - call.waited for call in program.calls)
        total = sum(call.seconds for call in program.calls)
        errors.append(abs(program.tuner.statistics().saved_seconds - saved) / total)
    assert np.median(errors) < 0.05 and np.quantile(errors, 0.9) < 0.4


VERSIONS = Space([Nominal("version", ("default", "slow to compile", "fast"))])


def test_a_compilation_that_takes_longer_than_a_call_has_to_fit_into_the_percentage():
    """Calls of 10 ms, versions that take a second or three to compile, and 5 %."""
    seconds = {"default": 0.010, "slow to compile": 0.012, "fast": 0.005}
    compiling = {"default": 1.0, "slow to compile": 1.9, "fast": 1.0}
    tuner, compiled = OnlineTuner(VERSIONS, budget="5 %"), set()
    waited = total = 0.0
    first = None
    for _ in range(20_000):
        version = tuner.choose()["version"]
        wait = 0.0 if version in compiled else compiling[version]
        compiled.add(version)
        tuner.report({"version": version}, seconds[version], compile_seconds=wait)
        waited += wait if version != "default" else 0.0
        total += seconds[version]
        first = total if first is None and waited else first
        assert waited <= 0.0501 * total, "five percent of all calls so far, at every call"
    assert 35 < first < 45, "twice the longest compilation so far, saved up"
    assert tuner.best[0]["version"] == "fast"


def test_why_nothing_is_tried_is_said_in_seconds():
    tuner = OnlineTuner(VERSIONS, budget="1 %")
    for _ in range(101):
        tuner.report(tuner.choose(), 0.01, compile_seconds=1.0 if tuner.best is None else 0.0)
    paused = tuner.statistics().paused
    assert paused == (
        "what is tried next may lose 2.01 s, and 9.9 ms are left of the 9.9 ms that the budget of 1 % allows so far"
    )


def test_a_best_that_becomes_slower_than_the_default_gives_way_though_no_trial_is_allowed():
    """The default costs nothing that a program without a tuner would not pay."""
    tuner = OnlineTuner(VERSIONS, budget=24)
    rng = np.random.default_rng(0)
    seconds = {"default": 0.152, "slow to compile": 0.5, "fast": 0.100}

    def call():
        configuration = tuner.choose()
        tuner.report(configuration, seconds[configuration["version"]] * float(1 + 0.02 * rng.random()))
        return configuration["version"]

    while tuner.best is None or tuner.best[0]["version"] != "fast":
        call()
    tuner.budget = 0
    assert call() == call() == "fast" and not tuner.converged
    seconds["fast"] = 0.362
    made = [call() for _ in range(60)]
    assert made[-20:] == ["default"] * 20
    told = tuner.statistics()
    assert told.best_seconds == told.default_seconds == pytest.approx(0.153, rel=0.02)
