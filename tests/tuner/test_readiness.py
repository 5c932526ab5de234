"""Configurations that are not ready to be run yet, and calls that something else disturbed."""

from __future__ import annotations

import numpy as np
import pytest

from polytune.tuner import Budget, Configuration, Integer, Is, Nominal, OnlineTuner, Space
from polytune.tuner.prospects import expected_improvement
from tests.tuner.simulated import new_tuner

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
    tuner, asked = new_tuner(SPACE), []

    def is_ready(configuration: Configuration) -> bool:
        asked.append(configuration)
        return len(asked) > 5

    made = [call(tuner, is_ready) for _ in range(10)]
    first = next(configuration for configuration in made if configuration != A)
    assert asked[:6] == [first] * 6, "one configuration is waited for, and no other begun"
    assert set(made[: made.index(first)]) == {A}
    tuner_that_need_not_wait = new_tuner(SPACE)
    assert first in [call(tuner_that_need_not_wait) for _ in range(4)]


def test_what_never_becomes_ready_is_no_trial():
    tuner = new_tuner(SPACE)
    assert {call(tuner, never) for _ in range(50)} == {A}
    told = tuner.statistics()
    assert (told.explored, told.lost_seconds) == (1, 0.0)
    assert not tuner.converged


def test_with_nothing_known_nobody_is_asked():
    tuner = new_tuner(SPACE, starts=[C])
    assert tuner.choose(never) == C


def test_the_best_is_not_asked_about():
    tuner, asked = new_tuner(SPACE), []

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
    tuner = new_tuner(SPACE)
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
    tuner = new_tuner(SPACE)
    call(tuner, factor=100.0, disturbed=True)
    assert tuner.best is None
    call(tuner)
    assert tuner.best == (A, 4.0)


def test_what_disturbed_calls_lost_is_charged():
    tuner = new_tuner(SPACE)
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
    tuner = new_tuner(SPACE)
    while not tuner.converged:
        call(tuner)
    for _ in range(200):
        call(tuner, factor=2.0, disturbed=True)
    assert tuner.converged and tuner.statistics().reopened == 0
    for _ in range(200):
        call(tuner, factor=2.0)
    assert tuner.statistics().reopened > 0


TILED = Space(
    [
        Nominal("version", ("heavy", "other", "light")),
        Integer("tile", 8, 64, powers_of_two=True, default=32, when=Is("version", "heavy")),
    ]
)
HEAVY, OTHER, LIGHT = (TILED.configuration(version=name) for name in ("heavy", "other", "light"))


class Compilers:
    """Versions that become ready when the test says so."""

    def __init__(self) -> None:
        self.ready: set[str] = {"light"}
        self.begun: list[str] = []

    def __call__(self, configuration: Configuration) -> bool:
        version = configuration["version"]
        if version not in self.ready and version not in self.begun:
            self.begun.append(version)
        return version in self.ready


def tiled_call(tuner: OnlineTuner, compilers: Compilers, *, slowdown: float = 1.0) -> Configuration:
    """One call of the tuner of tiles, which is longer while something is compiled."""
    configuration = tuner.choose(compilers)
    seconds = {"heavy": 2.0, "other": 3.0, "light": 6.0}[configuration["version"]]
    if configuration.get("tile") == 16:
        seconds = 1.0
    is_disturbed = bool(set(compilers.begun) - compilers.ready)
    tuner.report(configuration, seconds * (slowdown if is_disturbed else 1.0), disturbed=is_disturbed)
    return configuration


def test_calls_go_on_while_the_first_choice_is_compiled():
    tuner, compilers = new_tuner(TILED, opening=LIGHT), Compilers()
    assert [tiled_call(tuner, compilers, slowdown=3.0) for _ in range(20)] == [LIGHT] * 20
    told = tuner.statistics()
    assert (told.explored, told.lost_seconds, told.preparing) == (0, 0.0, HEAVY)
    assert compilers.begun == ["heavy"], "nothing else is compiled before"
    compilers.ready.add("heavy")
    assert tiled_call(tuner, compilers) == HEAVY
    assert tuner.best == (HEAVY, 2.0)


def test_a_first_choice_that_is_ready_needs_no_other():
    tuner, compilers = new_tuner(TILED, opening=LIGHT), Compilers()
    compilers.ready.add("heavy")
    assert tiled_call(tuner, compilers) == HEAVY


def test_a_first_choice_is_waited_for_where_nothing_is_compiled_beside():
    assert new_tuner(TILED, opening=LIGHT).choose() == HEAVY


