"""One kernel against its baseline: the compiler's work, tuning, then both timed in turns."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.baseline import Baseline, Extra, derive_baseline
from benchmarks.compile_time import stage_seconds
from benchmarks.timing import Clock, Sample, Workload, in_turns
from polybench.benchmark import Benchmark
from polybench.datasets import Dataset
from polytune.pipeline import Stages
from polytune.runtime.arguments import signature_of

POLYTUNE, BASELINE = "polytune", "numba"


@dataclass(frozen=True)
class Plan:
    """How kernels are compared.

    Attributes:
        dataset: the suite's sizes.
        tuning_seconds: for how long the kernel is called before it is timed, unless it has converged before.
        turns: how often each contender is timed.
        extras: the further baselines.
    """

    dataset: Dataset
    tuning_seconds: float
    turns: int
    extras: frozenset[Extra] = frozenset()


@dataclass(frozen=True)
class Tuning:
    """How tuning went: the best configuration, the calls and seconds it took, the calls remembered from earlier
    processes, and whether nothing was left to try."""

    configuration: dict[str, Any]
    calls: int
    seconds: float
    remembered_calls: int
    converged: bool


@dataclass(frozen=True)
class Comparison:
    """A kernel and its baselines side by side.

    Attributes:
        kernel: the suite's name of it.
        samples: the seconds of a call, by contender.
        baseline: the program it was compared with.
        tuning: how it was tuned.
        stages: the processor seconds of the compiler's stages.
        versions: how many versions of the kernel there are.
        error: the error of polytune's result, taken the baseline's for the truth.
        agrees: whether rounding explains it.
    """

    kernel: str
    samples: dict[str, Sample]
    baseline: Baseline
    tuning: Tuning
    stages: dict[str, float]
    versions: int
    error: float
    agrees: bool

    @property
    def speedup(self) -> float:
        """How many times as fast as the baseline polytune is, by the medians."""
        return self.speedup_over(BASELINE)

    def speedup_over(self, contender: str) -> float:
        """How many times as fast as one of the contenders polytune is, by the medians."""
        return self.samples[contender].median / self.samples[POLYTUNE].median

    @property
    def compile_seconds(self) -> float:
        """The processor seconds from the function to the text of its module."""
        return sum(self.stages.values())


def compare(
    benchmark: Benchmark, plan: Plan, report: Callable[[str], None] = lambda _: None, clock: Clock = time.perf_counter
) -> Comparison:
    """Compare one kernel.

    Args:
        benchmark: whose kernel.
        plan: at what size, and for how long.
        report: called with what is done next.
        clock: what calls are timed with.

    Raises:
        PolytuneError: the kernel could not be compiled or run.
        BaselineError: Numba cannot run its loops.
    """
    initial = benchmark.initialise(**benchmark.sizes(plan.dataset))
    report("compiler's stages")
    stages: Stages = benchmark.kernel.stages(signature_of(benchmark.argument_names, initial))
    seconds = stage_seconds(stages)
    report("baseline")
    baseline = derive_baseline(benchmark, stages, plan.extras)
    workload = Workload(initial, clock)
    tuning = tune(benchmark.kernel, workload, plan.tuning_seconds, report, clock)

    def tuned(*arguments: Any) -> Any:
        return benchmark.kernel.run(tuning.configuration, *arguments)

    contenders = {POLYTUNE: tuned, BASELINE: baseline.function, **baseline.extras}
    report("first call of each")
    results = {name: workload.result(function) for name, function in contenders.items()}
    error = benchmark.error_of(initial, results[BASELINE], results[POLYTUNE])
    samples = in_turns(contenders, workload, plan.turns, lambda turn: report(f"turn {turn} of {plan.turns}"))
    return Comparison(
        kernel=benchmark.name,
        samples=samples,
        baseline=baseline,
        tuning=tuning,
        stages=seconds,
        versions=len(stages.programs),
        error=error,
        # Each of the two may be off by the tolerance.
        agrees=error <= 2 * benchmark.tolerance,
    )


def tune(kernel: Any, workload: Workload, seconds: float, report: Callable[[str], None], clock: Clock) -> Tuning:
    """Call a kernel as an application would, until its tuner has converged or the time is up, at least once if it knows
    nothing yet.

    Raises:
        PolytuneError: the kernel could not be compiled or run.
    """
    tuner = kernel.tuner(*workload.initial)
    remembered = tuner.statistics().calls
    begin = clock()
    calls = 0
    while tuner.best is None or (not tuner.converged and clock() - begin < seconds):
        best = "" if tuner.best is None else f", best {tuner.best[1] * 1e3:.3g} ms"
        report(f"tuning, call {calls + 1}{best}")
        workload.timed(kernel)
        calls += 1
    elapsed = clock() - begin
    tuner.save()
    return Tuning(dict(tuner.best[0]), calls, elapsed, remembered, tuner.converged)
