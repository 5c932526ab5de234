"""Contenders, timed beside polytune: how to get them, in this process or in another, and whether they are any good."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any, Protocol

from benchmarks.cpu.isolation import IsolationError, Report, isolated
from benchmarks.timing import Workload
from polybench.benchmark import Arguments, Benchmark, copy_arguments
from polybench.datasets import Dataset
from polybench.registry import benchmark
from polytune.pipeline import Stages


class PeerError(Exception):
    """A peer cannot be had for a kernel; the message says why."""


class Contender(Protocol):
    """A compiled kernel that another process can load; it can be pickled."""

    def load(self) -> Any:
        """A function that takes the kernel's arguments and works in place."""


@dataclass(frozen=True)
class Problem:
    """The problem that a peer is given.

    Attributes:
        benchmark: whose kernel.
        stages: the compiler's, for the types of its arguments.
        arguments: those of a call, of the size that is asked for.
        folder: for what is written on the way, the peer's own.
    """

    benchmark: Benchmark
    stages: Stages
    arguments: Arguments
    folder: Path


class Peer(Protocol):
    """Something else that a kernel's loops, or its formula, can be given to."""

    @property
    def name(self) -> str:
        """The name that it is called by."""

    @property
    def fixes_sizes(self) -> bool:
        """Return whether what it makes is good for a problem's sizes alone."""

    def missing(self) -> str | None:
        """The reason why it cannot be used on this machine; None if it can."""

    def variants(self, problem: Problem) -> Iterator[Contender]:
        """The kernel as the peer makes it; where there are several, the first that is right is taken.

        Raises:
            PeerError: it cannot be made.
        """


def accepted(peer: Peer, problem: Problem, dataset: Dataset, seconds: float, report: Report) -> Contender:
    """The first variant of a peer that gives the right result at SMALL and returns within ``seconds`` at ``dataset``.

    Each is tried in a process of its own.  Where a peer fixes sizes, the one of SMALL is another than the one that is
    returned.

    Raises:
        PeerError: there is none.
    """
    reasons = []
    found = problem.benchmark
    small: Iterator[Contender | None] = repeat(None)
    try:
        if peer.fixes_sizes:
            folder = problem.folder / Dataset.SMALL.value
            folder.mkdir()
            arguments = found.initialise(**found.sizes(Dataset.SMALL))
            small = peer.variants(replace(problem, arguments=arguments, folder=folder))
        for contender, checked in zip(peer.variants(problem), small, strict=False):
            report(f"{peer.name}, first call")
            try:
                # What is compiled in its first call takes its time before that.
                how = (checked or contender, contender, found.name, dataset, seconds)
                isolated(trial, *how, seconds=2 * seconds + 30.0)
            except IsolationError as problem_found:
                reasons.append(str(problem_found).removeprefix("PeerError: "))
            else:
                return contender
    except PeerError as refusal:
        reasons.append(str(refusal))
    raise PeerError("; ".join(dict.fromkeys(reasons)) or "it has no form of this kernel")


def trial(
    checked: Contender, contender: Contender, name: str, dataset: Dataset, seconds: float, report: Report
) -> float:
    """Check one contender at SMALL, then call another once at ``dataset``; the seconds of that call.

    Raises:
        PeerError: the result is wrong, or the call took too long.
    """
    found = benchmark(name)
    initial = found.initialise(**found.sizes(Dataset.SMALL))
    expected, actual = copy_arguments(initial), copy_arguments(initial)
    found.reference(*expected)
    checked.load()(*actual)
    error = found.error_of(initial, expected, actual)
    if not error <= found.tolerance:
        raise PeerError(f"the result is wrong at SMALL: error {error:.2g}")
    workload = Workload(found.initialise(**found.sizes(dataset)), time.perf_counter)
    elapsed = workload.timed(contender.load())
    if elapsed > seconds:
        raise PeerError(f"a call takes {elapsed:.0f} s, longer than {seconds:g} s")
    return elapsed
