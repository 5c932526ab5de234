"""Are the results of all kernels right on a device, alone and shared with the processor, in many versions?"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.gpu.configurations import (
    compile_ahead,
    has_device_version,
    on_device,
    paper_versions,
    random_configurations,
)
from benchmarks.gpu.phases import Deadline
from polybench.benchmark import Arguments, Benchmark, copy_arguments
from polybench.datasets import Dataset
from polytune.errors import CompilationError, DeviceWarning, PolytuneError
from polytune.runtime.devices.device import Device
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.tuner import Configuration

ROUNDS = 8
"""The number of configurations of each kernel that are checked, if the time suffices."""

MOST_STEPS = 4000
"""A kernel that starts its regions more often than this is checked at a smaller size."""


@dataclass
class Checked:
    """The findings on one kernel.

    Attributes:
        mapped: whether it has a version for devices; those that have none are run on the processor.
        sizes: at what size it was checked.
        right: how many configurations gave the right result.
        infeasible: how many cannot be compiled or launched, or want more than the device has.
        wrong: those that gave another result, or failed while they ran; each with what was seen.
        error: the greatest error of the right ones.
    """

    mapped: bool
    sizes: dict[str, int]
    right: int = 0
    infeasible: int = 0
    wrong: list[dict[str, Any]] = field(default_factory=list)
    error: float = 0.0


@dataclass
class _Problem:
    """A kernel's data, and the configurations still to be checked."""

    sizes: dict[str, int]
    initial: Arguments
    expected: Arguments
    configurations: Iterator[Configuration]


def check_kernels(
    benchmarks: Sequence[Benchmark],
    dataset: Dataset,
    device: Device,
    deadline: Deadline,
    report: Callable[[str, Checked], None],
) -> dict[str, Checked]:
    """Check every kernel once, then every kernel a second time, and so on until the time is up.

    Args:
        benchmarks: whose kernels.
        dataset: at what size, unless its regions are too many there.
        device: where.
        deadline: by when.
        report: called with a kernel's name and what has been found of it so far.
    """
    found: dict[str, Checked] = {}
    problems: dict[str, _Problem] = {}
    seconds: dict[str, float] = {}
    for _ in range(ROUNDS):
        for benchmark in benchmarks:
            if deadline.is_over:
                return found
            name = benchmark.name
            # What takes long is not checked again at the others' cost.
            if seconds.get(name, 0.0) > 4 * deadline.left / len(benchmarks):
                continue
            problem = problems.get(name) or problems.setdefault(name, _begin(benchmark, dataset, device))
            begin = time.monotonic()
            configuration = next(problem.configurations, None)
            if configuration is not None:
                checked = found.setdefault(name, Checked("split" in configuration, problem.sizes))
                check(benchmark, configuration, problem.initial, problem.expected, checked)
                report(name, checked)
                seconds[name] = time.monotonic() - begin
    return found


def check_all_versions(
    benchmark: Benchmark,
    dataset: Dataset,
    device: Device,
    deadline: Deadline,
    report: Callable[[Checked, int], None],
) -> Checked:
    """Check the versions of the paper's table 1 one by one, until the time is up.

    Args:
        benchmark: whose kernel.
        dataset: at what size.
        device: where.
        deadline: by when.
        report: called with what has been found so far, and how many versions there are.
    """
    initial = benchmark.initialise(**benchmark.sizes(dataset))
    generated = benchmark.kernel.generated(*initial)
    expected = _expected(benchmark, initial)
    versions = paper_versions(generated, device)
    compile_ahead(generated, device, versions, deadline.part(0.7))
    checked = Checked(True, benchmark.sizes(dataset))
    for configuration in versions:
        if deadline.is_over:
            break
        check(benchmark, configuration, initial, expected, checked)
        report(checked, len(versions))
    return checked


def check(
    benchmark: Benchmark, configuration: Configuration, initial: Arguments, expected: Arguments, checked: Checked
) -> None:
    """Run one configuration, and add what was seen."""
    arguments = copy_arguments(initial)
    try:
        with warnings.catch_warnings():
            # A call that the processor had to finish does not show that the device is right.
            warnings.simplefilter("error", DeviceWarning)
            benchmark.kernel.run(configuration, *arguments)
    except CompilationError:
        checked.infeasible += 1
        return
    except (PolytuneError, DeviceWarning) as problem:
        checked.wrong.append({"configuration": dict(configuration), "failure": str(problem)})
        return
    error = benchmark.error_of(initial, expected, arguments)
    if error <= benchmark.tolerance:
        checked.right += 1
        checked.error = max(checked.error, float(error))
    else:
        checked.wrong.append({"configuration": dict(configuration), "error": error})


def _begin(benchmark: Benchmark, dataset: Dataset, device: Device) -> _Problem:
    for sizes in _sizes(benchmark, dataset):
        initial = benchmark.initialise(**sizes)
        generated = benchmark.kernel.generated(*initial)
        if _steps(generated, initial) <= MOST_STEPS:
            break
    return _Problem(sizes, initial, _expected(benchmark, initial), _configurations(generated, device))


def _sizes(benchmark: Benchmark, dataset: Dataset) -> Iterator[dict[str, int]]:
    """The sizes of a dataset, of those that are smaller, and then halves."""
    datasets = list(Dataset)
    for smaller in reversed(datasets[: datasets.index(dataset) + 1]):
        sizes = benchmark.sizes(smaller)
        yield sizes
    while min(sizes.values()) > 8:
        sizes = {name: extent // 2 for name, extent in sizes.items()}
        yield sizes


def _steps(generated: GeneratedKernel, initial: Arguments) -> int:
    """The number of starts of regions."""
    if not has_device_version(generated):
        return 0
    return sum(1 for _ in generated.module.PARTITIONED.steps(*generated.prepare(initial).parameters))


def _expected(benchmark: Benchmark, initial: Arguments) -> Arguments:
    expected = copy_arguments(initial)
    benchmark.reference(*expected)
    return expected


def _configurations(generated: GeneratedKernel, device: Device) -> Iterator[Configuration]:
    """The whole kernel on the device first, then anything; of a kernel without device code its default."""
    if not has_device_version(generated):
        yield generated.space.default()
        return
    yield on_device(generated, device)
    yield from random_configurations(generated, seed=1)
