"""Finds a benchmark of the gallery by its name."""

from __future__ import annotations

from gallery.datasets import CATALOGUE
from polybench.benchmark import Benchmark
from polybench.suite import Suite

__all__ = ["SUITE", "benchmark", "names"]

SUITE = Suite(
    "python -m gallery",
    "Kernels of papers on autotuning as plain Python loops, compiled and tuned by polytune.",
    "gallery.kernels",
    CATALOGUE,
)


def names() -> tuple[str, ...]:
    """The names of the kernels, by the paper that they are from."""
    return SUITE.names


def benchmark(name: str) -> Benchmark:
    """The benchmark of that name; its module is imported when it is first asked for.

    Raises:
        UnknownKernelError: there is no such kernel; the message names one that is spelt alike.
    """
    return SUITE.benchmark(name)
