"""Timing contenders side by side, in turns, so that a drift of the machine meets all alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from polybench.benchmark import Arguments, copy_arguments

Clock = Callable[[], float]
"""Seconds from some fixed moment."""


@dataclass(frozen=True)
class Sample:
    """Repeated measurements of one quantity, in the order in which they were made; at least one."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return float(np.median(self.values))

    @property
    def quartiles(self) -> tuple[float, float]:
        """The first and the third quartile: half of the measurements lie between them."""
        first, third = np.quantile(self.values, (0.25, 0.75))
        return float(first), float(third)

    def to_json(self) -> dict[str, Any]:
        """The median, the quartiles and every measurement."""
        return {"median": self.median, "quartiles": list(self.quartiles), "values": list(self.values)}


class Workload:
    """Arguments that are put back before each call, so that updates in place neither grow nor vanish from call to call.

    Attributes:
        initial: the arguments as they are before each call; never passed to a function.
    """

    def __init__(self, initial: Arguments, clock: Clock = time.perf_counter):
        self.initial = initial
        self._working = copy_arguments(initial)
        self._clock = clock

    def timed(self, function: Callable[..., Any]) -> float:
        """The seconds of one call of ``function(*arguments)``; putting the arrays back is not counted."""
        for value, start in zip(self._working, self.initial, strict=True):
            if isinstance(value, np.ndarray):
                np.copyto(value, start)
        begin = self._clock()
        function(*self._working)
        return self._clock() - begin

    def result(self, function: Callable[..., Any]) -> Arguments:
        """The arguments as one call leaves them."""
        self.timed(function)
        return copy_arguments(self._working)


def in_turns(
    functions: Mapping[str, Callable[..., Any]],
    workload: Workload,
    turns: int | Mapping[str, int],
    report: Callable[[int], None] = lambda _: None,
    before: Callable[[str], None] = lambda _: None,
) -> dict[str, Sample]:
    """Time every function once, then every function again, and so on.

    Args:
        functions: what to call, by name; each should have been called before, so that nothing is compiled now.
        workload: the arguments.
        turns: how often each is called, at least once; the same for all, or by name.
        report: called before each turn with its number, from 1.
        before: called before each call that is timed, with the name.
    """
    wanted = {name: turns if isinstance(turns, int) else turns[name] for name in functions}
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for turn in range(1, max(wanted.values(), default=0) + 1):
        report(turn)
        for name, function in functions.items():
            if turn <= wanted[name]:
                before(name)
                seconds[name].append(workload.timed(function))
    return {name: Sample(tuple(values)) for name, values in seconds.items()}
