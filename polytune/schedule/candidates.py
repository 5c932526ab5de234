"""Candidate schedules: the few legal orders of a kernel that are worth generating code from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import islpy as isl

from polytune.frontend.scop import Scop
from polytune.schedule.budget import within_budget
from polytune.schedule.candidate import Candidate
from polytune.schedule.dependences import Dependences, compute_dependences, domain_of, union_of
from polytune.schedule.legality import violation

OPERATIONS = 20_000_000
"""isl's budget for one schedule, in its own basic operations (seconds, not minutes)."""


MANY_CONSTRAINTS = 16
"""From how many constraints on a part of a dependence is simplified before scheduling."""


@dataclass(frozen=True)
class Strategy:
    """Settings of isl's scheduler (Pluto algorithm; see isl's manual, "Scheduling").

    Attributes:
        outer_coincidence: ask for parallel members outermost, at the cost of permutable bands (no time tiling).
        serialize: one strongly connected component at a time, that is the least fusion.
        fuse: prefer shared bands over parallel ones, that is the most fusion.
    """

    name: str
    outer_coincidence: bool = False
    serialize: bool = False
    fuse: bool = False


STRATEGIES = (
    Strategy("tiled"),
    Strategy("coincident", outer_coincidence=True),
    Strategy("distributed", serialize=True),
    Strategy("fused", fuse=True),
)
REASSOCIATED = Strategy("reassociated")


def candidate_schedules(scop: Scop, dependences: Dependences) -> tuple[Candidate, ...]:
    """The source order and what isl's scheduler makes of the dependences under each strategy, duplicates left out.

    A strategy for which isl finds no legal schedule within its budget yields no candidate: the source order is
    always there. Strategies that differ only in fusion are left out where there is nothing to fuse.
    Unless sums have to keep their order, one more schedule is computed without the dependences among the updates of a
    reduction.
    """
    found = [Candidate("source", scop.schedule, dependences)]
    connected = is_strongly_connected(dependences)
    for strategy in STRATEGIES:
        if connected and (strategy.serialize or strategy.fuse):
            continue
        schedule = legal_schedule(scop, dependences, strategy)
        if schedule is None:
            continue
        if not any(schedule.plain_is_equal(other.schedule) for other in found[1:]):
            found.append(Candidate(strategy.name, schedule, dependences))
    if not scop.strict and not dependences.reductions.is_empty():
        relaxed = compute_dependences(scop, relax_reductions=True)
        schedule = legal_schedule(scop, relaxed, REASSOCIATED)
        if schedule is not None and not any(schedule.plain_is_equal(other.schedule) for other in found[1:]):
            found.append(Candidate(REASSOCIATED.name, schedule, relaxed))
    return tuple(found)


def legal_schedule(scop: Scop, dependences: Dependences, strategy: Strategy) -> isl.Schedule | None:
    """A schedule that respects all dependences exactly, or None.

    isl treats live ranges by a local criterion that does not hold in every case; where the exact check finds its
    schedule to be wrong, the schedule is computed again with all false dependences forced.
    """
    schedule = compute_schedule(scop, dependences, strategy)
    if schedule is not None and violation(schedule, dependences) is not None:
        schedule = compute_schedule(scop, dependences, strategy, reorder_live_ranges=False)
        if schedule is not None and violation(schedule, dependences) is not None:
            return None
    return schedule


def is_strongly_connected(dependences: Dependences) -> bool:
    """Whether every statement depends on every other, directly or not, so that all of them have to share a loop."""
    follows: dict[str, set[str]] = {statement.name: set() for statement in dependences.scop.statements}

    def add(relation: isl.Map) -> None:
        follows[relation.get_tuple_name(isl.dim_type.in_)].add(relation.get_tuple_name(isl.dim_type.out))

    dependences.everything.foreach_map(add)
    for start in follows:
        reached, frontier = set(), {start}
        while frontier:
            reached |= frontier
            frontier = set().union(*(follows[name] for name in frontier)) - reached
        if len(reached) < len(follows):
            return False
    return True


def compute_schedule(
    scop: Scop, dependences: Dependences, strategy: Strategy, *, reorder_live_ranges: bool = True
) -> isl.Schedule | None:
    """A schedule tree from isl's scheduler, or None if it finds none within the budget.

    Validity is everything that must go forward.  The false dependences of privatisable arrays are *conditional*: they
    bind only in a band in which the flow of an adjacent live range is not local, so that live ranges may be
    reordered but never interleaved.
    """
    forced = simplified(dependences.forced if reorder_live_ranges else dependences.everything, scop)
    constraints = isl.ScheduleConstraints.on_domain(domain_of(scop)).set_context(scop.context)
    constraints = constraints.set_validity(forced).set_coincidence(forced.union(dependences.reductions))
    constraints = constraints.set_proximity(simplified(dependences.everything, scop))
    if reorder_live_ranges and not dependences.tagged_order.is_empty():
        constraints = constraints.set_conditional_validity(dependences.tagged_flow, dependences.tagged_order)
    context = scop.context.get_ctx()
    with _settings(context, strategy):
        try:
            return within_budget(context, OPERATIONS, constraints.compute_schedule)
        except isl.Error:
            # isl gives up on some dependences ("unable to carry dependences"): then this strategy has no schedule.
            return None


def simplified(relation: isl.UnionMap, scop: Scop) -> isl.UnionMap:
    """The relation, less what the domains say, in those of its parts that have many constraints.

    The scheduler solves linear programs with a multiplier per constraint: the 20 constraints of a dependence of a
    three-dimensional stencil cost it seconds.  What is left out is implied for every pair of statement instances,
    but the scheduler no longer sees it, and so may find less; hence only where it must be.
    """
    domain = domain_of(scop)
    parts: list[isl.UnionMap] = []

    def add(part: isl.Map) -> None:
        single = isl.UnionMap.from_map(part)
        crowded = any(len(piece.get_constraints()) > MANY_CONSTRAINTS for piece in part.get_basic_maps())
        parts.append(single.gist_domain(domain).gist_range(domain) if crowded else single)

    relation.foreach_map(add)
    return union_of(parts, scop)


@contextmanager
def _settings(context: isl.Context, strategy: Strategy) -> Iterator[None]:
    """Set isl's scheduler options for the duration, and put back what was there."""
    wanted = {
        "schedule_outer_coincidence": int(strategy.outer_coincidence),
        "schedule_serialize_sccs": int(strategy.serialize),
        "schedule_maximize_coincidence": int(not strategy.fuse),
        "schedule_whole_component": int(strategy.fuse),
        "schedule_maximize_band_depth": 1,
        "schedule_treat_coalescing": 1,
    }
    before = {name: getattr(context, f"get_{name}")() for name in wanted}
    for name, value in wanted.items():
        getattr(context, f"set_{name}")(value)
    try:
        yield
    finally:
        for name, value in before.items():
            getattr(context, f"set_{name}")(value)
