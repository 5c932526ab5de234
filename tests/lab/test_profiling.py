"""The profile-based search on recordings with counters."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

from polytune.errors import RecordingError
from polytune.lab import load, simulate
from polytune.lab.profiling import CounterSource, profile_settings

CORES = 4352  # of a GeForce RTX 2080 Ti


def test_a_recording_without_counters_is_a_sentence(recorded):
    with pytest.raises(RecordingError, match="bowl has no performance counters"):
        profile_settings(recorded, CORES)


def test_counters_of_the_training_space_are_needed_too(shared, recorded):
    profiled = load(shared / "ktt" / "2080Ti-coulomb_output.csv.gz")
    with pytest.raises(RecordingError, match="bowl has no performance counters"):
        profile_settings(profiled, CORES, CounterSource.TREES, recorded)


@pytest.mark.parametrize("prediction", CounterSource)
def test_counters_lead_to_good_configurations_sooner(shared, prediction):
    if prediction is CounterSource.TREES:
        pytest.importorskip("sklearn")
    space = load(shared / "ktt" / "2080Ti-pnpoly_output.csv.gz")
    settings = {"profile": profile_settings(space, CORES, prediction)}
    results = simulate(space, ["profile", "random"], [20], 20, settings=settings)
    profiled, random = (statistics.median(results.slowdowns(s, 20)) for s in ("profile", "random"))
    assert profiled < random


def test_exact_counters_are_those_recorded(shared):
    space = load(shared / "ktt" / "2080Ti-coulomb_output.csv.gz")
    model = profile_settings(space, CORES)["model"]
    rows = np.array([3, 77])
    for row, values in zip(rows, model.predict(space.space, rows), strict=True):
        assert dict(zip(model.names, values.tolist(), strict=True)) == space.counters_of(int(row))
