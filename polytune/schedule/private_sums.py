"""Sums that each worker adds up in a copy of its own.

In ``for i: for j: y[j] = y[j] + A[i, j] * x[i]`` every iteration of i updates all of y, so that no two of them may run
at once.  But a worker may add what its iterations have to add to a copy of y that begins with zeros, and the copies may
be added to y when all workers are done.  The same is so of a least or greatest element, ``y = max(y, e)``, with copies
that begin with what is greater, or less, than all else: such an update is a *sum* here too.
"""

from __future__ import annotations

import islpy as isl

from polytune.frontend.scop import AccessKind, Scop, Statement
from polytune.schedule.analysis.bands import BandAnalysis, analyse_band, distances, open_dependences, stays
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.tree import statements_of
from polytune.schedule.unions import joined, maps_of

SUMS = ("+", "min", "max", "minimum", "maximum")
"""The operators of updates that workers may collect in copies."""

MOST_DIMENSIONS = 1
"""The most dimensions of arrays of which workers may have copies to add up in.  Rows that all iterations update are
little beside the matrix that they are computed from; copies of a matrix are not."""


def summable(node: isl.ScheduleNode, dependences: Dependences) -> frozenset[str]:
    """The arrays of which workers may have copies to add up in, all through the executions of a band node.

    An array y is such a one if all that the instances of the node do with it is to be updated by sums
    ``y[f(x)] = y[f(x)] + e(x)`` with y not in e, sums that may be reassociated, or all by one of the others.
    What the node adds to an element then is the same in whatever order, and in however many parts, it is added up: no
    instance sees a value of y but to add to it.  The dependences among the updates of one statement, which are relaxed,
    then bind nobody; all others still do.

    The elements ``{ P -> y[a] }`` that an execution P of the node updates have to be all those between the least and
    the greatest: elements that nothing is added to are not touched.
    """
    if not dependences.relaxed or dependences.scop.strict:
        return frozenset()
    scop = dependences.scop
    inside = [scop.statement(name) for name in statements_of(node)]
    accessed = sorted({access.array for statement in inside for access in statement.accesses if access.is_write})
    return frozenset(array for array in accessed if _is_summable(array, inside, node, scop))


def _is_summable(array: str, inside: list[Statement], node: isl.ScheduleNode, scop: Scop) -> bool:
    dimensions = scop.array(array).ndim
    around = node.get_schedule_depth()
    touching = [statement for statement in inside if any(access.array == array for access in statement.accesses)]
    if len({statement.reduction.operator for statement in touching if statement.reduction is not None}) > 1:
        return False
    deepest = max(len(statement.iterators) for statement in inside) - around
    for statement in touching:
        if summed_by(statement) != array or len([a for a in statement.accesses if a.array == array]) != 2:
            return False
        if len(statement.iterators) - around < max(dimensions, 1):
            return False
        # An execution has to do more than what copies cost: inside serial loops, more than one loop, be it beside
        # the sum, as the product of a row is whose result is added up.
        least = max(dimensions, 1) if around else dimensions
        own = deepest if around else len(statement.iterators)
        if own <= least and not (is_scattered(statement) and not around):
            return False
    return dimensions == 0 or (dimensions <= MOST_DIMENSIONS and _is_interval(array, touching, node, scop))


def summed_by(statement: Statement) -> str | None:
    """The array that a statement adds to in every instance, as a step of a sum, a minimum or a maximum; None where it
    is no such step."""
    own = statement.reduction
    if own is None or own.operator not in SUMS:
        return None
    write = next(access for access in statement.accesses if access.reference == own.write)
    return write.array if write.kind is AccessKind.MUST_WRITE or write.certain else None


def is_scattered(statement: Statement) -> bool:
    """Return whether what a statement adds to depends on data: it may be any element of an array."""
    own = statement.reduction
    writes = (access for access in statement.accesses if own is not None and access.reference == own.write)
    return any(write.certain and write.kind is AccessKind.MAY_WRITE for write in writes)


def _is_interval(array: str, touching: list[Statement], node: isl.ScheduleNode, scop: Scop) -> bool:
    """Return whether every execution of a node updates all elements between the first and the last that it updates."""
    writes = joined((isl.UnionMap.from_map(a.relation) for s in touching for a in s.accesses if a.is_write), scop)
    # { P[o] -> y[a] }, with one execution P[] where no loops are around.
    executions = node.get_prefix_schedule_union_map().intersect_domain(node.get_domain())
    updated = [part.intersect_params(scop.context) for part in maps_of(executions.reverse().apply_range(writes))]
    assert len(updated) == 1, "all instances below a node have one prefix space"
    elements = updated[0].coalesce()
    space = elements.get_space().range()
    between = elements.apply_range(isl.Map.lex_le(space)).intersect(elements.apply_range(isl.Map.lex_ge(space)))
    return between.is_subset(elements)


def analyse_with_sums(node: isl.ScheduleNode, dependences: Dependences) -> tuple[BandAnalysis, frozenset[str]]:
    """Return what a band node may do if workers add up in copies, and of which arrays they may have such copies."""
    arrays = summable(node, dependences)
    without = _updates(arrays, dependences) if arrays else None
    return analyse_band(node, dependences, without=without), arrays


def sums_across(
    node: isl.ScheduleNode, member: int, arrays: frozenset[str], dependences: Dependences
) -> frozenset[str]:
    """The arrays that different values of a member of a band add to: those of which workers need copies.

    Args:
        node: the band.
        member: which of its members.
        arrays: those that are asked about; all are updated by relaxed reductions.
        dependences: what is known of the updates.
    """
    schedule = node.band_get_partial_schedule_union_map()

    def crosses(array: str) -> bool:
        updates = open_dependences(_updates(frozenset({array}), dependences), node)
        return not stays(distances(updates, schedule), member)

    return frozenset(array for array in arrays if crosses(array))


def _updates(arrays: frozenset[str], dependences: Dependences) -> isl.UnionMap:
    """The dependences among the updates of sums: ``{ s -> t }`` of one statement each."""
    names = {statement.name for statement in dependences.scop.statements if summed_by(statement) in arrays}
    own = [part for part in maps_of(dependences.reductions) if part.get_tuple_name(isl.dim_type.in_) in names]
    return joined(map(isl.UnionMap.from_map, own), dependences.scop)
