"""Finds a benchmark of PolyBench by its name."""

from __future__ import annotations

from polybench.benchmark import Benchmark
from polybench.datasets import CATALOGUE
from polybench.suite import Suite, UnknownKernelError

__all__ = ["SUITE", "UnknownKernelError", "benchmark", "check_name", "names"]

SUITE = Suite(
    "python -m polybench",
    "The PolyBench kernels as plain Python loops, compiled and tuned by polytune.",
    "polybench.kernels",
    CATALOGUE,
)


def names() -> tuple[str, ...]:
    """The names of the 30 kernels, in the suite's order of categories."""
    return SUITE.names


def check_name(name: str) -> None:
    """Raise UnknownKernelError unless the suite has a kernel of that name; imports nothing."""
    SUITE.check_name(name)


def benchmark(name: str) -> Benchmark:
    """The benchmark of that name; its module is imported when it is first asked for.

    Raises:
        UnknownKernelError: the suite has no such kernel; the message names one that is spelt alike.
    """
    return SUITE.benchmark(name)
