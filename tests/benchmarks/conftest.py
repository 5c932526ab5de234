"""Comparisons made up of given times, so that summaries are tested without running anything."""

import pytest

from benchmarks.baseline import Baseline
from benchmarks.comparison import Comparison, Tuning
from benchmarks.timing import Sample


@pytest.fixture
def make_comparison():
    """From a kernel's name and the seconds of each contender to a comparison."""

    def make(kernel, *, agrees=True, converged=True, notes=(), **seconds) -> Comparison:
        extras = {name: print for name in seconds if name not in ("polytune", "numba")}
        return Comparison(
            kernel=kernel,
            samples={name: Sample(tuple(values)) for name, values in seconds.items()},
            baseline=Baseline(print, "def kernel(): ...", ("i (line 3)",), notes, extras),
            tuning=Tuning({"version": "tiled", "threads": 2, "tile_0": 32, "tile_1": 512}, 7, 1.5, 0, converged),
            stages={"scop": 0.25, "candidates": 0.5},
            versions=4,
            error=0.0 if agrees else float("inf"),
            agrees=agrees,
        )

    return make
