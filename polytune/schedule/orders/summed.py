"""Sweeps over rows that workers share out by adding up in copies of their own."""

from __future__ import annotations

import islpy as isl

from polytune.frontend.budget import within_budget
from polytune.schedule.candidate import REASSOCIATION, Attempted, Candidate, Known, Order, PlanOptions
from polytune.schedule.orders.scheduled import REDUCTIONS
from polytune.schedule.scheduler import LEAST_FUSED, MOST_FUSED, compute_schedule
from polytune.schedule.tiles.row_sweeps import common_reads, row_schedule

OPERATIONS = 4_000_000
"""isl's budget for the whole order, in its own basic operations (about a second)."""


def summed_schedule(known: Known) -> isl.Schedule | None:
    """The source order with sweeps over rows that workers may share out if they add up in copies of their own, and the
    rest with as little fusion as possible; None where there are no such sweeps."""
    scop, relaxed = known.scop, known.relaxed

    def fuse(instances: isl.UnionSet) -> isl.Schedule | None:
        return compute_schedule(
            scop,
            relaxed,
            MOST_FUSED,
            reorder_live_ranges=False,
            instances=instances,
            sums=True,
            near=common_reads(instances, scop),
        )

    def divide(instances: isl.UnionSet) -> isl.Schedule | None:
        return compute_schedule(scop, relaxed, LEAST_FUSED, reorder_live_ranges=False, instances=instances)

    return row_schedule(scop, relaxed, fuse, divide)


def _find(known: Known) -> Attempted[Candidate]:
    relaxed = known.relaxed
    made = within_budget(known.scop.context.get_ctx(), OPERATIONS, lambda: (summed_schedule(known),))
    if made is None:
        return Attempted((), (SUMMED.name,))
    (schedule,) = made
    return Attempted(() if schedule is None else (Candidate(SUMMED, schedule, relaxed),), ())


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
