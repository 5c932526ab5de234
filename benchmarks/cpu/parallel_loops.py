"""The loops of a kernel that a careful Numba user would run with ``prange``."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from polytune.frontend.scop import ArrayRole
from polytune.pipeline import Stages
from polytune.schedule.analysis.loop_report import LoopReport, report_loops


@dataclass(frozen=True)
class SourceLoop:
    """A loop of the kernel's source.

    Attributes:
        variable: its loop variable.
        line: the line of the file on which it begins.
        parallel: whether ``prange`` may stand in the place of its ``range``.
        inner: the loops directly in it, in source order.
    """

    variable: str
    line: int
    parallel: bool
    inner: tuple[SourceLoop, ...] = ()

    def __str__(self) -> str:
        return f"{self.variable} (line {self.line})"


@dataclass(frozen=True)
class Choice:
    """The loops that get ``prange``, and for every loop that was tried in vain a sentence that says why."""

    loops: tuple[SourceLoop, ...]
    refused: tuple[str, ...] = ()


Problem = Callable[[frozenset[int]], str | None]
"""A function from the lines of the loops with ``prange`` to what is wrong with the program that results, or None."""


def source_loops(stages: Stages) -> tuple[SourceLoop, ...]:
    """The outermost loops of a kernel, with all that is in them.

    A loop is parallel if no dependence leads from one of its iterations to another.  Numba gives each iteration scalars
    of its own but not arrays, so the false dependences of local arrays count like any other.  A reduction is a
    dependence.  Loops of other functions that the kernel calls keep their ``range``.
    """
    dependences = stages.dependences
    scalars = {array.name for array in stages.scop.arrays if array.role is ArrayRole.SCALAR}
    reports = report_loops(replace(dependences, privatisable=dependences.privatisable & scalars))
    return _nested(reports, _own_lines(stages))


def choose_loops(loops: Sequence[SourceLoop], problem: Problem) -> Choice:
    """The outermost parallel loops; where Numba fails on one, the outermost parallel ones inside of it.

    The loops are tried all together first, and only if that fails one after another to find the one at fault.

    Args:
        loops: the outermost loops of the kernel.
        problem: tries a choice of loops.
    """
    wanted = outermost_parallel(loops)
    if problem(_lines(wanted)) is None:
        return Choice(wanted)
    accepted: list[SourceLoop] = []
    refused: list[str] = []
    waiting = deque(wanted)
    while waiting:
        loop = waiting.popleft()
        reason = problem(_lines([*accepted, loop]))
        if reason is None:
            accepted.append(loop)
        else:
            refused.append(f"no prange on loop {loop}: {reason}")
            waiting.extendleft(reversed(outermost_parallel(loop.inner)))
    return Choice(tuple(accepted), tuple(refused))


def outermost_parallel(loops: Iterable[SourceLoop]) -> tuple[SourceLoop, ...]:
    """The parallel loops that are in no other parallel loop, in source order."""
    found: list[SourceLoop] = []
    for loop in loops:
        found += [loop] if loop.parallel else outermost_parallel(loop.inner)
    return tuple(found)


def _lines(loops: Iterable[SourceLoop]) -> frozenset[int]:
    return frozenset(loop.line for loop in loops)


def _own_lines(stages: Stages) -> tuple[str, range]:
    """The file and the lines of the kernel's own source."""
    location = stages.scop.location
    return location.file, range(location.line, location.line + len(stages.scop.source.splitlines()))


def _nested(reports: Sequence[LoopReport], own: tuple[str, range]) -> tuple[SourceLoop, ...]:
    """Loops in source order, each with its depth, as a forest."""
    file, lines = own
    found: list[SourceLoop] = []
    position = 0
    while position < len(reports):
        report = reports[position]
        end = position + 1
        while end < len(reports) and reports[end].loop.depth > report.loop.depth:
            end += 1
        place = report.loop.location
        parallel = report.parallel and place.file == file and place.line in lines
        inner = _nested(reports[position + 1 : end], own)
        found.append(SourceLoop(report.loop.variable, place.line, parallel, inner))
        position = end
    return tuple(found)
