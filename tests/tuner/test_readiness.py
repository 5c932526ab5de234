"""Configurations that are not ready to be run yet, and calls that something else disturbed."""

from __future__ import annotations

import pytest

from polytune.tuner import Configuration, Nominal, OnlineTuner, Space

SPACE = Space([Nominal("version", ("a", "b", "c"))])
SECONDS = {"a": 4.0, "b": 2.0, "c": 3.0}
A, B, C = (Configuration({"version": name}) for name in "abc")


def call(tuner: OnlineTuner, is_ready=None, *, factor: float = 1.0, disturbed: bool = False) -> Configuration:
    configuration = tuner.choose(is_ready)
    tuner.report(configuration, factor * SECONDS[configuration["version"]], disturbed=disturbed)
    return configuration


def never(configuration: Configuration) -> bool:
    return False


def test_until_a_configuration_is_ready_the_best_is_chosen():
    tuner, asked = OnlineTuner(SPACE), []

    def is_ready(configuration: Configuration) -> bool:
        asked.append(configuration)
        return len(asked) > 5

    made = [call(tuner, is_ready) for _ in range(10)]
    first = next(configuration for configuration in made if configuration != A)
    assert asked[:6] == [first] * 6, "one configuration is waited for, and no other begun"
    assert set(made[: made.index(first)]) == {A}
    tuner_that_need_not_wait = OnlineTuner(SPACE)
    assert first in [call(tuner_that_need_not_wait) for _ in range(4)]


def test_what_never_becomes_ready_is_no_trial():
    tuner = OnlineTuner(SPACE)
    assert {call(tuner, never) for _ in range(50)} == {A}
    told = tuner.statistics()
    assert (told.explored, told.lost_seconds) == (1, 0.0)
    assert not tuner.converged


def test_with_nothing_known_nobody_is_asked():
    tuner = OnlineTuner(SPACE, starts=[C])
    assert tuner.choose(never) == C


def test_the_best_is_not_asked_about():
    tuner, asked = OnlineTuner(SPACE), []

    def is_ready(configuration: Configuration) -> bool:
        asked.append(configuration)
        return True

    while not tuner.converged:
        best = tuner.best
        before = len(asked)
        call(tuner, is_ready)
        assert best is None or best[0] not in asked[before:]
    assert tuner.best == (B, 2.0)


def test_a_disturbed_trial_is_made_again():
    tuner = OnlineTuner(SPACE)
    while call(tuner) == A:
        pass
    undisturbed = tuner.ranking()
    for _ in range(3):
        call(tuner, factor=100.0, disturbed=True)
        assert tuner.ranking() == undisturbed
    while not tuner.converged:
        call(tuner)
    assert tuner.best == (B, 2.0)
    assert dict(tuner.ranking()) == {A: 4.0, B: 2.0, C: 3.0}


def test_the_first_call_is_measured_again_where_it_was_disturbed():
    tuner = OnlineTuner(SPACE)
    call(tuner, factor=100.0, disturbed=True)
    assert tuner.best is None
    call(tuner)
    assert tuner.best == (A, 4.0)


def test_what_disturbed_calls_lost_is_charged():
    tuner = OnlineTuner(SPACE)
    for _ in range(3):
        call(tuner, never)
    before = tuner.statistics()
    call(tuner, never, factor=1.5, disturbed=True)
    told = tuner.statistics()
    assert told.lost_seconds - before.lost_seconds == pytest.approx(2.0)
    assert told.calls == before.calls + 1
    assert told.total_seconds - before.total_seconds == pytest.approx(6.0)


def test_a_disturbed_machine_has_not_changed():
    """What slows calls down while something is compiled does not make the search start again."""
    tuner = OnlineTuner(SPACE)
    while not tuner.converged:
        call(tuner)
    for _ in range(200):
        call(tuner, factor=2.0, disturbed=True)
    assert tuner.converged and tuner.statistics().reopened == 0
    for _ in range(200):
        call(tuner, factor=2.0)
    assert tuner.statistics().reopened > 0
