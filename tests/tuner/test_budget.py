"""Budgets: how they are written, and that they are kept, by a clock that is not real."""

from __future__ import annotations

import numpy as np
import pytest

from polytune.errors import SpaceError
from polytune.tuner import Budget, Nominal, OnlineTuner, Space
from polytune.tuner.ledger import Amortisation, calls_until_repaid
from tests.tuner.landscape import SPACE, cost


class Program:
    """Calls a tuned function; time passes only as the function says."""

    def __init__(self, budget, compile_seconds=0.0, seed=0):
        self.now = 0.0
        self.compile_seconds = compile_seconds
        self.compiled = set()
        self.tuner = OnlineTuner(SPACE, budget=budget, seed=seed, clock=lambda: self.now)
        self.lost, self.at_best = [], 0.0

    def call(self):
        best = self.tuner.best
        configuration = self.tuner.choose()
        seconds = cost(configuration)
        first = configuration["version"] not in self.compiled
        compiling = self.compile_seconds if first else 0.0
        self.compiled.add(configuration["version"])
        self.tuner.report(configuration, seconds, compile_seconds=compiling)
        self.now += seconds + compiling
        reference = seconds if best is None else min(best[1], seconds)
        self.at_best += reference
        self.lost.append(seconds + compiling - reference)


@pytest.mark.parametrize("excess", [0.01, 0.05, 0.2])
def test_a_promise_is_kept_at_every_moment(excess):
    program = Program(Budget.promise(excess))
    for _ in range(3000):
        program.call()
        # A trial costs what none before it has cost only a few times: by that much the promise can be overstepped.
        slowest = max(program.lost[1:], default=0.0)
        assert program.now - program.at_best <= excess * program.at_best + slowest + 1e-12
    assert program.now <= (1 + excess) * program.at_best * (1 + 1e-9)
    assert program.tuner.statistics().trials > 5
    assert cost(program.tuner.best[0]) < 0.6 * cost(SPACE.default())


def test_a_promise_counts_compiling():
    program = Program(Budget.promise(0.1), compile_seconds=0.05)
    for _ in range(3000):
        program.call()
    assert program.now <= 1.1 * program.at_best + 0.05 + 1e-9  # the first version has to be compiled in any case


def test_lost_seconds_are_overstepped_by_one_trial_at_most():
    program = Program("6 ms")
    for _ in range(2000):
        program.call()
    assert 0 < program.tuner.statistics().lost_seconds <= 6e-3 + max(program.lost)
    assert program.tuner.statistics().trials >= 2


def test_calls_are_counted_exactly():
    program = Program(17)
    for _ in range(500):
        program.call()
    assert program.tuner.statistics().trials == 17


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("200 calls", Budget.of_calls(200)),
        ("1 call", Budget.of_calls(1)),
        (12, Budget.of_calls(12)),
        (np.int64(12), Budget.of_calls(12)),
        ("2.5 s", Budget.of_seconds(2.5)),
        ("30ms", Budget.of_seconds(0.03)),
        ("2 min", Budget.of_seconds(120.0)),
        ("5 %", Budget.promise(0.05)),
        (None, Budget()),
        (Budget(share=0.3), Budget(share=0.3)),
    ],
)
def test_budgets_are_read(text, budget):
    assert Budget.of(text) == budget


@pytest.mark.parametrize("text", ["", "5", "5 per cent", "-3 s", "calls 5", "2.5 calls", 2.5, True, "1e400 s"])
def test_what_is_no_budget_is_refused(text):
    with pytest.raises(SpaceError, match="budget"):
        Budget.of(text)


def test_trials_pause_where_they_cost_more_than_they_can_save():
    costs = np.random.default_rng(0).uniform(1.9, 2.0, 10_000)
    values = {}

    def flat(configuration):  # nothing is better than the first by more than a trifle, and most is much worse
        if configuration == SPACE.default():
            return 1e-3
        return values.setdefault(configuration, 1e-3 * costs[len(values)])

    tuner, trials = OnlineTuner(SPACE, budget=Budget(share=1.0, trials=0)), []
    for _ in range(4000):
        configuration = tuner.choose()
        tuner.report(configuration, flat(configuration))
        trials.append(tuner.statistics().trials)
        if tuner.converged:
            break
    during = np.diff(np.concatenate([[0], trials]))
    longest = max(len(run) for run in "".join("x" if step else "." for step in during).split("x"))
    assert longest >= 30  # a pause as long as everything before
    assert tuner.converged or len(trials) == 4000


