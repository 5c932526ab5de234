"""Neighbouring sweeps over an array in one: between the least and the most fusion."""

from __future__ import annotations

import islpy as isl

from polytune.frontend.polyhedral.budget import PHASE_BUDGET, within_budget
from polytune.schedule.analysis.legality import is_proven_legal
from polytune.schedule.candidate import Attempted, Candidate, Known, Order
from polytune.schedule.grouping import group_sweeps, is_parallel, number_of_parts
from polytune.schedule.orders.scheduled import FUSED
from polytune.schedule.scheduler import MOST_FUSED, compute_schedule


def grouped_schedule(known: Known) -> isl.Schedule | None:
    """The least fused schedule found so far with neighbouring sweeps fused; None where that changes nothing, or is not
    proven legal within isl's budget."""
    scop, dependences = known.scop, known.dependences
    least = max(known.found[1:], key=lambda each: number_of_parts(each.schedule), default=None)
    if least is None:
        return None

    most = next((each.schedule for each in known.found if each.order == FUSED), None)

    def fuse(instances: isl.UnionSet) -> isl.Schedule | None:
        # What isl has not made parallel although it might reorder live ranges is not parallel where it may not.
        if most is not None and instances.is_equal(most.get_domain()) and not is_parallel(most, dependences):
            return None
        return compute_schedule(scop, dependences, MOST_FUSED, reorder_live_ranges=False, instances=instances)

    schedule = group_sweeps(least.schedule, dependences, fuse)
    return schedule if schedule is not None and is_proven_legal(schedule, dependences) else None


def _find(known: Known) -> Attempted[Candidate]:
    made = within_budget(known.scop.context.get_ctx(), PHASE_BUDGET, lambda: (grouped_schedule(known),))
    if made is None:
        return Attempted((), (GROUPED.name,))
    (schedule,) = made
    return Attempted(() if schedule is None else (Candidate(GROUPED, schedule, known.dependences),), ())


GROUPED = Order(
    name="grouped",
    meaning="neighbouring sweeps over an array in one",
    is_seen=True,
    find=_find,
    is_second=True,
    for_devices=4,
)
