"""Races: who stays, who wins, and that a search with them is not deceived by a machine that was busy for a while."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from polytune.tuner import Configuration, HierarchicalTuner, Nominal, OnlineTuner, Space
from polytune.tuner.hierarchy.race import Race, Samples, contenders, is_noisy
from tests.tuner.landscape import SPACE, cost

A, B, C, D = (Configuration({"version": name}) for name in "abcd")
SECONDS = {A: 1.0, B: 1.3, C: 1.02, D: 3.0}


def run(race, measure, limit=1000):
    asked = []
    while not race.is_over:
        assert len(asked) < limit
        asked.append(race.ask())
        assert race.tell(asked[-1], measure(asked[-1]))
    return asked


def noise(seed, scale=0.01):
    rng = np.random.default_rng(seed)
    return lambda configuration: SECONDS[configuration] * math.exp(abs(rng.normal(0, scale)))


@pytest.mark.parametrize("seed", range(8))
def test_the_fastest_wins_and_what_is_clearly_slower_leaves_early(seed):
    race = Race([D, C, B, A], 5)
    asked = run(race, noise(seed))
    assert race.winner == A
    assert asked.count(D) == 3


def test_the_first_call_of_a_turn_does_not_count():
    race, calls = Race([A, B], 3), {A: 0, B: 0}

    def measure(configuration):
        calls[configuration] += 1
        # B looks better wherever it is measured in the wake of another.
        return 0.1 if configuration == B and calls[B] % 3 == 1 else SECONDS[configuration]

    asked = run(race, measure)
    assert race.winner == A and race.samples[B].values == (1.3, 1.3)
    assert asked == [A, A, A, B, B, B]


def test_a_busy_while_meets_all_contenders_alike():
    race, made = Race([A, C, B], 5), 0
    quiet = noise(3)

    def measure(configuration):
        nonlocal made
        made += 1
        return quiet(configuration) * (2.5 if made < 20 else 1.0)

    run(race, measure)
    assert race.winner == A


def test_a_race_ends_after_its_rounds_and_the_first_of_equals_wins():
    rng = np.random.default_rng(5)
    race = Race([C, A], 5)
    assert len(run(race, lambda c: 1.0 + abs(rng.normal(0, 0.1)))) <= 30
    race = Race([C, A], 5)
    run(race, lambda c: 1.0)
    assert race.winner == C


@pytest.mark.parametrize("seed", range(8))
def test_the_favourite_wins_where_noise_may_be_why_another_seems_faster(seed):
    rng = np.random.default_rng(seed)
    race = Race([A, D, C], 8, favourite=C)
    run(race, lambda c: (2.0 if c == D else 1.0) * math.exp(rng.normal(0, 0.2)))
    assert race.winner == C or race.samples[C].estimate > 1.05 * race.samples[race.winner].estimate


@pytest.mark.parametrize("seed", range(8))
def test_the_favourite_loses_to_what_is_faster_for_certain(seed):
    race = Race([C, B, A], 8, favourite=B)
    run(race, noise(seed))
    assert race.winner == A


def test_the_favourite_survives_a_turn_in_which_the_machine_was_busy():
    made = 0
    quiet = noise(7)

    def measure(configuration):
        nonlocal made
        made += 1
        return quiet(configuration) * (3.0 if 4 <= made <= 6 else 1.0)

    race = Race([C, A], 8, favourite=A)
    run(race, measure)
    assert race.winner == A


def test_calls_of_others_teach_a_race_nothing():
    race = Race([A, B], 3)
    assert not race.tell(B, 0.1) and not race.tell(D, 0.1) and race.ask() == A
    assert not any(len(samples) for samples in race.samples.values())


def test_who_fails_leaves():
    race = Race([A, B, C], 3)
    race.tell(A, 1.0)
    race.drop(A)
    assert race.ask() == B and A not in race.samples
    for _ in range(3):
        race.tell(B, 1.3)
    race.drop(B)
    assert race.is_over and race.winner == C
    race.drop(C)
    assert race.is_over and race.winner is None


def test_who_fails_last_in_a_round_ends_it():
    race = Race([A, C, B], 3)
    for contender in (A, A, A, C, C, C):
        race.tell(contender, SECONDS[contender])
    race.drop(B)
    assert race.winner == A and race.samples[C].values == (1.02, 1.02)


@pytest.mark.parametrize("calls", [0, 1, 2, 5, 9, 14])
def test_a_restored_race_goes_on_exactly(calls):
    race = Race([A, B, C], 6, favourite=B)
    measure = noise(1)
    for _ in range(calls):
        race.tell(race.ask(), measure(race.ask()))
    other = Race.restored(json.loads(json.dumps(race.state())))
    assert other.state() == race.state()
    assert run(race, noise(2)) == run(other, noise(2)) and race.winner == other.winner


def test_contenders_are_the_default_and_the_cheapest_of_each_group_that_is_near():
    samples = {A: Samples([1.0] * 3), B: Samples([1.2]), C: Samples([1.1] * 3), D: Samples([3.5] * 2)}
    groups = {A: 0, B: 1, C: 0, D: 2}
    assert contenders(samples, A, D, groups.get) == [A, D, B, C]
    assert contenders(samples, A, B, groups.get) == [A, B, C]
    samples[D] = Samples([4.5] * 2)
    assert contenders(samples, A, D, groups.get) == [A, B, C]
    samples[D] = Samples([4.5])  # a single measurement, the very first one, says little
    assert contenders(samples, A, D, groups.get) == [A, D, B, C]


def test_without_noise_there_is_nothing_to_doubt():
    assert not is_noisy([Samples([1.0, 1.0, 1.0]), Samples([2.0])])
    assert is_noisy([Samples([1.0, 1.0, 1.0]), Samples([2.0, 2.1])])


def busy_at_first(calls, factor, seed, scale=0.03):
    """A machine on which something else runs during the first calls."""
    rng, made = np.random.default_rng(seed), 0

    def measure(seconds):
        nonlocal made
        made += 1
        return seconds * (1 + abs(rng.normal(0, scale))) * (factor if made <= calls else 1.0)

    return measure


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("calls", [3, 4, 5])
def test_a_default_measured_while_the_machine_was_busy_is_not_given_up_for_something_slower(calls, seed):
    space = Space([Nominal("version", ("a", "b", "c", "d"))])
    seconds = {"a": 1.0, "b": 1.66, "c": 1.8, "d": 1.5}
    tuner, measure = OnlineTuner(space, seed=seed), busy_at_first(calls, 2.5, seed)
    for _ in range(2000):
        configuration = tuner.choose()
        tuner.report(configuration, measure(seconds[configuration["version"]]))
    assert tuner.converged and tuner.best[0]["version"] == "a"


@pytest.mark.parametrize("seed", range(8))
def test_of_many_configurations_not_merely_the_luckiest_is_chosen(seed):
    rng = np.random.default_rng(seed)
    search = HierarchicalTuner(SPACE, rng=np.random.default_rng(seed))
    for _ in range(1500):
        if search.converged:
            break
        configuration = search.ask()
        search.tell(configuration, cost(configuration) * math.exp(abs(rng.normal(0, 0.15))))
    assert search.converged
    found = min(cost(configuration) for configuration in search.measurements)
    assert cost(search.best[0]) <= 1.1 * found


def test_the_machine_may_fail_a_contender_in_the_middle_of_a_race():
    space = Space([Nominal("version", ("a", "b", "c"))])
    rng = np.random.default_rng(0)
    search = HierarchicalTuner(space, rng=np.random.default_rng(0))
    while not search.is_racing:
        configuration = search.ask()
        search.tell(configuration, 1.0 + abs(rng.normal(0, 0.05)))
    failed = search.ask()
    search.fail(failed, "the device is gone")
    while not search.converged:
        assert search.ask() != failed
        search.tell(search.ask(), 1.0 + abs(rng.normal(0, 0.05)))
    assert search.best[0] != failed
