"""Calls while a core is busy: short ones leave it alone where that takes less time."""

from __future__ import annotations

import pytest

from polytune.tuner import Configuration, Integer, Nominal, OnlineTuner, Space

SPACE = Space([Nominal("version", ("a", "b")), Integer("threads", 1, 2, default=2)])
SHORT = {("a", 2): 40e-6, ("a", 1): 50e-6, ("b", 2): 60e-6, ("b", 1): 80e-6}


def one_thread(configuration: Configuration) -> Configuration | None:
    return SPACE.configuration(**{**configuration, "threads": 1}) if configuration["threads"] == 2 else None


class Program:
    """Calls of a tuner on a machine of which a core may be busy: then two threads take so many times longer."""

    def __init__(self, unit: float = 1.0, delay: float = 2.5, **settings):
        self.tuner = OnlineTuner(SPACE, fewer_threads=one_thread, **settings)
        self.unit, self.delay = unit, delay
        self.run: list[Configuration] = []

    def call(self, *, busy: bool, is_ready=None) -> Configuration:
        configuration = self.tuner.choose(is_ready)
        seconds = self.unit * SHORT[configuration["version"], configuration["threads"]]
        if busy and configuration["threads"] == 2:
            seconds *= self.delay
        if self.tuner.steady is configuration and not busy:
            self.tuner.report_steady(configuration, seconds)
        else:
            self.tuner.report(configuration, seconds, disturbed=busy)
        self.run.append(configuration)
        return configuration

    def settle(self) -> Configuration:
        while not self.tuner.converged:
            self.call(busy=False)
        assert self.tuner.settled is not None
        return self.tuner.settled


def test_a_settled_program_leaves_the_busy_core_alone():
    program = Program()
    settled = program.settle()
    assert settled["threads"] == 2
    ranking = program.tuner.ranking()
    threads = [program.call(busy=True)["threads"] for _ in range(50)]
    assert threads.count(2) <= 9, "three in turns with one thread, and a look after 8 calls and 16"
    assert program.tuner.steady == program.run[-1], "the way to such calls is short, too"
    program.call(busy=False)
    assert [program.call(busy=False) for _ in range(20)] == [settled] * 20
    assert program.tuner.ranking() == ranking and program.tuner.statistics().reopened == 0
    assert program.tuner.steady is settled


def test_what_is_slower_with_fewer_threads_keeps_them():
    program = Program(delay=1.1)
    settled = program.settle()
    run = [program.call(busy=True) for _ in range(50)]
    assert sum(each != settled for each in run) <= 8


def test_the_lock_that_a_compiler_holds_at_first_does_not_decide():
    """The compiler takes most of its time without Python's lock, but begins with it: what is run then takes longer."""
    program = Program(unit=5.0, delay=3.0)
    settled = program.settle()
    for _ in range(5):
        program.call(busy=True)
    program.delay = 1.1
    run = [program.call(busy=True) for _ in range(100)]
    assert run[30:].count(settled) >= 64


def test_short_calls_beside_a_compiler_go_the_short_way():
    program = Program(unit=5.0, delay=1.1)
    program.call(busy=False)
    run = [program.call(busy=True, is_ready=lambda configuration: configuration["version"] == "a") for _ in range(8)]
    assert {each["version"] for each in run} == {"a"}
    steady = []
    for _ in range(100):
        steady.append(program.tuner.steady)
        run.append(program.call(busy=True, is_ready=lambda configuration: configuration["version"] == "a"))
    assert sum(each is not None for each in steady) > 80
    assert all(each is None or each == ran for each, ran in zip(steady, run[8:], strict=True))
    program.call(busy=False)
    program.call(busy=False)
    assert program.tuner.steady is None or program.tuner.steady["threads"] == 2


def test_a_machine_that_changes_meanwhile_changes_the_choice():
    program = Program()
    settled = program.settle()
    for _ in range(20):
        program.call(busy=True)
    program.delay = 1.0
    for _ in range(3):
        program.call(busy=False)
    SLOW = {key: seconds * (3 if key[1] == 1 else 1) for key, seconds in SHORT.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "SHORT", SLOW)
        run = [program.call(busy=True) for _ in range(50)]
    assert run[-30:].count(settled) >= 28, "all but what looks again"


def test_what_was_left_is_tried_again_when_the_core_is_free_for_longer():
    program = Program(delay=2.5)
    settled = program.settle()
    assert [program.call(busy=True)["threads"] for _ in range(100)].count(1) > 85
    program.delay = 1.0  # what was busy sleeps, and nothing tells that
    run = [program.call(busy=True) for _ in range(400)]
    assert run[-100:].count(settled) >= 97, "all but what looks again"


@pytest.mark.parametrize("delay", [1.1, 2.5, 20.0])
def test_to_try_again_what_was_left_costs_little(delay: float):
    program = Program(delay=delay)
    program.settle()
    seconds = {1: SHORT["a", 1], 2: delay * SHORT["a", 2]}
    run = [program.call(busy=True)["threads"] for _ in range(6000)][10:]
    left = max(seconds, key=lambda threads: seconds[threads])
    assert run.count(left) >= 3, "it is looked at again"
    least = min(seconds.values()) * len(run)
    assert sum(seconds[threads] for threads in run) < 1.03 * least


def test_long_calls_share_the_core():
    program = Program(unit=100.0)  # some milliseconds
    settled = program.settle()
    assert {program.call(busy=True) for _ in range(30)} == {settled}


def test_calls_that_wait_for_code_leave_the_core_to_its_compiler():
    program = Program()
    program.call(busy=False)
    waiting = [
        program.call(busy=True, is_ready=lambda configuration: configuration["version"] == "a") for _ in range(200)
    ]
    assert {each["version"] for each in waiting} == {"a"}
    assert sum(each["threads"] == 1 for each in waiting) > 150
    assert program.tuner.best is not None and program.tuner.best[0]["threads"] == 2
    for _ in range(40):
        program.call(busy=False, is_ready=lambda configuration: configuration["version"] == "a")
    assert program.run[-1]["threads"] == 2
    assert all(trial.configuration["threads"] == 2 or "beside" not in trial.why for trial in program.tuner.trials())


def test_so_do_calls_before_the_first_choice_is_there():
    opening = SPACE.configuration(version="b", threads=2)
    program = Program(opening=opening)
    run = [program.call(busy=True, is_ready=lambda _: False) for _ in range(30)]
    assert run[0] == opening and run.count(one_thread(opening)) > 20
    program.call(busy=False, is_ready=lambda _: True)
    assert program.run[-1] == SPACE.default()


def test_nothing_stands_in_where_there_is_nothing_to_choose():
    tuner = OnlineTuner(SPACE)
    while not tuner.converged:
        configuration = tuner.choose()
        tuner.report(configuration, SHORT[configuration["version"], configuration["threads"]])
    for _ in range(20):
        assert tuner.choose() == tuner.settled
        tuner.report(tuner.settled, 1.0, disturbed=True)
