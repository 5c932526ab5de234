"""Recorded spaces of other projects, which are not part of this one: found next to the checkout, where they are."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from polytune.lab import load
from polytune.lab.recording import RecordedSpace
from polytune.tuner.searchers import FiniteSearcher

SHARED = Path(__file__).parents[3] / "shared" / "data"


def recording(path: str) -> RecordedSpace:
    """The recorded space in a file; the test is skipped where it is absent."""
    if not (SHARED / path).is_file():
        pytest.skip(f"{path} is not here")
    return _load(path)


@cache
def _load(path: str) -> RecordedSpace:
    return load(SHARED / path, **({"time": "time_per_pixel", "unit": "s"} if path.startswith("laplacian") else {}))


def slowdowns(search: FiniteSearcher, recorded: RecordedSpace, evaluations: int) -> np.ndarray:
    """The best cost found so far after every evaluation, divided by the optimum."""
    costs = []
    for _ in range(evaluations):
        row = search.ask()
        costs.append(recorded.cost(row))
        search.tell(row, costs[-1])
    return np.minimum.accumulate(costs) / recorded.optimum
