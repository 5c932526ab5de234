"""Many programs in parallel processes, and what they have shown."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import Any

from tests.fuzz.checking import Failure, Verdict, check
from tests.fuzz.numbered import ARRAYS, generator_of, is_compiled, numbered
from tests.fuzz.samples import Sample
from tests.fuzz.workers import SECONDS, Worker

COMPILED_SHARE = 0.05
"""The share of the programs that are compiled; of the others every version is interpreted."""
COMPILED_VERSIONS = 1
"""The number of versions of a compiled program that run beside its default call."""

LONGEST = 5
"""The number of the longest first calls that are kept."""


@dataclass
class Found:
    """Failures of one kind.

    Attributes:
        number: the first program that failed so.
        failure: its failure.
        numbers: all programs that failed so.
    """

    number: int
    failure: Failure
    numbers: list[int] = field(default_factory=list)


@dataclass
class Campaign:
    """What a campaign has run and found.

    Attributes:
        start: the number of its first program.
        outcomes: how many programs passed, were refused, were unsupported, were unusable, failed.
        generators: how many programs each generator has made.
        unsupported: why programs of array expressions are outside of the language, and how many are.
        compiled: how many programs were compiled.
        configurations: how many different ones ran.
        executions: how many calls ran.
        found: failures by kind.
        longest: processor seconds of the longest first calls (of an interpreted program, of its analysis) and the
            programs' numbers, the longest first.
        processor_seconds: of all analyses and first calls.
    """

    start: int
    outcomes: Counter[str] = field(default_factory=Counter)
    generators: Counter[str] = field(default_factory=Counter)
    unsupported: Counter[str] = field(default_factory=Counter)
    compiled: int = 0
    configurations: int = 0
    executions: int = 0
    found: dict[str, Found] = field(default_factory=dict)
    longest: list[tuple[float, int]] = field(default_factory=list)
    processor_seconds: float = 0.0
    seconds: float = 0.0

    @property
    def programs(self) -> int:
        return sum(self.outcomes.values())

    def add(self, number: int, verdict: Verdict, compiled: bool) -> bool:
        """Count a program; returns whether it shows a failure of a new kind."""
        self.outcomes[verdict.outcome] += 1
        self.generators[generator_of(number)] += 1
        if verdict.unsupported:
            self.unsupported[verdict.unsupported] += 1
        self.compiled += compiled
        self.configurations += verdict.configurations
        self.executions += verdict.executions
        seconds = max(verdict.analysis_seconds, verdict.call_seconds)
        self.processor_seconds += seconds
        failure = verdict.failure
        if failure is not None and failure.kind.startswith("more than"):
            seconds = max(seconds, SECONDS)
        self.longest = sorted([*self.longest, (seconds, number)], reverse=True)[:LONGEST]
        if failure is None:
            return False
        new = failure.kind not in self.found
        self.found.setdefault(failure.kind, Found(number, failure)).numbers.append(number)
        return new


def check_number(job: tuple[int, bool]) -> Verdict:
    """Check the program of a number, compiled or interpreted."""
    number, compiled = job
    return check(numbered(number), number, compiled, COMPILED_VERSIONS)


def check_sample(job: tuple[Sample, int, bool, dict[str, Any] | None]) -> Verdict:
    """Check a program, with the seed of its orders, compiled or interpreted, and perhaps in one configuration alone."""
    sample, seed, compiled, configuration = job
    return check(sample, seed, compiled, COMPILED_VERSIONS, configuration)


def warm_up() -> None:
    """Have what every program needs loaded, so that forked processes have it: islpy, SymPy, Numba's own functions."""
    source = "def kernel(n, A):\n    for i in range(n):\n        A[i] = A[i] + 1.0\n"
    check(Sample(source, (("n", "3"), ("A", "np.zeros(3)")), "n, A", True), 0, compiled=False)
    import numba

    numba.njit("f8(f8[:])")(lambda x: x[0])


def run_campaign(
    numbers: Iterator[int],
    start: int,
    processes: int,
    *,
    seconds: float | None,
    compiled_share: float = COMPILED_SHARE,
    limit: float = SECONDS,
    report: Callable[[Campaign, int | None], None],
) -> Campaign:
    """Check programs until their numbers or the time end.

    Args:
        numbers: the programs.
        start: what the campaign began with.
        processes: how many work side by side.
        seconds: after so long no more are begun; None for all numbers.
        compiled_share: how many of the programs are compiled.
        limit: the processor time that a program may take.
        report: is called after each program, and about once a second, with the number of one that shows a failure of a
            new kind.
    """
    campaign = Campaign(start)
    began = time.monotonic()
    workers = [Worker(check_number, limit) for _ in range(processes)]
    try:
        while True:
            for worker in workers:
                if worker.job is None and (seconds is None or time.monotonic() - began < seconds):
                    number = next(numbers, None)
                    if number is not None:
                        worker.start((number, is_compiled(number, compiled_share)))
            busy = [worker for worker in workers if worker.job is not None]
            if not busy:
                break
            wait([worker.connection for worker in busy], timeout=0.5)
            campaign.seconds = time.monotonic() - began
            for worker in busy:
                number, compiled = worker.job
                verdict = worker.verdict()
                if verdict is not None:
                    new = campaign.add(number, verdict, compiled)
                    report(campaign, number if new else None)
            report(campaign, None)
    except KeyboardInterrupt:
        pass
    finally:
        for worker in workers:
            worker.close()
        campaign.seconds = time.monotonic() - began
    return campaign


def from_generator(start: int, generator: str | None) -> Iterator[int]:
    """The numbers of programs from a first one on, of one generator or all."""
    number = start
    while True:
        if generator is None or generator_of(number) == generator:
            yield number
        number += 1


__all__ = ["ARRAYS", "Campaign", "Found", "check_sample", "from_generator", "run_campaign", "warm_up"]
