"""The cost of a call of a kernel beyond the compiled code that it runs, once its tuner has converged.

``python -m benchmarks.call_overhead CALLS SECONDS`` prints it as JSON; ``benchmarks.latency`` runs it in a process of
its own.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

from polybench.benchmark import Arguments
from polybench.kernels.gemm import BENCHMARK
from polytune.runtime.modules.generated import GeneratedKernel, Invocation
from polytune.tuner import Budget

SIZES = {"ni": 4, "nj": 5, "nk": 6}
"""So small that the loops themselves take next to nothing."""

BATCH = 50
"""Calls of one kind between two looks at the clock."""


def converge(kernel: Any, arguments: Arguments, seconds: float) -> bool:
    """Call a kernel until its tuner has converged or the time is up, at least once; whether it has converged."""
    kernel.background = False
    tuner = kernel.tuner(*arguments)
    tuner.budget = Budget.unlimited()
    ends = time.perf_counter() + seconds
    while tuner.best is None or (not tuner.converged and time.perf_counter() < ends):
        kernel(*arguments)
    return tuner.converged


def call_seconds(kernel: Any, arguments: Arguments) -> float:
    """The mean seconds of a batch of calls as a user makes them."""
    begin = time.perf_counter()
    for _ in range(BATCH):
        kernel(*arguments)
    return (time.perf_counter() - begin) / BATCH


def bare_seconds(generated: GeneratedKernel, configuration: Any, invocation: Invocation) -> float:
    """The mean seconds of the compiled function alone, its arguments made ready, in a batch of runs.

    Of a version with a team of workers, Numba's launch of the team is a part.
    """
    return sum(generated.run(configuration, invocation).seconds for _ in range(BATCH)) / BATCH


def measure(calls: int, seconds: float) -> dict[str, Any]:
    """Calls of the kernel and bare runs of the configuration that it has settled on, in turns, a batch of each.

    Args:
        calls: of each kind, rounded up to whole batches.
        seconds: the time for tuning.
    """
    # C is bounded however many calls there are, because each halves it before it adds.
    arguments = (0.5, 0.5, *BENCHMARK.initialise(**SIZES)[2:])
    kernel: Any = BENCHMARK.kernel
    converged = converge(kernel, arguments, seconds)
    configuration = kernel.tuner(*arguments).best[0]
    generated = kernel.generated(*arguments)
    invocation = generated.prepare(arguments)
    tuned, bare = [], []
    for _ in range(-(-calls // BATCH)):
        tuned.append(call_seconds(kernel, arguments))
        bare.append(bare_seconds(generated, configuration, invocation))
    return {
        "configuration": dict(configuration),
        "converged": converged,
        "call": tuned,
        "bare": bare,
        "overhead": np.subtract(tuned, bare).tolist(),
    }


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), float(sys.argv[2]))))
