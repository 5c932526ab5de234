"""Comparisons made up of given times, so that summaries are tested without running anything."""

import pytest

from benchmarks.cpu.comparison import Comparison, NumbaText, Tuning
from benchmarks.cpu.limits import Rate
from benchmarks.cpu.roofline import Work
from benchmarks.timing import Sample

WORK = Work(8_000_000, 8_000_000, "float64")


@pytest.fixture
def make_comparison():
    """From a kernel's name and the seconds of each contender to a comparison.

    The machine computes 8 Gflop/s in double and 16 in single precision, and reads 4 GB/s in a plain loop, 5 at best.
    """

    def make(kernel, *, agrees=True, converged=True, notes=(), work=WORK, **seconds) -> Comparison:
        return Comparison(
            kernel=kernel,
            samples={name: Sample(tuple(values)) for name, values in seconds.items()},
            tuning=Tuning({"version": "tiled", "threads": 2, "tile_0": 32, "tile_1": 512}, 7, 1.5, 0, converged),
            stages={"scop": 0.25, "candidates": 0.5},
            versions=4,
            work=work,
            limits={
                "dgemm": Rate(Sample((1.0, 0.5, 2.0)), 8e9),
                "sgemm": Rate(Sample((0.5,)), 8e9),
                "triad": Rate(Sample((1.0,)), 3e9),
                "read": Rate(Sample((1.0,)), 4e9),
                "streams": Rate(Sample((1.0,)), 5e9),
            },
            error=0.0 if agrees else float("inf"),
            agrees=agrees,
            numba=NumbaText("def kernel(): ...", ("i (line 3)",)),
            notes=notes,
        )

    return make
