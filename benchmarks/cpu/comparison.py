"""One kernel against its peers: the compiler's work, tuning, then all timed in turns."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polytune
from benchmarks.compile_time import stage_seconds
from benchmarks.cpu.baseline import Baseline, BaselineError, Extra, derive_baseline
from benchmarks.cpu.best_known import speedup_over_best
from benchmarks.cpu.contender import PeerError, Problem, accepted
from benchmarks.cpu.isolation import Report
from benchmarks.cpu.limits import Rate, probes, rates
from benchmarks.cpu.peers import NUMBA, PEERS
from benchmarks.cpu.roofline import Work, roof_of, work_of
from benchmarks.timing import Clock, Sample, Workload, in_turns
from polybench.benchmark import Arguments, Benchmark
from polybench.datasets import Dataset
from polybench.registry import benchmark
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from polytune.tuner import Budget

POLYTUNE = "polytune"

UNLIMITED = Budget.unlimited()
"""The budget of tuning that may cost what it takes."""

PAUSE = 0.1
"""Seconds of rest before a call that is timed: the threads of some run times go on spinning after their work."""

SHORT = 0.02
"""Calls that take fewer seconds than this are preceded by one that is not timed, so that threads that sleep by then are
not what is measured."""


@dataclass(frozen=True)
class Plan:
    """The settings of a comparison of kernels.

    Attributes:
        dataset: the suite's sizes.
        tuning_seconds: for how long the kernel is called before it is timed, unless it has converged before.
        turns: how often each contender is timed.
        peers: the names of those that are on this machine.
        extras: further baselines under Numba.
        call_seconds: a peer whose call takes longer is left out, and one with long calls has fewer turns.
    """

    dataset: Dataset
    tuning_seconds: float
    turns: int
    peers: tuple[str, ...] = (NUMBA,)
    extras: frozenset[Extra] = frozenset()
    call_seconds: float = 60.0


@dataclass(frozen=True)
class Tuning:
    """The course of tuning: the best configuration, the calls and seconds it took, the calls remembered from earlier
    processes, and whether nothing was left to try."""

    configuration: dict[str, Any]
    calls: int
    seconds: float
    remembered_calls: int
    converged: bool


@dataclass(frozen=True)
class NumbaText:
    """The code that Numba was given: the source, and the loops that carry ``prange``; none if none may."""

    source: str
    loops: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """A kernel and its peers side by side.

    Attributes:
        kernel: the suite's name of it.
        samples: the seconds of a call, by contender.
        tuning: how it was tuned.
        stages: the processor seconds of the compiler's stages.
        versions: how many versions of the kernel there are.
        work: what one call has to do.
        limits: what the machine reached in the same turns.
        error: the error of polytune's result, that of a peer taken for the truth.
        agrees: whether rounding explains it.
        numba: the program that Numba was given.
        notes: what did not go as it should have, in sentences.
    """

    kernel: str
    samples: Mapping[str, Sample]
    tuning: Tuning
    stages: Mapping[str, float]
    versions: int
    work: Work
    limits: Mapping[str, Rate]
    error: float
    agrees: bool
    numba: NumbaText | None = None
    notes: tuple[str, ...] = ()

    @property
    def peers(self) -> tuple[str, ...]:
        """The contenders beside polytune."""
        return tuple(name for name in self.samples if name != POLYTUNE)

    @property
    def seconds(self) -> float:
        """Polytune's median."""
        return self.samples[POLYTUNE].median

    def speedup_over(self, contender: str) -> float:
        """Polytune's speed over that of one of the contenders, by the medians."""
        return self.samples[contender].median / self.seconds

    def speedup_over_best(self, ratio: float | None) -> float | None:
        """Polytune's speed over that of the best of other compilers, which is ``ratio`` times as fast as GCC."""
        return speedup_over_best(self.samples, POLYTUNE, ratio)

    @property
    def operations_per_second(self) -> float:
        """Useful operations."""
        return self.work.operations / self.seconds

    @property
    def bytes_per_second(self) -> float:
        """Bytes that no cache can save."""
        return self.work.bytes / self.seconds

    @property
    def share_of_product(self) -> float | None:
        """The useful operations a second in parts of BLAS's; None for integers."""
        flops = roof_of(self.work, self.limits).flops
        return None if flops is None else self.operations_per_second / flops

    @property
    def share_of_bandwidth(self) -> float:
        """The bytes a second in parts of those that a plain loop that reads the same arrays reaches."""
        return self.bytes_per_second / roof_of(self.work, self.limits).plain_bandwidth

    @property
    def share_of_roofline(self) -> float:
        """The least time that the limits leave, by polytune's."""
        return roof_of(self.work, self.limits).least_seconds(self.work) / self.seconds

    @property
    def compile_seconds(self) -> float:
        """The processor seconds from the function to the text of its module."""
        return sum(self.stages.values())


def compare_by_name(name: str, plan: Plan, report: Report) -> Comparison:
    """``compare`` for a process of its own, which is told the kernel's name."""
    return compare(benchmark(name), plan, report)


