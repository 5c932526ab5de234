"""Sweeps over rows that workers share out by adding up in copies of their own."""

from __future__ import annotations

import islpy as isl

from polytune.frontend.polyhedral.budget import PHASE_BUDGET, within_budget
from polytune.schedule.candidate import REASSOCIATION, Attempted, Candidate, Known, Order, PlanOptions
from polytune.schedule.grouping import is_parallel, parts_of, swept
from polytune.schedule.orders.further import is_too_large
from polytune.schedule.orders.scheduled import REDUCTIONS
from polytune.schedule.scheduler import LEAST_FUSED, MOST_FUSED, compute_schedule
from polytune.schedule.tiles.row_sweeps import may_sweep_rows
from polytune.schedule.tiles.sweep_fusion import kept_together, row_schedule


def summed_schedule(known: Known) -> isl.Schedule | None:
    """The source order with sweeps over rows that workers may share out if they add up in copies of their own, and the
    rest with as little fusion as possible; None where there are no such sweeps, as where all outermost loops of the
    source have independent iterations, and no two of them sweep over one matrix."""
    scop = known.scop
    if not may_sweep_rows(scop):
        return None
    parts = parts_of(scop.schedule)
    matrices = [swept(part.get_domain(), scop) for part in parts]
    if not any(map(set.intersection, matrices, matrices[1:])) and all(
        is_parallel(part, known.dependences) for part in parts
    ):
        return None
    relaxed = known.relaxed

    def fuse(instances: isl.UnionSet) -> isl.Schedule | None:
        return compute_schedule(
            scop,
            relaxed,
            MOST_FUSED,
            reorder_live_ranges=False,
            instances=instances,
            sums=True,
            near=kept_together(instances, scop),
        )

    def divide(instances: isl.UnionSet) -> isl.Schedule | None:
        return compute_schedule(scop, relaxed, LEAST_FUSED, reorder_live_ranges=False, instances=instances)

    return row_schedule(scop, relaxed, fuse, divide)


def _find(known: Known) -> Attempted[Candidate]:
    if is_too_large(known):
        return Attempted((), (SUMMED.name,))
    made = within_budget(known.scop.context.get_ctx(), PHASE_BUDGET, lambda: (summed_schedule(known),))
    if made is None:
        return Attempted((), (SUMMED.name,))
    (schedule,) = made
    return Attempted(() if schedule is None else (Candidate(SUMMED, schedule, known.relaxed),), ())


SUMMED = Order(
    name="summed",
    meaning="rows shared out to workers that add up in copies of their own",
    is_seen=True,
    find=_find,
    needs=(REASSOCIATION, REDUCTIONS),
    options=PlanOptions(accumulate=True, sums=True),
    promise=2,
    may_repeat=True,
)
