"""Finds a benchmark by its name."""

from __future__ import annotations

import difflib
import importlib

from polybench.benchmark import Benchmark
from polybench.datasets import CATALOGUE


class UnknownKernelError(LookupError):
    """The suite has no kernel of that name."""

    def __init__(self, name: str):
        close = difflib.get_close_matches(name.lower().replace("_", "-"), CATALOGUE, n=1, cutoff=0.5)
        advice = f"did you mean {close[0]!r}?" if close else "`python -m polybench list` names them."
        super().__init__(f"The suite has no kernel {name!r}; {advice}")
        self.name = name


def names() -> tuple[str, ...]:
    """The names of the 30 kernels, in the suite's order of categories."""
    return tuple(CATALOGUE)


def check_name(name: str) -> None:
    """Raise UnknownKernelError unless the suite has a kernel of that name; imports nothing."""
    if name not in CATALOGUE:
        raise UnknownKernelError(name)


def benchmark(name: str) -> Benchmark:
    """The benchmark of that name; its module is imported when it is first asked for.

    Raises:
        UnknownKernelError: the suite has no such kernel; the message names one that is spelt alike.
    """
    check_name(name)
    benchmark: Benchmark = importlib.import_module(f"polybench.kernels.{CATALOGUE[name].module}").BENCHMARK
    return benchmark
