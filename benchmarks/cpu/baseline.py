"""The baseline of a kernel: its own loops under plain Numba, checked before they are timed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from benchmarks.cpu.numba_source import NumbaSource
from benchmarks.cpu.parallel_loops import choose_loops, source_loops
from polybench.benchmark import Benchmark, copy_arguments
from polybench.datasets import Dataset
from polytune.pipeline import Stages


class BaselineError(Exception):
    """Numba cannot run the kernel's loops at all, or not correctly."""


class Extra(StrEnum):
    """Further baselines beside the parallel one: without ``prange``, and with ``fastmath=True``."""

    SERIAL = "serial"
    FASTMATH = "fastmath"


@dataclass(frozen=True)
class Baseline:
    """The kernel under Numba.

    Attributes:
        function: the compiled function.
        source: its source text.
        loops: the loops that carry ``prange``; none if none may.
        notes: what did not go as it should have, in sentences.
        extras: the further baselines that were asked for and are right.
    """

    function: Callable[..., Any]
    source: str
    loops: tuple[str, ...]
    notes: tuple[str, ...]
    extras: dict[str, Callable[..., Any]]


def derive_baseline(
    benchmark: Benchmark, stages: Stages, extras: frozenset[Extra] = frozenset(), check_at: Dataset = Dataset.SMALL
) -> Baseline:
    """The kernel's loops with ``prange`` on each outermost loop that may carry it.

    Every choice is compiled and checked against the benchmark's reference; a loop on which it fails gives way to the
    parallel loops inside of it.

    Args:
        benchmark: whose kernel.
        stages: the kernel's, for the argument types of the comparison.
        extras: the further baselines wanted.
        check_at: the size of the problem that the check solves.

    Raises:
        BaselineError: not even the serial loops compile and give the right result.
    """
    plain = benchmark.kernel.__wrapped__
    problem_of = _checker(benchmark, check_at)

    @functools.cache
    def attempt(lines: frozenset[int], fastmath: bool = False) -> tuple[Callable[..., Any], str | None]:
        function = NumbaSource(plain, lines).compile(fastmath=fastmath)
        return function, problem_of(function)

    choice = choose_loops(source_loops(stages), lambda lines: attempt(lines)[1])
    lines = frozenset(loop.line for loop in choice.loops)
    function, problem = attempt(lines)
    if problem is not None:
        raise BaselineError(f"plain Numba cannot run {benchmark.name}: {problem}")
    notes = list(choice.refused)
    wanted = {Extra.SERIAL: (frozenset[int](), False), Extra.FASTMATH: (lines, True)}
    right: dict[str, Callable[..., Any]] = {}
    for extra in Extra:
        if extra in extras:
            other, problem = attempt(*wanted[extra])
            if problem is None:
                right[extra.value] = other
            else:
                notes.append(f"no {extra.value} baseline: {problem}")
    source = NumbaSource(plain, lines).text
    return Baseline(function, source, tuple(map(str, choice.loops)), tuple(notes), right)


def _checker(benchmark: Benchmark, dataset: Dataset) -> Callable[[Callable[..., Any]], str | None]:
    """The check of a function: what is wrong with it, or None."""
    initial = benchmark.initialise(**benchmark.sizes(dataset))
    expected = copy_arguments(initial)
    benchmark.reference(*expected)

    def problem(function: Callable[..., Any]) -> str | None:
        actual = copy_arguments(initial)
        try:
            function(*actual)
        except Exception as refusal:
            # Numba raises errors of many kinds, with messages of many lines; the first says what it is about.
            message = str(refusal).strip().splitlines()
            return f"{type(refusal).__name__}: {message[0] if message else 'no message'}"
        error = benchmark.error_of(initial, expected, actual)
        return None if error <= benchmark.tolerance else f"the result is wrong at {dataset.value}: error {error:.2g}"

    return problem
