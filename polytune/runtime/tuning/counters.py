"""Counters of kernels without a profiler: what the compiler knows of the work of each version.

Counts of whole calls are called ``work__<kind>.sum``, bytes that come from each level of the memory ``traffic__...``,
and ``expected__<kind>.ns`` is how long the busiest thread is expected to need for a kind of work, which tells the
profile-based search what a configuration waits for.  The model behind them is ``polytune.runtime.tuning.prediction``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polytune.runtime.tuning.footprints import LINE_BYTES
from polytune.runtime.tuning.prediction import Prediction
from polytune.runtime.tuning.work import Kind
from polytune.tuner import FiniteSpace
from polytune.tuner.counters.models import NOTHING, CounterModel
from polytune.tuner.counters.names import EXPECTED, GLOBAL_SIZE

__all__ = ["KernelCounters", "work_counters"]

_TIMES = (*(kind.name.lower() for kind in Kind), "starts", "tasks")
_TRAFFIC = {
    "traffic__from_second_cache.bytes": (Kind.LINES_2, Kind.APART_2),
    "traffic__from_third_cache.bytes": (Kind.LINES_3, Kind.APART_3),
    "traffic__from_memory.bytes": (Kind.LINES_4, Kind.APART_4),
}


def work_counters(prediction: Prediction, configuration: Mapping[str, Any]) -> dict[str, float]:
    """The counters of a configuration, by name; 0 where nothing is known of it, as of versions for devices.

    Args:
        prediction: for the sizes of the call.
        configuration: a value for each parameter that matters.
    """
    counts = prediction.counts(configuration) or (0.0,) * len(Kind)
    times = prediction.times(configuration) or dict.fromkeys(_TIMES, 0.0)
    return {
        GLOBAL_SIZE: float(prediction.workers(configuration)),
        **{f"work__{kind.name.lower()}.sum": count for kind, count in zip(Kind, counts, strict=True)},
        **{name: LINE_BYTES * sum(counts[kind] for kind in kinds) for name, kinds in _TRAFFIC.items()},
        **{EXPECTED.format(name): times[name] for name in _TIMES},
    }


class KernelCounters(CounterModel):
    """The counters of a kernel's configurations, known before any of them has run.

    Args:
        prediction: for the sizes of the call.
    """

    candidates = 1000
    names = tuple(EXPECTED.format(name) for name in _TIMES)

    def __init__(self, prediction: Prediction):
        self._prediction = prediction

    def predict(self, space: FiniteSpace, rows: np.ndarray, given: Mapping[str, Any] = NOTHING) -> np.ndarray:
        found = np.full((len(rows), len(self.names)), np.nan)
        for number, row in enumerate(rows.tolist()):
            configuration = self._prediction.completed({**given, **space.configuration(row)})
            times = None if configuration is None else self._prediction.times(configuration)
            if times is not None:
                found[number] = [times[name] for name in _TIMES]
        return found

    def __str__(self) -> str:
        return "counts"
