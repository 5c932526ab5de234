"""The time of compiling: the analysis of a kernel, and the machine code of each of its versions.

``python -m benchmarks.versions KERNEL`` prints it as JSON; ``benchmarks.latency`` runs it in processes of their own.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.first_result import timed_child
from benchmarks.timing import Sample


@dataclass(frozen=True)
class CompileTimes:
    """Seconds that compiling takes with nothing cached.

    Attributes:
        analysis: by kernel, from its source to the text of all versions.
        versions: by kernel and version, from the text to machine code.
    """

    analysis: dict[str, float]
    versions: dict[str, dict[str, float]]

    @property
    def version(self) -> Sample:
        """The total of all versions of all kernels."""
        return Sample(tuple(seconds for versions in self.versions.values() for seconds in versions.values()))

    def to_json(self) -> dict[str, Any]:
        """All of it, and the median over the versions."""
        return {"version": self.version.to_json(), "analysis": self.analysis, "versions": self.versions}


def compile_times(kernels: Sequence[str], report: Callable[[str], None] = lambda _: None) -> CompileTimes:
    """Compile every version of kernels, each kernel in a process with an empty cache directory.

    Raises:
        ChildError: a process failed.
    """
    found = {}
    for number, kernel in enumerate(kernels):
        report(f"compiling every version: {kernel}, {number + 1} of {len(kernels)}")
        with tempfile.TemporaryDirectory(prefix="polytune-benchmark-") as cache:
            found[kernel] = timed_child("benchmarks.versions", cache, kernel)
    return CompileTimes(
        {kernel: measured["analysis"] for kernel, measured in found.items()},
        {kernel: measured["versions"] for kernel, measured in found.items()},
    )


def measure(kernel: str) -> dict[str, Any]:
    """Generate a kernel for the types of the suite's data and compile each of its versions, one after the other.

    What is compiled once for all kernels, the functions of teams, is compiled before; with it goes what Numba does once
    in each process.
    """
    from polybench.datasets import Dataset
    from polybench.registry import benchmark
    from polytune.runtime.teams.helpers import compile_team

    compile_team()
    entry = benchmark(kernel)
    arguments = entry.initialise(**entry.sizes(Dataset.MINI))
    begin = time.perf_counter()
    generated = entry.kernel.generated(*arguments)
    analysis = time.perf_counter() - begin
    names = [version.name for version in generated.module.VERSIONS]
    return {"analysis": analysis, "versions": {name: generated.functions.compile(name) for name in names}}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