def compare(
    benchmark: Benchmark, plan: Plan, report: Report = lambda _: None, clock: Clock = time.perf_counter
) -> Comparison:
    """Compare one kernel.

    Args:
        benchmark: whose kernel.
        plan: at what size, for how long, and with whom.
        report: called with what is done next.
        clock: what calls are timed with.

    Raises:
        PolytuneError: the kernel could not be compiled or run.
    """
    initial = benchmark.initialise(**benchmark.sizes(plan.dataset))
    report("compiler's stages")
    stages: Stages = benchmark.kernel.stages(signature_of(benchmark.argument_names, initial))
    seconds = stage_seconds(stages)
    with tempfile.TemporaryDirectory(prefix="polytune-peers-") as folder:
        found = _contenders(benchmark, stages, initial, plan, Path(folder), report)
        workload = Workload(initial, clock)
        tuning = tune(benchmark.kernel, workload, plan.tuning_seconds, report, clock)

        # Calls run the best configuration, and go the way that they go in applications.
        with polytune.tuning("frozen"):
            contenders = {POLYTUNE: benchmark.kernel, **found.functions}
            checked = _check(benchmark, workload, contenders, report)
            right = {name: contenders[name] for name in checked.seconds}
            probed = probes(initial)
            for name, probe in probed.items():
                report(f"first call of {name}")
                workload.timed(probe.call)
                checked.seconds[name] = workload.timed(probe.call)
            calls = {**right, **{name: probe.call for name, probe in probed.items()}}
            turns = {name: _turns(checked.seconds[name], plan) for name in calls}

            def before(name: str) -> None:
                time.sleep(PAUSE)
                if checked.seconds[name] < SHORT:
                    workload.timed(calls[name])

            samples = in_turns(calls, workload, turns, lambda turn: report(f"turn {turn} of {plan.turns}"), before)
    return Comparison(
        kernel=benchmark.name,
        samples={name: samples[name] for name in right},
        tuning=tuning,
        stages=seconds,
        versions=len(stages.programs),
        work=work_of(benchmark, stages, plan.dataset, initial),
        limits=rates(samples, probed),
        error=checked.error,
        # Each of the two may be off by the tolerance.
        agrees=checked.error <= 2 * benchmark.tolerance,
        numba=found.numba,
        notes=(*found.notes, *checked.notes),
    )


@dataclass(frozen=True)
class _Found:
    functions: dict[str, Callable[..., Any]]
    numba: NumbaText | None
    notes: tuple[str, ...]


def _contenders(
    benchmark: Benchmark, stages: Stages, initial: Arguments, plan: Plan, folder: Path, report: Report
) -> _Found:
    """The peers as functions, those that fail left out."""
    functions: dict[str, Callable[..., Any]] = {}
    numba: NumbaText | None = None
    notes: list[str] = []
    for name in plan.peers:
        report(name)
        try:
            if name == NUMBA:
                baseline: Baseline = derive_baseline(benchmark, stages, plan.extras)
                functions |= {NUMBA: baseline.function, **baseline.extras}
                numba = NumbaText(baseline.source, baseline.loops)
                notes += baseline.notes
                continue
            place = folder / name
            place.mkdir()
            peer = PEERS[name]
            contender = accepted(
                peer, Problem(benchmark, stages, initial, place), plan.dataset, plan.call_seconds, report
            )
            functions[name] = contender.load()
        except (PeerError, BaselineError) as problem:
            notes.append(f"no {name}: {problem}")
    return _Found(functions, numba, tuple(notes))


@dataclass(frozen=True)
class _Checked:
    seconds: dict[str, float]
    error: float
    notes: tuple[str, ...]


def _check(
    benchmark: Benchmark, workload: Workload, contenders: Mapping[str, Callable[..., Any]], report: Report
) -> _Checked:
    """Call everything once, and compare the results; of two peers that differ, the one polytune agrees with is right.

    Peers that nobody agrees with, or that fail, are left out; so polytune is wrong if it differs from every peer.
    """
    initial = workload.initial
    seconds: dict[str, float] = {}
    errors: dict[str, float] = {}
    notes: list[str] = []
    own: Any = None
    for name, function in contenders.items():
        report(f"first call of {name}")
        try:
            result = workload.result(function)
            seconds[name] = workload.timed(function)
        except Exception as problem:
            if name == POLYTUNE:
                raise
            notes.append(f"no {name}: {type(problem).__name__}: {problem}")
            continue
        if name == POLYTUNE:
            own = result
        else:
            errors[name] = benchmark.error_of(initial, result, own)
    least = min(errors.values(), default=0.0)
    agrees = least <= 2 * benchmark.tolerance
    for name, error in errors.items():
        if agrees and not error <= 2 * benchmark.tolerance:
            notes.append(f"no {name}: its result differs from all others by {error:.2g}")
            del seconds[name]
    return _Checked(seconds, least, tuple(notes))


def _turns(seconds: float, plan: Plan) -> int:
    """Fewer for what takes long, but never none."""
    return max(1, min(plan.turns, int(2 * plan.call_seconds / max(seconds, 1e-9))))


def tune(kernel: Any, workload: Workload, seconds: float, report: Report, clock: Clock) -> Tuning:
    """Call a kernel as an application would, until its tuner has converged or the time is up, at least once if it knows
    nothing yet.

    Raises:
        PolytuneError: the kernel could not be compiled or run.
    """
    # These calls have no other purpose than to try versions.
    kernel.background = False
    kernel.budget = UNLIMITED
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
