"""Which loops of the source are parallel, and what keeps the others from being so."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polytune.frontend.scop import Loop
from polytune.schedule.bands import Obstacle, analyse_band
from polytune.schedule.dependences import Dependences


@dataclass(frozen=True)
class LoopReport:
    """A loop of the source: whether its iterations are independent, which arrays need a copy per worker for that,
    and if not, the dependences between iterations."""

    loop: Loop
    parallel: bool
    private: tuple[str, ...]
    obstacles: tuple[Obstacle, ...]


def report_loops(dependences: Dependences) -> tuple[LoopReport, ...]:
    """A report for every loop, in source order; the source's schedule tree has one band per loop, in the same order."""
    scop = dependences.scop
    bands: list[isl.ScheduleNode] = []

    def visit(node: isl.ScheduleNode) -> bool:
        if node.get_type() == isl.schedule_node_type.band:
            bands.append(node.copy())
        return True

    scop.schedule.foreach_schedule_node_top_down(visit)
    reports = []
    for loop, node in zip(scop.loops, bands, strict=True):
        analysis = analyse_band(node, dependences)
        private = tuple(sorted(analysis.contained)) if analysis.coincident[0] else ()
        reports.append(LoopReport(loop, analysis.coincident[0], private, analysis.obstacles[0]))
    return tuple(reports)
