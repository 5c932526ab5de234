"""isl's scheduler: schedule trees that respect dependences, under a budget.

isl looks for the least coefficients of iterators and parameters together, and for two parallel loops, one of which has
a small constant number of iterations, may find ``(b, 2 * b + i)`` where ``(b, i)`` would do.  Tiles of such members are
parallelograms in a bounding box that is all but empty: 5 million tiles, not 2 thousand, for 50 thousand products of
matrices of 4 rows.  So members of a band lose what they have of one another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

import islpy as isl

from polytune.frontend.polyhedral.budget import PHASE_BUDGET, is_exhausted, within_budget
from polytune.frontend.scop import Scop
from polytune.records import dataclass
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.analysis.legality import is_proven_legal
from polytune.schedule.clusters import clustered
from polytune.schedule.unions import domain_of, maps_of, number_of_constraints, union_of

MOST_CONSTRAINTS = 3_000
"""The largest scheduling problem that isl is given, by the constraints of all dependences; twice the largest of
PolyBench.  The pivots of a linear program are no operations of isl's count, and each takes time quadratic in this."""

MOST_IN_DEEP_BANDS = 1_600
"""The same where bands are to be as deep as may be, which takes four times as long as parallel loops outermost."""

MOST_WITH_PARAMETERS = 30_000
"""The largest product of the constraints and the parameters of a problem: each has a coefficient in each of them."""

MANY_CONSTRAINTS = 16
"""The number of constraints from which on a part of a dependence is simplified before scheduling."""


@dataclass(frozen=True)
class Strategy:
    """Settings of isl's scheduler (Pluto algorithm; see isl's manual, "Scheduling").

    Attributes:
        outer_coincidence: ask for parallel members outermost, at the cost of permutable bands (no time tiling).
        serialize: one strongly connected component at a time, that is the least fusion.
        fuse: prefer shared bands over parallel ones, that is the most fusion.
    """

    outer_coincidence: bool = False
    serialize: bool = False
    fuse: bool = False


LEAST_FUSED = Strategy(serialize=True)
MOST_FUSED = Strategy(fuse=True)


def legal_schedule(scop: Scop, dependences: Dependences, strategy: Strategy) -> isl.Schedule | None:
    """A schedule that respects all dependences exactly, or None.

    isl treats live ranges by a local criterion that does not hold in every case; where the exact check finds its
    schedule to be wrong, the schedule is computed again with all false dependences forced.  Before either, one is
    looked for in which neighbours that share their iterations in every order are one.

    Args:
        scop: the kernel.
        dependences: what the schedule has to respect.
        strategy: what isl is to prefer.
    """
    if dependences.constraints > 2 * _most(scop, strategy):  # so many that those that may be left out are not enough
        return None
    schedule = _clustered_schedule(scop, dependences, strategy)
    if schedule is not None and is_proven_legal(schedule, dependences):
        return schedule
    for reorder_live_ranges in (True, False):
        schedule = compute_schedule(scop, dependences, strategy, reorder_live_ranges=reorder_live_ranges)
        if schedule is None or is_proven_legal(schedule, dependences):
            return schedule
    return None


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
    """A schedule tree from isl's scheduler, or None if it finds none within the budget.

    Validity is everything that must go forward.  The false dependences of privatisable arrays are *conditional*: they
    bind only in a band in which the flow of an adjacent live range is not local, so that live ranges may be reordered
    but never interleaved.  isl's criterion for that is a local one: the tree has to be checked.

    Args:
        scop: the kernel.
        dependences: what the schedule has to respect.
        strategy: what isl is to prefer.
        reorder_live_ranges: whether false dependences of privatisable arrays are conditional; else all of them bind.
        instances: what is scheduled; None for all statement instances.
        sums: whether updates of relaxed reductions do not bind coincidence.
        near: instances ``{ s -> t }`` that do not depend on one another, and are to be close to one another all the
            same; None for no more than depend on one another.
    """
    domain = domain_of(scop) if instances is None else instances

    def among(relation: isl.UnionMap) -> isl.UnionMap:
        return relation if instances is None else relation.intersect_domain(domain).intersect_range(domain)

    def schedule() -> isl.Schedule | None:
        everything = among(simplified(dependences.everything, scop))
        problem = _Problem(
            domain,
            among(simplified(dependences.forced, scop)) if reorder_live_ranges else everything,
            everything,
            isl.UnionMap.empty(scop.context.get_space()) if sums else among(dependences.reductions),
            (dependences.tagged_flow, dependences.tagged_order) if reorder_live_ranges else None,
            everything if near is None else everything.union(near),
        )
        found = _solved(problem, scop, strategy)
        return None if found is None else unskewed(found)

    return _within_budget(scop, strategy, schedule)