def test_the_first_choice_is_run_though_no_trial_is_allowed():
    tuner, compilers = new_tuner(TILED, opening=LIGHT, budget=0), Compilers()
    assert tiled_call(tuner, compilers) == LIGHT
    compilers.ready.add("heavy")
    assert [tiled_call(tuner, compilers) for _ in range(20)] == [HEAVY] * 20
    assert tuner.statistics().trials == 0


def test_what_another_version_is_compiled_for_does_not_keep_numbers_from_being_tried():
    tuner, compilers = new_tuner(TILED), Compilers()
    compilers.ready.add("heavy")
    made = [tiled_call(tuner, compilers, slowdown=1.5) for _ in range(60)]
    assert compilers.begun == ["other"]
    tiles = {configuration["tile"] for configuration in made if configuration["version"] == "heavy"}
    assert len(tiles) > 2, "while the other version is compiled"
    found = dict(tuner.ranking())
    assert all(found[each] == pytest.approx(2.0) for each in found if each.get("tile") not in (None, 16)), (
        "times are what they would have been undisturbed"
    )
    assert tuner.best[0]["tile"] == 16


def test_what_is_tried_amid_disturbance_is_run_in_turns_with_the_best():
    tuner, compilers = new_tuner(TILED), Compilers()
    compilers.ready.add("heavy")
    made = []
    for _ in range(40):
        best = tuner.best
        made.append(tiled_call(tuner, compilers, slowdown=1.5) != (best and best[0]))
    begun = made.index(True) if True in made else 0
    assert not any(first and second for first, second in zip(made[begun:], made[begun + 1 :], strict=False))


def test_times_amid_a_disturbance_too_large_are_not_learned():
    tuner, compilers = new_tuner(TILED), Compilers()
    compilers.ready.add("heavy")
    for _ in range(40):
        tiled_call(tuner, compilers, slowdown=50.0)
    assert len(tuner.ranking()) <= 2


def test_versions_are_compiled_one_after_the_other_the_quickest_first():
    space = Space([Nominal("version", ("a", "b", "c", "d"))])
    seconds = {"a": 9.0, "b": 5.0, "c": 1.0, "d": 3.0}
    tuner = new_tuner(space, compilation=lambda configuration: seconds[configuration["version"]])
    compilers = Compilers()
    compilers.ready = {"a"}
    for number in range(3000):
        configuration = tuner.choose(compilers)
        is_disturbed = bool(set(compilers.begun) - compilers.ready)
        tuner.report(configuration, 0.1, disturbed=is_disturbed)
        if number % 100 == 99:
            assert len(set(compilers.begun) - compilers.ready) <= 1
            compilers.ready |= set(compilers.begun)
    assert sorted(compilers.begun) == ["b", "c", "d"]
    assert compilers.begun.index("c") < compilers.begun.index("d")


def compiled(prediction, seconds: dict[str, float], call: float = 0.1) -> list[str]:
    """In which order versions are compiled beside calls of so many seconds."""
    space = Space([Nominal("version", ("a", "b", "c", "d", "e"))])
    tuner = new_tuner(space, compilation=lambda each: seconds[each["version"]], prediction=prediction)
    compilers = Compilers()
    compilers.ready = {"a"}
    for number in range(4000):
        configuration = tuner.choose(compilers)
        is_disturbed = bool(set(compilers.begun) - compilers.ready)
        tuner.report(configuration, call, disturbed=is_disturbed)
        if number % 100 == 99:
            compilers.ready |= set(compilers.begun)
    return compilers.begun


def test_the_most_promising_version_is_compiled_first():
    """Of times of 0.1 s, 300 calls that one expects to come weigh more than any of the compilers."""
    promise = {"a": 1.0, "b": 1.5, "c": 0.2, "d": 0.5, "e": None}
    # What is asked for before anything is set aside comes first in any case.
    seconds = {"a": 9.0, "b": 1.0, "c": 3.0, "d": 2.0, "e": 1.5}
    order = compiled(lambda configuration: promise[configuration["version"]], seconds)
    assert sorted(order) == ["b", "c", "d", "e"]
    behind = [each for each in order if each != order[0]]
    assert behind == [each for each in ("c", "d", "e", "b") if each != order[0]]


