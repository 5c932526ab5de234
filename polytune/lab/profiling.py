"""The data that the profile-based search needs to run on a recording: its counters, or a model of them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np

from polytune.errors import RecordingError
from polytune.lab.models.counter_models import CounterModel, LeastSquaresCounters, RecordedCounters, TreeCounters
from polytune.lab.recording import RecordedSpace


class Prediction(StrEnum):
    """The source of the counters of configurations that have not been profiled.

    ``exact``: the recording itself; ``trees`` and ``least_squares``: a model trained on a recording, of this device or
    of another one.
    """

    EXACT = "exact"
    TREES = "trees"
    LEAST_SQUARES = "least_squares"


def profile_settings(
    recorded: RecordedSpace,
    cores: int,
    prediction: Prediction = Prediction.EXACT,
    trained_on: RecordedSpace | None = None,
    *,
    memory_bound: bool = False,
) -> dict[str, Any]:
    """The settings of the search ``profile`` on a recorded space; profiles are looked up in it.

    Args:
        recorded: the space, with counters.
        cores: how many CUDA cores the device has that it was recorded on.
        prediction: what tells the counters of the other configurations.
        trained_on: what the model is trained on; `recorded` without it.
        memory_bound: whether the kernel is bound by memory.

    Raises:
        RecordingError: a recording has no counters.
        MissingLibraryError: trees need scikit-learn, which is not installed.
    """
    for space in (recorded, trained_on or recorded):
        if not space.counters:
            raise RecordingError(
                f"the recording of {space.name} has no performance counters, by which the profile-based search goes; "
                "KTT writes recordings that do"
            )
    return {
        "model": _model(prediction, trained_on or recorded),
        "counters": recorded.counters_of,
        "cores": cores,
        "memory_bound": memory_bound,
    }


def _model(prediction: Prediction, recorded: RecordedSpace) -> CounterModel:
    rows = np.flatnonzero(np.isfinite(recorded.seconds)).tolist()
    configurations = [recorded.space.configuration(row) for row in rows]
    profiles = [recorded.counters_of(row) for row in rows]
    match prediction:
        case Prediction.EXACT:
            return RecordedCounters(configurations, profiles)
        case Prediction.TREES:
            return TreeCounters(configurations, profiles)
        case Prediction.LEAST_SQUARES:
            return LeastSquaresCounters(configurations, profiles)
