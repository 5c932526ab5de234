"""Expected times that measured ones correct."""

from __future__ import annotations

import math

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