def test_what_saves_nothing_is_compiled_last_however_quickly():
    """Of calls that are too short for any compiler to pay as yet."""
    promise = {"a": 1.0, "b": 1.0, "c": 0.9, "d": 0.6, "e": 1.0}
    seconds = {"a": 0.9, "b": 0.1, "c": 0.9, "d": 0.6, "e": 0.2}
    order = compiled(lambda configuration: promise[configuration["version"]], seconds, call=1e-3)
    behind = [each for each in order if each != order[0]]
    assert behind and behind == [each for each in ("d", "c", "b", "e") if each in behind]
    assert order.index("d") <= 1


def begun_after(call: float, expected: float, most: int, scale: float = 1.0, **settings) -> int | None:
    """After how many calls of so many seconds another version, which is expected to take so many times longer, is
    compiled beside them in a second; None if not after `most`.  Both are predicted to take ``scale`` times what the
    calls do."""
    space = Space([Nominal("version", ("a", "b"))])
    predicted = {"a": scale * call, "b": scale * expected * call}
    tuner = new_tuner(
        space,
        compilation=lambda configuration: 1.0,
        prediction=lambda configuration: predicted[configuration["version"]],
        **settings,
    )
    compilers = Compilers()
    compilers.ready = {"a"}
    for number in range(most):
        tuner.report(tuner.choose(compilers), call)
        if compilers.begun:
            return number
    return None


def test_nothing_is_compiled_that_cannot_pay_by_then():
    """Compiling makes calls 0.5 s longer: where calls are short, only what promises much is worth that early."""
    early = 0.5 / 0.2 / 1e-2  # a fifth of the time may be lost to compilers
    assert begun_after(1e-2, 0.7, 2000) == pytest.approx(early, abs=40)
    as_fast = begun_after(1e-2, 1.0, 2000)
    assert as_fast is not None and 300 < as_fast < 600, "where an eighth may be saved, by how far predictions are wrong"
    slower = begun_after(1e-2, 1.3, 20_000)
    assert slower is not None and slower > 2 * as_fast
    long = begun_after(0.1, 1.0, 200)
    assert long == pytest.approx(early / 10, abs=5), "300 calls are expected in any case"


def test_less_is_known_where_the_first_choice_takes_a_small_part_of_what_is_predicted():
    known, wrong = begun_after(1e-2, 2.0, 40_000), begun_after(1e-2, 2.0, 40_000, scale=30.0)
    assert wrong is not None
    assert known is None or known > 4 * wrong
    assert begun_after(1e-2, 2.0, 40_000, scale=1 / 30) == wrong


def test_what_is_expected_to_be_far_slower_is_compiled_in_the_end():
    assert begun_after(1.0, 8.0, 600) is not None


def test_programs_that_do_nothing_but_tune_compile_at_once():
    assert begun_after(1e-4, 1.3, 20, budget=Budget.unlimited()) is not None


@pytest.mark.parametrize("expected", [0.3, 0.8, 1.0, 1.2, 2.0])
def test_the_expected_improvement_is_a_mean(expected: float):
    errors = np.random.default_rng(5).normal(0.0, 0.4, 400_000)
    saved = np.maximum(0.0, 1 - expected * np.exp(errors))
    assert expected_improvement(expected) == pytest.approx(saved.mean(), rel=0.02, abs=1e-5)


def test_compiling_beside_begins_when_calls_have_taken_a_multiple():
    """Where a compilation is taken to make calls 0.5 s longer, and a fifth of their time may be lost to compilers."""
    tuner, compilers = new_tuner(SPACE, compilation=lambda configuration: 1.0), Compilers()
    compilers.ready = {"a"}
    calls = 0
    while not compilers.begun:
        tuner.report(tuner.choose(compilers), 0.1)
        calls += 1
        assert calls < 100
    assert 0.5 / 0.2 <= 0.1 * calls <= 0.5 / 0.2 + 0.3


def test_trials_are_told_in_the_order_of_time():
    tuner, compilers = new_tuner(TILED, opening=LIGHT, budget=Budget.unlimited()), Compilers()
    for number in range(60):
        tiled_call(tuner, compilers)
        if number == 4:
            compilers.ready.add("heavy")
    trials = tuner.trials()
    assert [each.call for each in trials] == sorted(each.call for each in trials)
    first, second = trials[:2]
    assert (first.call, first.configuration, second.call, second.configuration) == (1, LIGHT, 6, HEAVY)
    assert "while the first choice is compiled" in first.why and second.why == "the first choice"
    assert any(each.why == "other numbers" for each in trials)
    assert all(each.seconds for each in trials)
    tuner.fail(OTHER, "no memory")
    assert tuner.trials()[-1].why == "failed: no memory" and tuner.trials()[-1].seconds is None
