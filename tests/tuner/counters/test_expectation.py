"""Expected times that measured ones correct."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from polytune.tuner.counters.expectation import ExpectedTimes
from polytune.tuner.counters.models import RecordedCounters
from polytune.tuner.counters.names import EXPECTED
from polytune.tuner.searchers import make_search
from polytune.tuner.spaces.finite import FiniteSpace

CONFIGURATIONS = [{"version": v, "tile": t, "fixed": 1} for v in ("plain", "tiled", "packed") for t in range(1, 41)]
SPACE = FiniteSpace.from_configurations(("version", "tile", "fixed"), CONFIGURATIONS)
ROWS = np.arange(len(SPACE))


def work(configuration):
    """What is expected: tiles of 30 are best, and versions make no difference."""
    return {EXPECTED.format("tiles"): 5.0 + abs(configuration["tile"] - 30), EXPECTED.format("loops"): 2.0}


def seconds(row):
    """What is measured: packed versions take four times as long as expected, which nobody could know."""
    configuration = SPACE.configuration(row)
    return 1e-6 * sum(work(configuration).values()) * (4.0 if configuration["version"] == "packed" else 1.0)


TIMES = np.array([list(work(SPACE.configuration(row)).values()) for row in ROWS])


def test_what_measured_times_teach_holds_for_all_rows_with_the_value():
    times = ExpectedTimes(SPACE, ROWS, TIMES)
    packed = np.array([SPACE.configuration(row)["version"] == "packed" for row in ROWS])
    before = times.logarithms({})
    assert before[packed] == pytest.approx(before[~packed].reshape(2, -1)[0])
    told = times.logarithms({row: seconds(row) for row in ROWS[::7].tolist()})
    exact = np.log([seconds(row) for row in ROWS])
    assert np.abs(told - exact).max() < 0.4 < np.abs(before - before.mean() - exact + exact.mean()).max()


def test_rows_of_which_nothing_is_known_are_in_the_middle_until_they_are_measured():
    unknown = TIMES.copy()
    unknown[SPACE.rows[:, 0] == 0] = 0.0
    unknown[SPACE.rows[:, 0] == 1] = np.nan
    times = ExpectedTimes(SPACE, ROWS, unknown)
    middle = times.logarithms({})[SPACE.rows[:, 0] < 2]
    assert (middle == np.median(np.log(TIMES[:40].sum(axis=1)))).all()
    failed = times.logarithms({0: math.inf})
    assert np.isfinite(failed).all()
    assert np.isfinite(ExpectedTimes(SPACE, ROWS, np.zeros((len(ROWS), 2))).logarithms({0: 1.0})).all()


def test_both_are_those_of_a_ridge_regression_on_values():
    """Held against the regression written out, with a column for each value."""
    costs = {row: seconds(row) * (1 + row % 3) for row in ROWS[::11].tolist()}
    values = np.concatenate([np.eye(3)[SPACE.rows[:, 0]], np.eye(40)[SPACE.rows[:, 1]]], axis=1)
    seen = values[list(costs)]
    weights = seen.T @ seen + np.eye(43)
    expected = np.log(TIMES.sum(axis=1))
    longer = np.log(list(costs.values())) - expected[list(costs)]
    by_value = np.linalg.solve(weights, seen.T @ (longer - np.median(longer)))
    times = ExpectedTimes(SPACE, ROWS, TIMES)
    assert times.logarithms(costs) == pytest.approx(expected + np.median(longer) + values @ by_value)
    assert times.doubts(costs) == pytest.approx(np.sqrt(np.diag(values @ np.linalg.inv(weights) @ values.T)))


def test_thousands_of_values_take_no_longer_than_the_measurements():
    rng = np.random.default_rng(0)
    configurations = [{"tile_0": int(a), "tile_1": int(b)} for a, b in rng.integers(1, 10**6, (4000, 2))]
    space = FiniteSpace.from_configurations(("tile_0", "tile_1"), configurations)
    rows = np.arange(len(space))
    times = ExpectedTimes(space, rows, np.ones((len(rows), 1)))
    costs = dict.fromkeys(rows[:50].tolist(), 1.0)
    begun = time.thread_time()
    assert np.isfinite(times.logarithms(costs)).all() and (times.doubts(costs)[:50] < 1.0).all()
    assert time.thread_time() - begun < 2.0  # of a matrix of all values, some minutes


def test_doubts_end_where_values_are_measured():
    times = ExpectedTimes(SPACE, ROWS, TIMES)
    before = times.doubts({})
    assert before == pytest.approx(math.sqrt(2))  # of the version and of the tile, both of one standard deviation
    packed = np.array([SPACE.configuration(row)["version"] == "packed" for row in ROWS])
    after = times.doubts({row: seconds(row) for row in ROWS[packed].tolist()})
    assert after[packed].max() < after[~packed].min() < before.min()
    assert (times.doubts({0: math.inf, 10**6: 1.0}) == before).all()  # of failures and other rows nothing is learned


def test_the_search_finds_what_is_faster_than_expected():
    """A version that seems half as slow again as the others, and is twice as fast."""

    def seems(configuration):
        return {EXPECTED.format("tiles"): work(configuration)[EXPECTED.format("tiles")] * _factor(configuration, 1.5)}

    model = RecordedCounters(CONFIGURATIONS, [seems(configuration) for configuration in CONFIGURATIONS])
    for seed in range(5):
        search = make_search("profile", SPACE, np.random.default_rng(seed), model=model)
        for _ in range(24):
            row = search.ask()
            configuration = SPACE.configuration(row)
            search.tell(row, sum(work(configuration).values()) * _factor(configuration, 0.5))
        assert SPACE.configuration(search.best[0])["version"] == "packed"


def _factor(configuration, of_packed):
    return of_packed if configuration["version"] == "packed" else 1.0


def test_the_search_goes_where_times_are_expected_to_be_short():
    model = RecordedCounters(CONFIGURATIONS, [work(configuration) for configuration in CONFIGURATIONS])
    best = min(map(seconds, ROWS.tolist()))
    for seed in range(5):
        search = make_search("profile", SPACE, np.random.default_rng(seed), model=model)
        for _ in range(8):
            row = search.ask()
            search.tell(row, seconds(row))
        assert search.best is not None and search.best[1] <= 1.2 * best
        # Packed versions are tried to find out about them, and left alone then.
        packed = [row for row in search.costs if SPACE.configuration(row)["version"] == "packed"]
        assert len(packed) <= 3
