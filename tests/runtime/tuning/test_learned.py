"""What people are told of tuning."""

from __future__ import annotations

import pytest

from polytune.runtime.tuning.learned import explain_statistics
from polytune.tuner import Nominal, Space
from tests.tuner.simulated import new_tuner

SPACE = Space([Nominal("version", ("a", "b", "c"))])
SECONDS = {"a": 2.0, "b": 1.0, "c": 3.0}


def told(tuner):
    return explain_statistics("n=8", tuner.best, tuner.statistics(), tuner.ranking(), tuner.trials())


def call(tuner, is_ready=None, **report):
    configuration = tuner.choose(is_ready)
    tuner.report(configuration, SECONDS[configuration["version"]], **report)


def test_before_the_first_call():
    assert told(new_tuner(SPACE)) == "tuning for n=8: no call measured yet"


def test_calls_that_taught_nothing_are_calls():
    tuner = new_tuner(SPACE)
    for _ in range(300):
        call(tuner, disturbed=True)
    assert told(tuner).startswith("tuning for n=8: 300 calls, 600 s in all, and nothing learned yet: something was")


def test_what_was_tried_comes_in_order_of_its_time():
    tuner = new_tuner(SPACE)
    while not tuner.converged:
        call(tuner)
    lines = told(tuner).splitlines()
    assert lines[0] == f"tuning for n=8: converged after {tuner.statistics().calls} calls"
    start = lines.index("  tried, the fastest first:")
    assert lines[start + 1 : start + 4] == ["    1 s: version=b", "    2 s: version=a", "    3 s: version=c"]
    assert "  first choice: 2 s (2.00 x the best)" in lines and "  best: version=b: 1 s" in lines


def test_what_is_faster_than_the_best_is_said_to_be_unconfirmed():
    tuner = new_tuner(SPACE)
    while not tuner.converged:
        call(tuner)
    best, seconds = tuner.best
    ranking, statistics = tuner.ranking(), tuner.statistics()
    lines = explain_statistics("n=8", (best, 2 * seconds), statistics, ranking).splitlines()
    assert "  tried, the fastest first; what is faster than the best has yet to be confirmed:" in lines


def test_what_is_waited_for_and_what_was_disturbed_is_said():
    tuner = new_tuner(SPACE)
    call(tuner)
    while tuner.statistics().preparing is None:
        call(tuner, lambda configuration: False)
    call(tuner, lambda configuration: False, disturbed=True)
    lines = told(tuner).splitlines()
    assert "  of these, 1 call taught nothing: something was compiled beside them, or arrays were moved first" in lines
    assert "  next: version=b, when it has been compiled" in lines


def test_why_nothing_is_tried_is_said():
    tuner = new_tuner(SPACE, budget=0)
    for _ in range(5):
        call(tuner)
    lines = told(tuner).splitlines()
    assert lines[0] == "tuning for n=8: pausing after 5 calls"
    assert lines[1] == "  nothing is tried for now: the budget allows for no trials"
    assert lines[-1] == "  1 configuration measured, 0 failed; tuning has cost 0 s, and saved nothing so far"


@pytest.mark.parametrize(
    ("calls", "balance"),
    [(80, "s more than it has saved so far (of it compiling 79 s)"), (400, "s more than that")],
)
def test_what_tuning_has_cost_and_saved_is_said_without_signs(calls, balance):
    tuner, compiled = new_tuner(SPACE), {"a"}
    for _ in range(calls):
        configuration = tuner.choose()
        version = configuration["version"]
        tuner.report(configuration, SECONDS[version], compile_seconds=0.0 if version in compiled else 39.5)
        compiled.add(version)
    text = told(tuner)
    assert balance in text and "-" not in text.splitlines()[-1]


def test_a_call_that_moves_arrays_is_counted_and_the_trial_goes_on():
    tuner = new_tuner(SPACE)
    call(tuner)
    while (configuration := tuner.choose())["version"] == "a":
        tuner.report(configuration, 2.0)
    before = tuner.statistics()
    tuner.report(configuration, 9.0, disturbed=True, goes_on=True)
    assert tuner.choose()["version"] == "a", "what another thread would run meanwhile"
    tuner.report(configuration, SECONDS[configuration["version"]])
    after = tuner.statistics()
    assert (after.calls, after.disturbed_calls, after.trials) == (before.calls + 2, 1, before.trials + 1)
    assert after.lost_seconds == pytest.approx(before.lost_seconds + 7.0)


def test_what_was_tried_is_listed_in_the_order_of_time():
    tuner = new_tuner(SPACE)
    while not tuner.converged:
        call(tuner)
    lines = told(tuner).splitlines()
    start = lines.index("  in the order of time:")
    assert lines[start + 1] == "    call 1: version=a: 2 s, the first choice"
    assert "version=b: 1 s, code that has not been run before" in lines[start + 2]
    assert sum(line.startswith("    call ") for line in lines) <= 8