def _clustered_schedule(scop: Scop, dependences: Dependences, strategy: Strategy) -> isl.Schedule | None:
    """A schedule of clusters, see ``polytune.schedule.clusters``, as one of their statements; None where there are
    none, or where isl finds no schedule within the budget."""

    def schedule() -> isl.Schedule | None:
        clusters = clustered(dependences)
        if clusters is None:
            return None
        everything = simplified(clusters.everything, scop)
        problem = _Problem(
            clusters.domain,
            simplified(clusters.forced, scop),
            everything,
            clusters.reductions,
            (clusters.tagged_flow, clusters.tagged_order),
            everything,
        )
        found = _solved(problem, scop, strategy)
        return None if found is None else unskewed(clusters.expanded(found))

    return _within_budget(scop, strategy, schedule)


@dataclass(frozen=True)
class _Problem:
    """A scheduling problem.

    Attributes:
        domain: the instances.
        forced: dependences that go forward in every schedule.
        everything: all dependences.
        updates: pairs of instances that no loop in parallel may separate besides.
        live_ranges: the flow in live ranges that may be reordered, and the order between them; None where all false
            dependences are forced.
        near: pairs of instances that are to be close to one another.
    """

    domain: isl.UnionSet
    forced: isl.UnionMap
    everything: isl.UnionMap
    updates: isl.UnionMap
    live_ranges: tuple[isl.UnionMap, isl.UnionMap] | None
    near: isl.UnionMap


def _solved(problem: _Problem, scop: Scop, strategy: Strategy) -> isl.Schedule | None:
    """The schedule that isl finds for a problem; None where the problem is too large."""
    if number_of_constraints(problem.forced) + number_of_constraints(problem.everything) > _most(scop, strategy):
        return None
    constraints = isl.ScheduleConstraints.on_domain(problem.domain).set_context(scop.context)
    constraints = constraints.set_validity(problem.forced).set_coincidence(problem.forced.union(problem.updates))
    constraints = constraints.set_proximity(problem.near)
    if problem.live_ranges is not None and not problem.live_ranges[1].is_empty():
        constraints = constraints.set_conditional_validity(*problem.live_ranges)
    context = scop.context.get_ctx()
    try:
        return constraints.compute_schedule()
    except isl.Error:
        if is_exhausted(context):
            raise
    # isl's care for loops that it might run into one fails where dependences leave it no other row ("unable to carry
    # dependences"), as in sweeps over two colours on rings.
    with _options(context, {"schedule_treat_coalescing": 0}):
        return constraints.compute_schedule()


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


