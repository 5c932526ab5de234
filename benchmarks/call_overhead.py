"""What a call of a kernel costs beyond the compiled code it runs, once its tuner has converged.

``python -m benchmarks.call_overhead CALLS SECONDS`` prints it as JSON; ``benchmarks.latency`` runs it in a process of
its own.
"""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from polybench.benchmark import Arguments
from polybench.kernels.gemm import BENCHMARK
from polytune.runtime.generated import GeneratedKernel
from polytune.runtime.team import new_state
from polytune.runtime.threads import maximum_threads

SIZES = {"ni": 4, "nj": 5, "nk": 6}
"""So small that the loops themselves take next to nothing."""

BATCH = 50
"""Calls between two looks at the clock."""


def converge(kernel: Any, arguments: Arguments, seconds: float) -> bool:
    """Call a kernel until its tuner has converged or the time is up; whether it has."""
    tuner = kernel.tuner(*arguments)
    ends = time.perf_counter() + seconds
    while tuner.best is None or (not tuner.converged and time.perf_counter() < ends):
        kernel(*arguments)
    return tuner.converged


def bare_call(generated: GeneratedKernel, configuration: Any, arguments: Arguments) -> Callable[[], Any]:
    """The compiled function of a configuration, with everything that it takes made ready before.

    Leaves Numba's thread count as the configuration wants it.
    """
    module = generated.module
    version = next(version for version in module.VERSIONS if version.name == configuration["version"])
    parameters = dict(zip(module.PARAMETERS, module.parameters(*arguments), strict=True))
    values = {**parameters, **dict(zip(module.ARGUMENTS, arguments, strict=True))}
    extra = [value for name, value in parameters.items() if name not in module.ARGUMENTS]
    workers = min(configuration["threads"], maximum_threads()) if version.team else 1
    ready = (
        workers,
        new_state(),
        *(values[name] for name in module.ARRAYS),
        *module.scratch(*arguments, *extra),
        *(values[name] for name in module.SCALARS),
        *parameters.values(),
        *(configuration[f"tile_{member}"] for member in range(len(version.tiles))),
    )
    function = version.function
    numba.set_num_threads(workers)
    return functools.partial(function, *ready)


def seconds_of_calls(function: Callable[..., Any], arguments: tuple[Any, ...], calls: int) -> float:
    """The mean seconds of consecutive calls."""
    begin = time.perf_counter()
    for _ in range(calls):
        function(*arguments)
    return (time.perf_counter() - begin) / calls


def measure(calls: int, seconds: float) -> dict[str, Any]:
    """The kernel's calls and the bare function's, in turns, a batch of each.

    Args:
        calls: of each, rounded up to whole batches.
        seconds: the time for tuning.
    """
    rng = np.random.default_rng(0)
    initial = BENCHMARK.initialise(**SIZES)
    # beta below 1 lets C converge, however many calls there are.
    arguments = (0.5, 0.5, *(rng.random(value.shape) for value in initial[2:]))
    kernel = BENCHMARK.kernel
    converged = converge(kernel, arguments, seconds)
    configuration = kernel.tuner(*arguments).best[0]
    kernel.run(configuration, *arguments)
    bare = bare_call(kernel.generated(*arguments), configuration, arguments)
    batches = -(-calls // BATCH)
    tuned_seconds, bare_seconds = [], []
    for _ in range(batches):
        tuned_seconds.append(seconds_of_calls(kernel, arguments, BATCH))
        bare_seconds.append(seconds_of_calls(bare, (), BATCH))
    return {
        "configuration": dict(configuration),
        "converged": converged,
        "call": tuned_seconds,
        "bare": bare_seconds,
        "overhead": np.subtract(tuned_seconds, bare_seconds).tolist(),
    }


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), float(sys.argv[2]))))
