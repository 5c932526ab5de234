"""Contenders are timed in turns, each from the initial arrays."""

import itertools

import numpy as np
import pytest

from benchmarks.timing import Sample, Workload, in_turns


def test_every_call_starts_from_the_initial_arrays():
    workload = Workload((3, np.zeros(2)))
    seen = []

    def add(number, array):
        seen.append(array.copy())
        array += number

    for _ in range(2):
        workload.timed(add)
    assert np.array_equal(seen, np.zeros((2, 2)))
    assert np.array_equal(workload.result(add)[1], [3, 3])
    assert np.array_equal(workload.initial[1], [0, 0])


def test_a_result_is_not_changed_by_later_calls():
    workload = Workload((np.zeros(1),))
    result = workload.result(lambda array: array.fill(5.0))
    workload.timed(lambda array: array.fill(7.0))
    assert result[0][0] == 5.0


def test_contenders_take_turns():
    called, reported = [], []
    ticks = itertools.accumulate(itertools.count()).__next__  # each call takes two ticks more than the one before
    functions = {"a": lambda: called.append("a"), "b": lambda: called.append("b")}
    samples = in_turns(functions, Workload((), ticks), 3, reported.append)
    assert called == ["a", "b"] * 3
    assert reported == [1, 2, 3]
    assert samples["a"].values == (1, 5, 9)
    assert samples["b"].values == (3, 7, 11)


def test_sample():
    sample = Sample((5.0, 1.0, 2.0, 4.0, 3.0))
    assert sample.median == 3.0
    assert sample.quartiles == (2.0, 4.0)
    assert sample.to_json() == {"median": 3.0, "quartiles": [2.0, 4.0], "values": [5.0, 1.0, 2.0, 4.0, 3.0]}


def test_one_disturbed_measurement_does_not_move_the_median():
    assert Sample((1.0, 1.0, 1.0, 1.0, 90.0)).median == pytest.approx(1.0)
