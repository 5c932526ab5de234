"""Calls of what was settled on that take longer than before: for good, or longer than in the race that it has won."""

import numpy as np
import pytest

from polytune.tuner import Configuration, Nominal, OnlineTuner, Space
from polytune.tuner.disturbance import DriftDetector

SPACE = Space([Nominal("version", ("plain", "tiled", "packed"))])
COSTS = {"plain": 1.0, "tiled": 0.9, "packed": 2.0}
WINDOW = 16
MANY = 64 * WINDOW
FIRST = 3 * WINDOW  # calls that say what those of a choice take in use


def observed(detector, times):
    """How many calls it takes until something is noticed; None where nothing is."""
    return next((number for number, seconds in enumerate(times, 1) if detector.observe(seconds, 1.0)), None)


def test_what_is_remembered_counts_where_nothing_has_just_been_settled_on():
    assert observed(DriftDetector(), [1.2] * MANY) is None
    assert observed(DriftDetector(), [1.3] * MANY) == 4 * WINDOW
    assert observed(DriftDetector(), [0.7] * MANY) == 4 * WINDOW


@pytest.mark.parametrize("in_use", [0.7, 1.0, 1.2])
def test_what_is_settled_on_is_compared_with_its_own_first_calls(in_use):
    detector = DriftDetector()
    detector.begin()
    assert observed(detector, [in_use] * FIRST) is None
    assert observed(detector, [1.2 * in_use] * MANY) is None
    assert observed(detector, [1.3 * in_use] * MANY) == 4 * WINDOW
    assert not detector.is_in_doubt


def test_a_choice_that_takes_longer_from_the_first_call_on_is_in_doubt_once():
    detector = DriftDetector()
    detector.begin()
    assert observed(detector, [1.4] * MANY) == FIRST
    assert detector.is_in_doubt
    detector.begin()
    assert observed(detector, [1.4] * MANY) is None
    assert observed(detector, [1.9] * MANY) == 4 * WINDOW
    assert not detector.is_in_doubt, "the machine has changed"


def test_first_calls_do_not_excuse_whatever_comes():
    detector = DriftDetector()
    detector.begin()
    assert observed(detector, [3.0] * FIRST) == FIRST
    detector.begin()
    assert observed(detector, [3.0] * MANY) == FIRST + 4 * WINDOW


def test_one_window_among_the_first_that_is_disturbed_changes_nothing():
    detector = DriftDetector()
    detector.begin()
    assert observed(detector, [1.0] * WINDOW + [9.0] * WINDOW + [1.0] * MANY) is None


def run(tuner, costs, calls, rng):
    """Make calls, and return what they ran."""
    ran = []
    for _ in range(calls):
        configuration = tuner.choose()
        ran.append(configuration["version"])
        tuner.report(configuration, costs[configuration["version"]] * (1 + 0.01 * rng.random()))
    return ran


def settled(rng):
    tuner = OnlineTuner(SPACE, budget=1000)
    while not tuner.converged:
        run(tuner, COSTS, 1, rng)
    assert tuner.settled == Configuration({"version": "tiled"})
    return tuner


def test_what_is_slower_in_use_than_in_its_race_races_again_and_loses():
    rng = np.random.default_rng(0)
    tuner = settled(rng)
    ran = run(tuner, {**COSTS, "tiled": 1.3}, 200, rng)
    assert ran[:FIRST] == ["tiled"] * FIRST
    assert set(ran[-100:]) == {"plain"} and tuner.converged
    assert "packed" not in ran, "it was far off"
    assert tuner.statistics().reopened == 0


def test_what_is_slower_as_all_are_races_again_and_stays():
    rng = np.random.default_rng(0)
    tuner = settled(rng)
    ran = run(tuner, {version: 1.4 * cost for version, cost in COSTS.items()}, 500, rng)
    assert set(ran[-100:]) == {"tiled"} and tuner.converged
    assert ran.count("plain") < 40
    assert tuner.statistics().reopened == 0


def test_what_becomes_slower_later_is_searched_for_again():
    rng = np.random.default_rng(0)
    tuner = settled(rng)
    run(tuner, COSTS, 100, rng)
    ran = run(tuner, {**COSTS, "tiled": 3.0, "plain": 4.0}, 500, rng)
    assert set(ran[-100:]) == {"packed"} and tuner.converged
    assert tuner.statistics().reopened == 1
