"""Runs one kernel again and again through the online tuner, and times it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from polybench.benchmark import Arguments, Benchmark, copy_arguments
from polybench.datasets import Dataset

_LAST_CALLS = 10
_FEWEST_CALLS, _MOST_CALLS, _TIME_FOR_CALLS = 10, 200, 10.0
_REFERENCE_CALLS, _TIME_FOR_REFERENCE = 5, 1.0

Report = Callable[[int, float, float], None]
"""Called after each call with its number, from 1, its time, and the time of the fastest so far, in seconds."""


@dataclass(frozen=True)
class KernelTimes:
    """The times that a kernel takes, in seconds.

    Attributes:
        kernel: the suite's name of it.
        dataset: at which of the suite's sizes.
        calls: how many times it was called.
        first_call: the first call, with what had to be analysed and compiled for it.
        tuned_call: the median of the last ten calls.
        reference_call: the median of the NumPy reference's calls.
        gflops: arithmetic operations of a tuned call, in thousand millions a second.
        max_error: the largest error of all calls; infinite where a result was not finite.
        verified: whether every call's error was within the tolerance.
    """

    kernel: str
    dataset: Dataset
    calls: int
    first_call: float
    tuned_call: float
    reference_call: float
    gflops: float
    max_error: float
    verified: bool

    def to_json(self) -> dict[str, Any]:
        """Return plain values; an error that is not finite is None, which JSON can hold."""
        max_error = self.max_error if np.isfinite(self.max_error) else None
        return {**asdict(self), "dataset": self.dataset.value, "max_error": max_error}


def measure(
    benchmark: Benchmark,
    dataset: Dataset,
    *,
    calls: int | None = None,
    report: Report = lambda *_: None,
    clock: Callable[[], float] = time.perf_counter,
) -> KernelTimes:
    """Call a kernel on the suite's data, each time from the same initial arrays, and check every result.

    Args:
        benchmark: whose kernel.
        dataset: the suite's sizes.
        calls: how often; by default for about ten seconds after the first call, from 10 to 200 times.
        report: called after each call.
        clock: seconds from some fixed moment.

    Raises:
        PolytuneError: the kernel could not be compiled or run.
    """
    sizes = benchmark.sizes(dataset)
    initial = benchmark.initialise(**sizes)
    expected, reference_call = _reference(benchmark, initial, clock)
    arguments = copy_arguments(initial)
    benchmark.kernel.background = False  # so many calls may be over before a version is compiled
    seconds: list[float] = []
    max_error = 0.0
    while _goes_on(len(seconds), sum(seconds[1:]), calls):
        for value, start in zip(arguments, initial, strict=True):
            if isinstance(value, np.ndarray):
                np.copyto(value, start)
        begin = clock()
        benchmark.kernel(*arguments)
        seconds.append(clock() - begin)
        max_error = max(max_error, benchmark.error_of(initial, expected, arguments))
        report(len(seconds), seconds[-1], min(seconds))
    tuned_call = statistics.median(seconds[-_LAST_CALLS:])
    return KernelTimes(
        kernel=benchmark.name,
        dataset=dataset,
        calls=len(seconds),
        first_call=seconds[0],
        tuned_call=tuned_call,
        reference_call=reference_call,
        gflops=benchmark.operations(**sizes) / tuned_call / 1e9,
        max_error=max_error,
        verified=max_error <= benchmark.tolerance,
    )


def _goes_on(done: int, seconds: float, calls: int | None) -> bool:
    if calls is not None:
        return done < calls
    return done < _FEWEST_CALLS or (done < _MOST_CALLS and seconds < _TIME_FOR_CALLS)


def _reference(benchmark: Benchmark, initial: Arguments, clock: Callable[[], float]) -> tuple[Arguments, float]:
    """Return what the reference makes of the arguments, and the median of its times."""
    seconds: list[float] = []
    while not seconds or (len(seconds) < _REFERENCE_CALLS and sum(seconds) < _TIME_FOR_REFERENCE):
        expected = copy_arguments(initial)
        begin = clock()
        benchmark.reference(*expected)
        seconds.append(clock() - begin)
    return expected, statistics.median(seconds)
