"""The loops of the source that are parallel, and what keeps the others from being so."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import islpy as isl

from polytune.frontend.polyhedral.budget import PHASE_BUDGET, within_budget
from polytune.frontend.scop import ReportedLoop, Scop
from polytune.records import dataclass
from polytune.schedule.analysis.bands import BandObstacle, analyse_band
from polytune.schedule.analysis.dependences import Dependences


@dataclass(frozen=True)
class LoopReport:
    """A loop of the source: whether its iterations are independent (None: isl takes too long to tell), which arrays
    need a copy per worker for that, and if not, the dependences between iterations."""

    loop: ReportedLoop
    parallel: bool | None
    private: tuple[str, ...]
    obstacles: tuple[BandObstacle, ...]


def report_loops(dependences: Dependences) -> tuple[LoopReport, ...]:
    """A report for every loop, in source order; the source's schedule tree has one band per loop, in the same order."""
    scop = dependences.scop
    reports = []
    for loop, node in zip(scop.loops, _bands(scop.schedule.get_root()), strict=True):
        report = within_budget(node.get_ctx(), PHASE_BUDGET, partial(_report, loop, node, dependences))
        reports.append(report or LoopReport(loop, None, (), ()))
    return tuple(reports)


def _report(loop: ReportedLoop, node: isl.ScheduleNode, dependences: Dependences) -> LoopReport:
    analysis = analyse_band(node, dependences)
    private = tuple(sorted(analysis.contained)) if analysis.coincident[0] else ()
    return LoopReport(loop, analysis.coincident[0], private, analysis.obstacles[0])


def _bands(node: isl.ScheduleNode) -> Iterator[isl.ScheduleNode]:
    """The bands of a subtree, outer ones first."""
    if node.get_type() == isl.schedule_node_type.band:
        yield node
    for position in range(node.n_children()):
        yield from _bands(node.child(position))


def obstacle_text(obstacle: BandObstacle, scop: Scop) -> str:
    """A dependence between iterations as a sentence with source lines."""
    source, sink = scop.statement(obstacle.source), scop.statement(obstacle.sink)
    if any(end.flag == obstacle.array for end in scop.early_ends):
        return f"line {source.location.line} may end the loop"
    if obstacle.kind == "order":
        return (
            f"line {sink.location.line} overwrites {obstacle.array} that line {source.location.line} "
            f"uses in an earlier iteration"
        )
    if obstacle.kind == "reduction" and source.reduction is not None:
        return f"line {source.location.line} accumulates into {obstacle.array} ({source.reduction.operator})"
    return (
        f"line {sink.location.line} reads {obstacle.array} that line {source.location.line} "
        f"computes in an earlier iteration"
    )
