"""Calls that ask the tuner take longer than those that do not: that is a cost of tuning."""

from __future__ import annotations

import numpy as np
import pytest

from polytune.tuner import Integer, Nominal, OnlineTuner, Space

SPACE = Space([Nominal("version", ("a", "b", "c")), Integer("tile", 1, 1024, powers_of_two=True, default=32)])


@pytest.mark.parametrize("overhead", [0.0, 2e-5, 1.5e-4, 1e-3])
def test_no_program_is_far_behind_one_that_never_asks(overhead):
    """Of a kernel that no choice makes faster, whatever asking takes beside a call."""
    rng = np.random.default_rng(0)
    tuner = OnlineTuner(SPACE)
    usual, spent, calls = 3e-4, 0.0, 20_000
    for _ in range(calls):
        asks = tuner.steady is None
        configuration = tuner.choose()
        seconds = usual * (1 + 0.02 * rng.random())
        tuner.report(configuration, seconds, overhead=overhead if asks else 0.0)
        spent += seconds + (overhead if asks else 0.0)
    behind = spent / (calls * usual * 1.01) - 1
    assert behind <= 0.03 + 0.01 + 0.01, "what is promised, the questions while nothing may be tried, and the noise"


def test_where_something_is_found_there_is_time_for_more():
    """What the first finds save pays for the questions that lead to others."""
    cost = {"a": 3e-4, "b": 2e-4, "c": 1e-4}
    tuner = OnlineTuner(SPACE)
    for _ in range(5_000):
        asks = tuner.steady is None
        configuration = tuner.choose()
        seconds = cost[configuration["version"]] * (1 + abs(np.log2(configuration["tile"]) - 8) / 10)
        tuner.report(configuration, seconds, overhead=1.5e-4 if asks else 0.0)
    assert tuner.best[0]["version"] == "c" and tuner.best[1] <= 1.2e-4
