"""Candidate schedules: the few legal orders of a kernel that are worth generating code from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import islpy as isl

from polytune.frontend.budget import within_budget
from polytune.frontend.scop import Scop
from polytune.schedule.analysis.dependences import Dependences, compute_dependences
from polytune.schedule.analysis.legality import is_proven_legal
from polytune.schedule.attempted import Attempted
from polytune.schedule.candidate import Candidate
from polytune.schedule.grouping import group_sweeps, number_of_parts
from polytune.schedule.rewrites.splitting import SPLIT, split_source
from polytune.schedule.rewrites.step_blocks import BLOCKED, block_steps
from polytune.schedule.rewrites.transposition import TRANSPOSED, transpose_arrays
from polytune.schedule.tiles.row_sweeps import common_reads, row_schedule
from polytune.schedule.unions import domain_of, maps_of, union_of
from polytune.schedule.unskewing import unskewed

OPERATIONS = 4_000_000
"""isl's budget for one schedule, in its own basic operations: a few seconds, and three times what any kernel of
PolyBench takes."""

MOST_CONSTRAINTS = 3_000
"""The largest scheduling problem that isl is given, by the constraints of all dependences; twice the largest of
PolyBench.  The pivots of a linear program are no operations of isl's count, and each takes time quadratic in this."""

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


LEAST_FUSED = Strategy("distributed", serialize=True)
STRATEGIES = (
    Strategy("tiled"),
    Strategy("coincident", outer_coincidence=True),
    LEAST_FUSED,
    Strategy("fused", fuse=True),
)
REASSOCIATED = Strategy("reassociated")
GROUPED = Strategy("grouped", fuse=True)
SUMMED = "summed"
"""The name of the candidate whose workers add up in copies of their own."""


def candidate_schedules(scop: Scop, dependences: Dependences) -> Attempted[Candidate]:
    """The source order and what isl's scheduler makes of the dependences under each strategy, duplicates left out.

    A strategy for which isl finds no legal schedule within its budget is given up: the source order is always there,
    and always the first.  Strategies that differ only in fusion are left out where there is nothing to fuse.
    Unless sums have to keep their order, one more schedule is computed without the dependences among the updates of a
    reduction, and one in which workers add up in copies of their own.  Where neighbouring sweeps over an array can be
    one, that is the next one after the source order.
    Where the first of all these walks arrays against their layout, it is there once more with transposed copies of
    them.  Where loops become parallel if they are cut into pieces, the last ones are the source order with loops cut,
    and such a kernel in blocks of steps.
    """
    context = scop.context.get_ctx()
    found = [Candidate("source", scop.schedule, dependences)]
    given_up: list[str] = []

    def attempt(strategy: Strategy, dependences: Dependences) -> None:
        schedule = legal_schedule(scop, dependences, strategy)
        if schedule is None:
            given_up.append(strategy.name)
        elif not any(schedule.plain_is_equal(other.schedule) for other in found[1:]):
            found.append(Candidate(strategy.name, schedule, dependences))

    def attempted(name: str, work: Callable[[], Attempted[Candidate]]) -> Attempted[Candidate]:
        made = within_budget(context, OPERATIONS, work)
        return Attempted((), (name,)) if made is None else made

    nothing: Attempted[Candidate] = Attempted((), ())
    connected = is_strongly_connected(dependences)
    for strategy in STRATEGIES:
        if not (connected and (strategy.serialize or strategy.fuse)):
            attempt(strategy, dependences)
    (grouped,) = within_budget(context, OPERATIONS, lambda: (grouped_schedule(scop, dependences, found),)) or (None,)
    if grouped is not None:
        others = [each for each in found[1:] if not each.schedule.plain_is_equal(grouped)]
        found[1:] = [Candidate(GROUPED.name, grouped, dependences), *others]
    if not scop.strict and has_reductions(dependences):
        relaxed = compute_dependences(scop, relax_reductions=True)
        attempt(REASSOCIATED, relaxed)
        summed = attempted(SUMMED, lambda: summed_schedule(scop, relaxed))
    else:
        summed = nothing
    transposed = attempted(TRANSPOSED, lambda: transpose_arrays(found[1])) if found[1:] else nothing
    split = attempted(SPLIT, lambda: split_source(found[0]))
    blocked = attempted(BLOCKED, lambda: block_steps(found[0])) if split.made else nothing
    further = summed, transposed, split, blocked
    return Attempted(
        (*found, *(candidate for other in further for candidate in other.made)),
        (*given_up, *(name for other in further for name in other.given_up)),
    )


def legal_schedule(scop: Scop, dependences: Dependences, strategy: Strategy) -> isl.Schedule | None:
    """A schedule that respects all dependences exactly, or None.

    isl treats live ranges by a local criterion that does not hold in every case; where the exact check finds its
    schedule to be wrong, the schedule is computed again with all false dependences forced.
    """
    for reorder_live_ranges in (True, False):
        schedule = compute_schedule(scop, dependences, strategy, reorder_live_ranges=reorder_live_ranges)
        if schedule is None or is_proven_legal(schedule, dependences):
            return schedule
    return None


