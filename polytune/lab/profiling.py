"""The data that the profile-based search needs to run on a recording: its counters, or a model of them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np

from polytune.errors import RecordingError
from polytune.lab.loading import load
from polytune.lab.recording import RecordedSpace
from polytune.tuner.counters.files import is_model, load_model
from polytune.tuner.counters.models import CounterModel, LeastSquaresCounters, RecordedCounters, TreeCounters
from polytune.tuner.counters.names import expected_times


class CounterSource(StrEnum):
    """The source of the counters of configurations that have not been profiled.

    ``exact``: the recording itself; ``trees`` and ``least_squares``: a model trained on a recording, of this device or
    of another one.
    """

    EXACT = "exact"
    TREES = "trees"
    LEAST_SQUARES = "least_squares"


def profile_settings(
    recorded: RecordedSpace,
    cores: int | None,
    prediction: CounterSource = CounterSource.EXACT,
    trained_on: RecordedSpace | CounterModel | None = None,
    *,
    memory_bound: bool = False,
) -> dict[str, Any]:
    """The settings of the search ``profile`` on a recorded space; profiles are looked up in it.

    Args:
        recorded: the space, with counters.
        cores: how many CUDA cores the device has that it was recorded on; None for a processor.
        prediction: what tells the counters of the other configurations.
        trained_on: what the model is trained on, or a trained model; `recorded` without it.
        memory_bound: whether the kernel is bound by memory.

    Raises:
        RecordingError: a recording has no counters, or those of a GPU and there is no number of cores.
        MissingLibraryError: trees need scikit-learn, which is not installed.
    """
    source = trained_on or recorded
    for space in (recorded, source):
        if isinstance(space, RecordedSpace) and not space.counters:
            raise RecordingError(
                f"the recording of {space.name} has no performance counters, by which the profile-based search goes; "
                "KTT and polytune tune --record write recordings that do"
            )
    if cores is None and not expected_times(recorded.counters):
        raise RecordingError(
            f"the recording of {recorded.name} has the counters of a GPU: say how many CUDA cores it has (--cores N)"
        )
    return {
        "model": source if isinstance(source, CounterModel) else train(prediction, source),
        "counters": recorded.counters_of,
        "cores": cores,
        "memory_bound": memory_bound,
    }


def train(prediction: CounterSource, recorded: RecordedSpace) -> CounterModel:
    """A model of the counters of a recording; `polytune.tuner.counters.files.save_model` keeps it.

    Raises:
        RecordingError: the recording has no counters.
        MissingLibraryError: trees need scikit-learn, which is not installed.
    """
    rows = np.flatnonzero(np.isfinite(recorded.seconds)).tolist()
    configurations = [recorded.space.configuration(row) for row in rows]
    profiles = [recorded.counters_of(row) for row in rows]
    match prediction:
        case CounterSource.EXACT:
            return RecordedCounters(configurations, profiles)
        case CounterSource.TREES:
            return TreeCounters(configurations, profiles)
        case CounterSource.LEAST_SQUARES:
            return LeastSquaresCounters(configurations, profiles)


def model_or_space(path: str) -> CounterModel | RecordedSpace:
    """The model or the recorded space in a file.

    Raises:
        OSError: it cannot be read.
        RecordingError: it is neither.
        MeasurementError: it is a model that does not hold together.
    """
    if is_model(path):
        return load_model(path)
    return load(path)
