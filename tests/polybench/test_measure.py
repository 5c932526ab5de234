"""Timing a kernel through its online tuner."""

import itertools

import numpy as np
import pytest

from polybench.datasets import Dataset
from polybench.measure import measure


@pytest.fixture
def clock():
    """Each call of the kernel or the reference takes one tick more than the one before."""
    return itertools.accumulate(itertools.count()).__next__


def test_every_call_starts_from_the_initial_arrays(make_benchmark, clock):
    measurement = measure(make_benchmark(), Dataset.MINI, calls=7, clock=clock)
    assert measurement.calls == 7
    assert measurement.max_error == 0.0
    assert measurement.verified


def test_times_and_rate(make_benchmark, clock):
    # The reference is timed first and takes from tick 0 to 1; the kernel's calls last 3, 5, 7, ... ticks.
    measurement = measure(make_benchmark(), Dataset.MINI, calls=20, clock=clock)
    assert measurement.reference_call == 1
    assert measurement.first_call == 3
    assert measurement.tuned_call == 32  # the median of the last ten, 23 to 41
    assert measurement.gflops == pytest.approx(2 * 30 / 32 / 1e9)


def test_calls_are_reported(make_benchmark, clock):
    reports = []
    measure(make_benchmark(), Dataset.MINI, calls=3, clock=clock, report=lambda *values: reports.append(values))
    assert reports == [(1, 3, 3), (2, 5, 3), (3, 7, 3)]


def test_one_wrong_call_is_enough(make_benchmark):
    calls = itertools.count()

    def spoil(configuration, is_strict, x, y):
        if next(calls) == 1:
            y[0] = np.nan

    measurement = measure(make_benchmark(spoil), Dataset.MINI, calls=3)
    assert not measurement.verified
    assert measurement.to_json()["max_error"] is None


@pytest.mark.parametrize(("seconds_a_call", "calls"), [(0.001, 200), (0.5, 21), (60.0, 10)])
def test_without_a_number_calls_go_on_for_ten_seconds_after_the_first(make_benchmark, seconds_a_call, calls):
    ticks = itertools.count()
    measurement = measure(make_benchmark(), Dataset.MINI, clock=lambda: next(ticks) * seconds_a_call)
    assert measurement.calls == calls