def grouped_schedule(scop: Scop, dependences: Dependences, found: Sequence[Candidate]) -> isl.Schedule | None:
    """The least fused of some schedules with neighbouring sweeps fused; None where that changes nothing, or is not
    proven legal within isl's budget."""
    least = max(found[1:], key=lambda each: number_of_parts(each.schedule), default=None)
    if least is None:
        return None

    def fuse(instances: isl.UnionSet) -> isl.Schedule | None:
        return compute_schedule(scop, dependences, GROUPED, reorder_live_ranges=False, instances=instances)

    schedule = group_sweeps(least.schedule, dependences, fuse)
    return schedule if schedule is not None and is_proven_legal(schedule, dependences) else None


def summed_schedule(scop: Scop, relaxed: Dependences) -> Attempted[Candidate]:
    """The source order with sweeps over rows that workers may share out if they add up in copies of their own, and the
    rest with as little fusion as possible; nothing where there are no such sweeps."""

    def fuse(instances: isl.UnionSet) -> isl.Schedule | None:
        return compute_schedule(
            scop,
            relaxed,
            GROUPED,
            reorder_live_ranges=False,
            instances=instances,
            sums=True,
            near=common_reads(instances, scop),
        )

    def divide(instances: isl.UnionSet) -> isl.Schedule | None:
        return compute_schedule(scop, relaxed, LEAST_FUSED, reorder_live_ranges=False, instances=instances)

    found = row_schedule(scop, relaxed, fuse, divide)
    return Attempted((), ()) if found is None else Attempted((Candidate(SUMMED, found, relaxed),), ())


def has_reductions(dependences: Dependences) -> bool:
    """Whether updates of a reduction depend on one another; so too where isl does not know within its budget."""
    context = dependences.scop.context.get_ctx()
    return not within_budget(context, OPERATIONS, dependences.reductions.is_empty)


def is_strongly_connected(dependences: Dependences) -> bool:
    """Whether every statement depends on every other, directly or not, so that all of them have to share a loop."""
    follows: dict[str, set[str]] = {statement.name: set() for statement in dependences.scop.statements}

    for relation in (*dependences.flow.values(), *dependences.order.values()):
        for part in maps_of(relation):
            follows[part.get_tuple_name(isl.dim_type.in_)].add(part.get_tuple_name(isl.dim_type.out))
    for start in follows:
        reached, frontier = set(), {start}
        while frontier:
            reached |= frontier
            frontier = set().union(*(follows[name] for name in frontier)) - reached
        if len(reached) < len(follows):
            return False
    return True


def compute_schedule(
    scop: Scop,
    dependences: Dependences,
    strategy: Strategy,
    *,
    reorder_live_ranges: bool = True,
    instances: isl.UnionSet | None = None,
    sums: bool = False,
    near: isl.UnionMap | None = None,
) -> isl.Schedule | None:
    """A schedule tree from isl's scheduler, of all statement instances or of some, or None if it finds none within the
    budget.  With ``sums`` the updates of relaxed reductions do not bind coincidence; ``near`` relates instances that do
    not depend on one another, and are to be close to one another all the same.

    Validity is everything that must go forward.  The false dependences of privatisable arrays are *conditional*: they
    bind only in a band in which the flow of an adjacent live range is not local, so that live ranges may be
    reordered but never interleaved.
    """

    domain = domain_of(scop) if instances is None else instances

    def among(relation: isl.UnionMap) -> isl.UnionMap:
        return relation if instances is None else relation.intersect_domain(domain).intersect_range(domain)

    def schedule() -> isl.Schedule | None:
        forced = among(simplified(dependences.forced if reorder_live_ranges else dependences.everything, scop))
        everything = among(simplified(dependences.everything, scop))
        # Whatever is fused is one linear program; else there is one for each strongly connected component.
        most = MOST_CONSTRAINTS // 2 if strategy.fuse else MOST_CONSTRAINTS
        if _number_of_constraints(forced) + _number_of_constraints(everything) > most:
            return None
        constraints = isl.ScheduleConstraints.on_domain(domain).set_context(scop.context)
        updates = isl.UnionMap.empty(scop.context.get_space()) if sums else among(dependences.reductions)
        constraints = constraints.set_validity(forced).set_coincidence(forced.union(updates))
        constraints = constraints.set_proximity(everything if near is None else everything.union(near))
        if reorder_live_ranges and not dependences.tagged_order.is_empty():
            constraints = constraints.set_conditional_validity(dependences.tagged_flow, dependences.tagged_order)
        return unskewed(constraints.compute_schedule())

    context = scop.context.get_ctx()
    with _settings(context, strategy):
        return within_budget(context, OPERATIONS, schedule)


def simplified(relation: isl.UnionMap, scop: Scop) -> isl.UnionMap:
    """The relation, less what the domains say, in those of its parts that have many constraints.

    The scheduler solves linear programs with a multiplier per constraint: the 20 constraints of a dependence of a
    three-dimensional stencil cost it seconds.  What is left out is implied for every pair of statement instances,
    but the scheduler no longer sees it, and so may find less; hence only where it must be.
    """
    domain = domain_of(scop)
    parts: list[isl.UnionMap] = []
    for part in maps_of(relation):
        single = isl.UnionMap.from_map(part)
        crowded = any(len(piece.get_constraints()) > MANY_CONSTRAINTS for piece in part.get_basic_maps())
        parts.append(single.gist_domain(domain).gist_range(domain) if crowded else single)
    return union_of(parts, scop)


def _number_of_constraints(relation: isl.UnionMap) -> int:
    return sum(piece.n_constraint() for part in maps_of(relation) for piece in part.get_basic_maps())


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