TWO = Space([Nominal("version", ("default", *(f"other {k}" for k in range(9))))])


def run_through(seconds_of, calls, **settings):
    """The seconds of each call of a tuned function; ``seconds_of`` gives a version's, by its name."""
    tuner, found = OnlineTuner(TWO, **settings), []
    for _ in range(calls):
        configuration = tuner.choose()
        found.append(seconds_of(configuration["version"]))
        tuner.report(configuration, found[-1])
    return tuner, found


@pytest.mark.parametrize("slowness", [1.1, 1.5, 4.0])
def test_where_the_default_is_best_tuning_costs_little(slowness):
    def seconds_of(version):
        return 1.0 if version == "default" else slowness

    tuner, found = run_through(seconds_of, 600)
    for calls in range(1, 601):
        assert sum(found[:calls]) <= (1 + Budget().excess) * calls + slowness - 1 + 1e-9  # and one trial
    assert tuner.statistics().trials > 3


def test_what_has_been_saved_is_spent_on_trials():
    def seconds_of(version):
        return {"default": 1.0, "other 0": 0.5}.get(version, 1.5)

    tuner, found = run_through(seconds_of, 60)
    assert tuner.converged and sum(found) < 50


def test_a_pause_is_explained():
    tuner, _ = run_through(lambda version: 1.0 if version == "default" else 9.0, 12)
    assert "trials have cost more than 3%" in tuner.statistics().paused
    tuner, _ = run_through(lambda version: 1.0, 40)
    assert tuner.converged and tuner.statistics().paused is None


def test_a_program_waits_no_longer_for_the_compiler_than_it_computes():
    tuner, waited, computed = OnlineTuner(TWO), 0.0, 0.0
    for _ in range(410):
        configuration = tuner.choose()
        is_new = configuration not in dict(tuner.ranking())
        assert not is_new or waited + 0.5 <= computed or not computed
        waited, computed = waited + 0.5 * is_new, computed + 0.01
        tuner.report(configuration, 0.01, compile_seconds=0.5 * is_new)
    assert tuner.statistics().explored == 8  # 4 s of calls


def test_what_may_be_far_slower_is_tried_once_enough_has_been_saved():
    def seconds_of(version):
        return {"default": 1.0, "other 1": 0.5, "other 0": 30.0}.get(version, 0.9)

    def risk(configuration):
        return 40.0 if configuration["version"] == "other 0" else 1.0

    tuner, found = run_through(seconds_of, 200, risk=risk)
    position = found.index(30.0)
    assert sum(found[:position]) + 20.0 <= (1 + Budget().excess) * (position + 1)
    assert tuner.converged and tuner.best[0]["version"] == "other 1"


def test_without_a_limit_every_trial_is_made_at_once():
    tuner, _ = run_through(
        lambda version: 1.0 if version == "default" else 9.0, 60, budget=Budget.unlimited(), risk=lambda _: 99.0
    )
    assert tuner.converged and tuner.statistics().explored == 10


def test_amortisation_resumes_after_as_many_calls_again():
    amortisation = Amortisation()
    for _ in range(16):
        amortisation.note(0.0, 1.0, 100)
    assert amortisation.allows(100)
    for _ in range(16):
        amortisation.note(1.0, 0.999, 200)  # 16 s lost; a millisecond on 200 calls gained
    assert not amortisation.allows(399) and amortisation.allows(400)


def test_a_long_run_waits_until_the_loss_is_a_twentieth():
    amortisation = Amortisation()
    for best in (1.0, 0.999):
        for _ in range(16):
            amortisation.note(1.0, best, 2000)
    assert amortisation.resume == 2000 + 321  # 16 s lost are a twentieth of 321 calls of 0.999 s


def test_a_gain_that_pays_does_not_pause():
    amortisation = Amortisation()
    for best in (2.0, 1.0):
        for _ in range(16):
            amortisation.note(1.0, best, 200)
    assert amortisation.allows(200)


def test_when_tuning_has_paid():
    assert calls_until_repaid(-3.0, 2.0, 1.0) == 3
    assert calls_until_repaid(0.5, 2.0, 1.0) == 0
    assert calls_until_repaid(-3.0, 1.0, 1.0) is None
    assert calls_until_repaid(-3.0, None, 1.0) is None
