"""What is believed to be the best: by exact measurements at once, by noisy ones after a race."""

import json

from polytune.tuner import Configuration
from polytune.tuner.hierarchy.standings import Standings

A, B, C = (Configuration({"version": name}) for name in "abc")


def standings(repeats=3):
    return Standings(repeats, A, {A: 0, B: 1, C: 2}.get)


def told(found, configuration, *seconds):
    for each in seconds:
        found.tell(configuration, each)


def race(found, seconds):
    """Run the race to its end; everybody who took part."""
    asked = set()
    while not found.race.is_over:
        asked.add(found.race.ask())
        assert found.tell_race(found.race.ask(), seconds[found.race.ask()])
    found.end_race()
    return asked


def test_where_measurements_agree_the_cheapest_that_is_believed_is_the_best():
    found = standings()
    told(found, A, 2.0, 2.0, 2.0)
    told(found, B, 1.0, 1.0)
    assert found.best == A and not found.is_settled(B)
    told(found, B, 1.0)
    assert found.best == B and found.race is None and not found.needs_race


def test_where_they_are_noisy_a_race_decides_and_the_default_takes_part():
    found = standings()
    told(found, A, 2.5, 2.6, 2.4)  # while the machine was busy
    told(found, B, 2.0, 2.1, 2.05)
    assert found.best == A and race(found, {A: 1.0, B: 1.5}) == {A, B}
    assert found.best == A and found.samples[A].estimate == 1.0 and found.samples[B].estimate == 1.5
    told(found, C, 0.8, 0.9, 0.85)
    race(found, {A: 1.0, B: 1.5, C: 0.9})
    assert found.best == C
    told(found, B, *[0.5] * 15)
    assert race(found, {A: 0.6, B: 0.7, C: 0.9}) == {A, B, C} and found.best == A


def test_the_last_race_is_of_the_best_of_each_group_and_held_once():
    found = standings()
    told(found, A, 1.0, 1.1, 1.05)
    told(found, B, 1.2)
    told(found, C, 1.7)  # too far off
    assert found.needs_race and found.confirms()
    assert race(found, {A: 1.1, B: 1.0}) == {A, B}
    assert found.best == B and not found.needs_race and not found.confirms()
    found.reopen()
    told(found, B, *(1.0 + 0.005 * number for number in range(12)))
    assert found.needs_race


def test_with_one_measurement_each_there_are_no_races():
    found = standings(repeats=1)
    told(found, A, 1.0, 1.3)
    told(found, B, 0.9)
    assert found.best == B and not found.needs_race and not found.confirms()


def test_the_best_that_fails_is_replaced_in_a_race_too():
    found = standings()
    told(found, A, 1.0, 1.1, 1.05)
    told(found, B, 0.9, 0.8, 0.85)
    assert found.race is not None
    found.drop(A)
    assert found.best == B and not found.end_race() and found.race is None and A not in found.samples
    found.drop(B)
    assert found.best is None and not found.samples


def test_what_looks_better_than_what_replaced_the_best_is_measured():
    found = standings()
    told(found, A, 1.0, 1.0, 1.0)
    told(found, B, 1.1)
    told(found, C, 2.0, 2.0, 2.0)
    found.drop(A)
    assert found.best == C and found.doubted() == B
    told(found, B, 1.1, 1.1)
    assert found.best == B and found.doubted() is None and not found.is_in_doubt


def test_restored_standings_go_on():
    found = standings()
    told(found, A, 2.5, 2.6, 2.4)
    told(found, B, 2.0, 2.1, 2.05)
    found.tell_race(A, 1.0)
    other = standings()
    other.restore(json.loads(json.dumps(found.state())))
    assert other.state() == found.state()
    assert race(found, {A: 1.0, B: 1.5}) == race(other, {A: 1.0, B: 1.5}) and found.best == other.best
