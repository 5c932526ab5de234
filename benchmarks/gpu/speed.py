"""The speed of one kernel: on the device with its arrays there, called from the host, shared, and on the processor."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

import polytune
from benchmarks.gpu.configurations import PPCG_DEFAULT, compile_ahead, on_device, promising, split_between
from benchmarks.gpu.phases import Deadline
from benchmarks.gpu.resident import ResidentKernel
from benchmarks.timing import Workload
from polybench.benchmark import Arguments, Benchmark, copy_arguments
from polytune.errors import CompilationError, DeviceError, DeviceWarning
from polytune.runtime.devices.device import Device
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.tuner import Configuration

TURNS = 3
"""The number of timed calls from the host; the first one before them is not counted."""

Put = Callable[[str, Any], None]
"""Keeps a result under a name."""


def measure(
    benchmark: Benchmark,
    sizes: dict[str, int],
    dtype: np.dtype,
    device: Device,
    deadline: Deadline,
    put: Put,
    *,
    thorough: bool,
    from_host: bool = True,
) -> None:
    """Measure one kernel as far as the time goes; what matters most comes first.

    Args:
        benchmark: whose kernel.
        sizes: of the problem.
        dtype: of its arrays and numbers.
        device: where.
        deadline: by when.
        put: called with each result when it is there.
        thorough: whether many configurations are tried.
        from_host: whether calls with arrays of the host are measured, too.
    """
    initial = converted(benchmark.initialise(**sizes), dtype)
    generated = benchmark.kernel.generated(*initial)
    operations = benchmark.operations(**sizes)
    put("sizes", sizes)
    put("operations", operations)
    best = _on_device(generated, initial, device, deadline.part(0.6 if from_host else 0.9), put, thorough, operations)
    if best is not None:
        put("resident_call_seconds", _resident_call(benchmark, initial, best, deadline))
    if from_host and best is not None:
        _from_host(benchmark, generated, initial, best, deadline, put)


def converted(arguments: Arguments, dtype: np.dtype) -> Arguments:
    """The arguments with all floating-point arrays in another precision."""
    return tuple(
        value.astype(dtype) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value
        for value in arguments
    )


def _on_device(
    generated: GeneratedKernel,
    initial: Arguments,
    device: Device,
    deadline: Deadline,
    put: Put,
    thorough: bool,
    operations: int,
) -> Configuration | None:
    """Time launches on arrays that stay on the device: PPCG's default, polytune's, and promising ones; the best."""
    tried: list[tuple[float, Configuration]] = []
    failures: list[str] = []

    def attempt(kernel: ResidentKernel, configuration: Configuration) -> float | None:
        try:
            seconds = kernel.seconds(configuration)
        except DeviceError as problem:
            failures.append(str(problem).splitlines()[0])
            return None
        tried.append((seconds, configuration))
        return seconds

    candidates = promising(generated, device, thorough=thorough)
    with ResidentKernel(generated, initial, device) as kernel:
        put("bytes", kernel.touched)
        put("ppcg_default_seconds", attempt(kernel, on_device(generated, device, **PPCG_DEFAULT)))
        put("default_seconds", attempt(kernel, on_device(generated, device)))
        compile_ahead(generated, device, candidates, deadline.part(0.6))
        for configuration in candidates:
            if deadline.is_over:
                break
            attempt(kernel, configuration)
        if not tried:
            put("failures", failures)
            return None
        seconds, best = min(tried, key=lambda pair: pair[0])
        put("device_seconds", seconds)
        put("device_configuration", dict(best))
        put("device_flops", operations / seconds)
        put("device_bandwidth", kernel.touched / seconds)
    put("configurations_tried", len(tried))
    put("configurations_there_are", len(candidates) + 2)
    put("failures", sorted(set(failures)))
    return best


def _resident_call(benchmark: Benchmark, initial: Arguments, best: Configuration, deadline: Deadline) -> float | None:
    """The seconds of a whole call, as an application makes it, on arrays that are kept on the device."""
    arguments = copy_arguments(initial)
    arrays = [value for value in arguments if isinstance(value, np.ndarray)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeviceWarning)
            with polytune.resident(*arrays):
                call = partial(benchmark.kernel.run, best, *arguments)
                return _median(partial(_seconds, call), deadline, turns=10)
    except (CompilationError, DeviceWarning):
        return None


def _from_host(
    benchmark: Benchmark,
    generated: GeneratedKernel,
    initial: Arguments,
    best: Configuration,
    deadline: Deadline,
    put: Put,
) -> None:
    """Time calls with arrays of the host: on the processor, on the device, and shared at several ratios."""
    workload = Workload(initial)

    def timed(configurations: Iterable[Configuration], name: str) -> float | None:
        fastest: tuple[float, Configuration] | None = None
        for configuration in configurations:
            if deadline.is_over:
                break
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error", DeviceWarning)
                    call = partial(benchmark.kernel.run, configuration)
                    seconds = _median(partial(workload.timed, call), deadline)
            except (CompilationError, DeviceWarning):
                continue
            if fastest is None or seconds < fastest[0]:
                fastest = seconds, configuration
        put(f"{name}_seconds", None if fastest is None else fastest[0])
        put(f"{name}_configuration", None if fastest is None else dict(fastest[1]))
        return None if fastest is None else fastest[0]

    of_device = timed([best], "host_to_device")
    of_processor = timed(processor_starts(generated), "processor")
    if of_device is None or of_processor is None or "ratio_0" not in {p.name for p in generated.space.parameters}:
        return
    # Each platform alone gives its speed; near the ratio of these both should end at the same time.
    balanced = of_processor / (of_processor + of_device)
    ratios = sorted({min(0.98, max(0.02, balanced + step)) for step in (-0.1, 0.0, 0.1)} | {0.98})
    timed([split_between(generated, best, ratio) for ratio in ratios], "shared")


def processor_starts(generated: GeneratedKernel) -> list[Configuration]:
    """The processor's parallel versions, each with its own tile sizes, without tuning; the most promising two."""
    return [start for start in generated.first_choices.starts if "threads" in start and "split" not in start][:2]


def _median(measure: Callable[[], float], deadline: Deadline, turns: int = TURNS) -> float:
    """The median of several measurements after one that is not counted; of fewer where the time is up."""
    first = measure()
    found: list[float] = []
    for _ in range(turns):
        if found and deadline.is_over:
            break
        found.append(measure())
    return statistics.median(found or [first])


def _seconds(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