def _most(scop: Scop, strategy: Strategy) -> int:
    """Return how many constraints a kernel's problem may have under a strategy."""
    most = MOST_CONSTRAINTS if strategy.outer_coincidence or strategy.serialize else MOST_IN_DEEP_BANDS
    if strategy.fuse:  # one linear program of all there is; else there is one for each strongly connected component
        most = MOST_CONSTRAINTS // 2
    return min(most, MOST_WITH_PARAMETERS // max(1, scop.context.dim(isl.dim_type.param)))


def _within_budget(scop: Scop, strategy: Strategy, schedule: Callable[[], isl.Schedule | None]) -> isl.Schedule | None:
    """A schedule that is computed with the settings of a strategy; None where that exceeds the budget."""
    context = scop.context.get_ctx()
    with _settings(context, strategy):
        return within_budget(context, PHASE_BUDGET, schedule)


@contextmanager
def _settings(context: isl.Context, strategy: Strategy) -> Iterator[None]:
    """Set isl's scheduler options for the duration."""
    wanted = {
        "schedule_outer_coincidence": int(strategy.outer_coincidence),
        "schedule_serialize_sccs": int(strategy.serialize),
        "schedule_maximize_coincidence": int(not strategy.fuse),
        "schedule_whole_component": int(strategy.fuse),
        "schedule_maximize_band_depth": 1,
        "schedule_treat_coalescing": 1,
    }
    with _options(context, wanted):
        yield


@contextmanager
def _options(context: isl.Context, wanted: Mapping[str, int]) -> Iterator[None]:
    """Set options of isl for the duration, and put back what was there."""
    before = {name: getattr(context, f"get_{name}")() for name in wanted}
    for name, value in wanted.items():
        getattr(context, f"set_{name}")(value)
    try:
        yield
    finally:
        for name, value in before.items():
            getattr(context, f"set_{name}")(value)


Row = dict[tuple[str, int], int]
"""The coefficients of a member: by statement and dimension of its domain."""


def unskewed(schedule: isl.Schedule) -> isl.Schedule:
    """The schedule with members of its bands subtracted from one another wherever that leaves less of them.

    With members k and m of a band both coincident, no dependence leads from one value of (k, m) to another, and so none
    from one value of ``(k, m - a * k)`` to another, for any integer a.  The members before and after change places with
    a combination of them that has an inverse, so that all points stay apart from one another, and permutable bands
    permutable.
    """
    return _visited(schedule.get_root()).get_schedule()


def _visited(node: isl.ScheduleNode) -> isl.ScheduleNode:
    """A node with the bands in it and below unskewed."""
    if node.get_type() == isl.schedule_node_type.band:
        node = _unskewed_band(node)
    for position in range(node.n_children()):
        node = _visited(node.child(position)).parent()
    return node


def _unskewed_band(node: isl.ScheduleNode) -> isl.ScheduleNode:
    count = node.band_n_member()
    coincident = [bool(node.band_member_get_coincident(member)) for member in range(count)]
    partial = node.band_get_partial_schedule()
    members = [partial.get_union_pw_aff(member) for member in range(count)]
    free = [member for member in range(count) if coincident[member]]
    rows = {member: _row(members[member]) for member in free}
    changed = False
    while True:
        better = _better(rows)
        if better is None:
            break
        changed = True
        member, other, factor = better
        scaled = members[other].scale_val(isl.Val(factor, node.get_ctx()))
        members[member] = members[member].sub(scaled)
        rows[member] = _row(members[member])
    if not changed:
        return node
    together = isl.UnionPwAffList.alloc(node.get_ctx(), count)
    for function in members:
        together = together.add(function)
    permutable = int(node.band_get_permutable())
    node = node.delete().insert_partial_schedule(
        isl.MultiUnionPwAff.from_union_pw_aff_list(partial.get_space(), together)
    )
    node = node.band_set_permutable(permutable)
    for member, is_free in enumerate(coincident):
        node = node.band_member_set_coincident(member, int(is_free))
    return node


def _better(rows: dict[int, Row | None]) -> tuple[int, int, int] | None:
    """A member, another one, and how often to subtract that from it so that less is left of it; None where there is
    nothing to gain."""
    for member, row in rows.items():
        for other, subtracted in rows.items():
            if member == other or row is None or not subtracted:
                continue
            factors = {row.get(place, 0) // own for place, own in subtracted.items()} - {0}
            for factor in sorted(factors, key=abs):
                if _size(_less(row, subtracted, factor)) < _size(row.values()):
                    return member, other, factor
    return None


def _less(row: Row, subtracted: Row, factor: int) -> list[int]:
    return [row.get(place, 0) - factor * subtracted.get(place, 0) for place in row.keys() | subtracted.keys()]


def _size(coefficients: Iterable[int]) -> int:
    return sum(map(abs, coefficients))


def _row(function: isl.UnionPwAff) -> Row | None:
    """The coefficients of the iterators of each statement; None where they differ within one, or are no integers."""
    row: Row = {}
    functions = function.get_pw_aff_list()
    for number in range(functions.n_pw_aff()):
        own = functions.get_at(number)
        if own.n_piece() != 1:
            return None
        affine = own.as_aff()
        if not affine.get_denominator_val().is_one() or affine.dim(isl.dim_type.div):
            return None
        name = affine.get_domain_space().get_tuple_name(isl.dim_type.set)
        for dimension in range(affine.dim(isl.dim_type.in_)):
            value = int(affine.get_coefficient_val(isl.dim_type.in_, dimension).to_python())
            if value:
                row[name, dimension] = value
    return row
