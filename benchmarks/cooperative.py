"""``python -m benchmarks.cooperative``: what a tuned kernel loses or gains where it may be shared with a device.

Each kernel is tuned three times: on the processor alone, on the device alone, and with every choice there is, splits
among them.  Then the three winners are timed in turns, with arrays of the host.  A space that holds the two others
must not lead to anything slower than the better of them.

Exit code 0: done; 1: a tuned kernel is slower than the better platform alone by more than ``--allowed``, or something
failed; 2: the command line makes no sense, or there is no device.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Column, Table

from benchmarks import program
from benchmarks.gpu.chosen_device import chosen_device
from benchmarks.gpu.limits import measure_limits
from benchmarks.gpu.own_cores import cores_of_device
from benchmarks.gpu.phases import Deadline, Results
from benchmarks.timing import Sample, Workload
from polybench.benchmark import Benchmark
from polybench.datasets import Dataset
from polybench.registry import benchmark
from polytune.errors import LaunchError

if TYPE_CHECKING:
    from polytune.runtime.devices.device import Device
    from polytune.runtime.modules.generated import GeneratedKernel
    from polytune.tuner import Configuration, Space

app = program.application(
    "cooperative", "Compare tuned kernels that are shared with a device to either platform alone."
)

KERNELS = ("gemm", "2mm", "syrk", "atax", "mvt", "gemver", "jacobi-2d")
"""Kernels that compute much for each element and little, with one region and several."""

WAYS = ("processor", "device", "shared")
"""The spaces: of each platform alone, and of all choices."""

_UNCOUNTED = 3
_FEW_TURNS = 3
_FAR_BEHIND = 3  # times the fastest call
_REST = 0.05  # seconds


@dataclass(frozen=True)
class Tuned:
    """The end of a search in one of the spaces.

    Attributes:
        configuration: the best one.
        explored: how many configurations were measured.
        failed: how many could not be run.
        converged: whether the search has come to its end.
    """

    configuration: Configuration
    explored: int
    failed: int
    converged: bool


@app.command()
def cooperative(
    kernels: Annotated[
        list[str] | None, typer.Argument(metavar="KERNEL", help=f"By default {', '.join(KERNELS)}.")
    ] = None,
    output: program.Output = None,
    as_json: program.Json = False,
    identity: Annotated[
        str, typer.Option("--device", metavar="DEVICE", help="Such as cuda:0 or opencl:1; by default the first GPU.")
    ] = "",
    dataset: Annotated[Dataset, typer.Option(case_sensitive=False, help="The sizes.")] = Dataset.LARGE,
    seconds: Annotated[float, typer.Option(min=1, help="For tuning one kernel in its three spaces.")] = 60.0,
    device_cores: Annotated[
        int, typer.Option(min=0, help="Of the processor's cores, how many a device that is the processor itself has.")
    ] = 0,
    turns: Annotated[int, typer.Option(min=1, help="Timings of each winner.")] = 15,
    allowed: Annotated[float, typer.Option(min=0, help="By how much the shared one may be slower.")] = 0.03,
    debug: program.Debug = False,
) -> None:
    """Tune kernels on either platform and on both, and compare what comes of it."""
    wanted = program.known_kernels(kernels or KERNELS)
    program.check_output(output)
    with cores_of_device(device_cores):
        device = chosen_device(identity)
        if device_cores:
            # A driver may start its threads when there is work for the first time.
            measure_limits(device, copied=2**20, rounds=100)
    surroundings = {**program.surroundings(), "device_cores": device_cores}
    results = Results(output, **surroundings, device=str(device), dataset=dataset.value)
    for name in wanted:
        print(f"{name}, about {seconds:.0f} s", file=sys.stderr, flush=True)
        try:
            results.put("kernels", name, value=compare(benchmark(name), dataset, device, seconds, turns))
        except Exception as failure:
            if debug:
                raise
            results.put("failures", name, value=f"{type(failure).__name__}: {failure}")
            print(f"{name}: {failure}", file=sys.stderr, flush=True)
    found = results.found.get("kernels", {})
    if as_json:
        program.print_json(results.found)
    else:
        program.results.print(table(found))
    slower = [name for name, entry in found.items() if entry["shared_over_better"] > 1 + allowed]
    for name in slower:
        print(f"{name}: slower than the better platform alone by more than {allowed:.0%}", file=sys.stderr)
    if slower or "failures" in results.found:
        raise typer.Exit(1)


def compare(benchmark: Benchmark, dataset: Dataset, device: Device, seconds: float, turns: int) -> dict[str, Any]:
    """Tune one kernel in the three spaces and time the winners.

    Args:
        benchmark: the kernel.
        dataset: its sizes.
        device: the device.
        seconds: for the three searches together.
        turns: timings of each winner.

    Raises:
        CompilationError: or LaunchError, a winner cannot be run again.
    """
    initial = benchmark.initialise(**benchmark.sizes(dataset))
    generated = benchmark.kernel.generated(*initial)
    workload = Workload(initial)
    deadline = Deadline(seconds)
    tuned = {}
    for number, (way, space) in enumerate(spaces(generated, device).items()):
        # The processor alone gets as long as all choices together, for a fair comparison.
        tuned[way] = tune(generated, space, workload, deadline.part((0.4, 1 / 3, 1.0)[number]))
    same = first_with_the_same(tuned)
    functions = {way: partial(run, generated, tuned[way].configuration) for way in same.values()}
    samples = timed_in_turns(functions, workload, turns)
    timed = {way: samples[first] for way, first in same.items()}
    return {
        "tuned": {way: {**asdict(found), "configuration": dict(found.configuration)} for way, found in tuned.items()},
        "seconds": {way: sample.to_json() for way, sample in timed.items()},
        "shared_over_better": shared_over_better(timed),
    }


def first_with_the_same(tuned: Mapping[str, Tuned]) -> dict[str, str]:
    """The first space whose search has come to the same configuration, for each space: that is timed once, as noise
    would tell it from itself."""
    first: dict[Configuration, str] = {}
    return {way: first.setdefault(found.configuration, way) for way, found in tuned.items()}


def run(generated: GeneratedKernel, configuration: Configuration, *arguments: Any) -> None:
    """One call, checks and transfers included, that must not fail over to the processor.

    Raises:
        LaunchError: the device could not do its part.
    """
    outcome = generated.run(configuration, generated.prepare(arguments))
    if outcome.failure is not None:
        raise LaunchError(outcome.failure)


def timed_in_turns(functions: Mapping[str, Callable[..., Any]], workload: Workload, turns: int) -> dict[str, Sample]:
    """Time every function once in each turn, after a rest and some calls of its own that do not count: threads of a
    device that is the processor itself spin for a while after their work is done.  Every other turn goes the other way
    round, so that none always follows the device.  What is far behind another one after a few turns has no more."""
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    order = list(functions.items())
    for turn in range(turns):
        if turn == _FEW_TURNS:
            least = {name: min(values) for name, values in seconds.items()}
            limit = _FAR_BEHIND * min(least.values())
            order = [(name, function) for name, function in order if least[name] <= limit]
        for name, function in order:
            time.sleep(_REST)
            for _ in range(_UNCOUNTED):
                workload.timed(function)
            seconds[name].append(workload.timed(function))
        order.reverse()
    return {name: Sample(tuple(values)) for name, values in seconds.items()}


def shared_over_better(timed: dict[str, Sample]) -> float:
    """The ratio of the medians of the winners: above 1 where all choices together led to something slower."""
    return timed["shared"].median / min(timed["processor"].median, timed["device"].median)


def spaces(generated: GeneratedKernel, device: Device) -> dict[str, Space]:
    """The spaces by their names."""
    from polytune.runtime.partitioned.space import on_device

    alone = on_device(generated.module.PARTITIONED, device.identity, device.limits)
    return dict(zip(WAYS, (generated.module.space(), alone, generated.space), strict=True))


def tune(generated: GeneratedKernel, space: Space, workload: Workload, deadline: Deadline) -> Tuned:
    """Search a space, one measurement a call, until the search converges or the time is up.

    Raises:
        SpaceError: nothing in the space can be run.
    """
    from polytune.errors import CompilationError
    from polytune.tuner import Budget, OnlineTuner

    starts = [start for start in generated.first_choices.starts if space.contains(start)]
    tuner = OnlineTuner(space, starts=starts, budget=Budget.unlimited())

    def call(*arguments: Any) -> None:
        configuration = tuner.choose()
        try:
            outcome = generated.run(configuration, generated.prepare(arguments))
        except CompilationError as error:
            tuner.fail(configuration, str(error))
            return
        if outcome.failure is None:
            tuner.report(configuration, outcome.seconds, compile_seconds=outcome.compile_seconds)
        else:
            tuner.fail(configuration, outcome.failure)

    while not tuner.converged and not (deadline.is_over and tuner.best):
        workload.timed(call)
    best = tuner.best
    assert best is not None
    statistics = tuner.statistics()
    return Tuned(best[0], statistics.explored, statistics.failed, tuner.converged)


def table(found: dict[str, Any]) -> Table:
    """A line for each kernel."""
    columns = [Column(way, justify="right") for way in (*WAYS, "shared / better", "measured")]
    result = Table("kernel", *columns, "shared runs")
    for name, entry in found.items():
        medians = [program.duration(entry["seconds"][way]["median"]) for way in WAYS]
        explored = "+".join(str(entry["tuned"][way]["explored"]) for way in WAYS)
        chosen = entry["tuned"]["shared"]["configuration"]
        result.add_row(name, *medians, f"{entry['shared_over_better']:.3f}", explored, _where(chosen))
    return result


def _where(configuration: dict[str, Any]) -> str:
    """The place where a configuration runs, in few words."""
    if "split" not in configuration:
        return configuration["version"]
    places = [configuration[f"platform_{number}"] for number in range(2 ** configuration["split"])]
    ratios = [f"{configuration[f'ratio_{member}']:.2f}" for member in range(configuration["split"])]
    return " | ".join(places) + (f" at {', '.join(ratios)}" if ratios else "")


if __name__ == "__main__":
    program.run(app, "python -m benchmarks.cooperative")
