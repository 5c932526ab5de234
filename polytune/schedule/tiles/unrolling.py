"""Unrolled iterations: a few consecutive ones of a loop, each statement in all of them before the next statement.

In a tile of a time-tiled stencil, after ``distribution``,

    for i:
        for j: for k: B[i, j, k] = ...
        for j: for k: A[i - 1, j, k] = ...

two iterations of i may compute two planes of B, and then two planes of A: nothing of the first plane of A is used for
the second plane of B.  Planes that are computed together load what they have in common once.
"""

from __future__ import annotations

import islpy as isl

from polytune.records import dataclass
from polytune.schedule.analysis.bands import distances, open_dependences
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.unions import maps_of, sets_of, union_of

FACTORS = (4, 2)
"""The numbers of iterations that may be unrolled, in the order in which they are tried."""


@dataclass(frozen=True)
class Unrolling:
    """Iterations of a loop that may be unrolled.

    Attributes:
        depth: how many loops are around that loop.
        most: how many consecutive iterations may run statement by statement, at most.
    """

    depth: int
    most: int


def unrollable(node: isl.ScheduleNode, dependences: Dependences) -> Unrolling | None:
    """Return how many iterations of a band's last member may run statement by statement; None where that are no two.

    Args:
        node: a band above a sequence of loops of each statement's own.
        dependences: what its schedule respects.

    With P the schedule around the last member C, and f iterations unrolled, instances with equal P whose values of C
    lie in one block of f run in the order of their statements, and of one statement in any order.  Dependences between
    blocks and from a statement to a later one go forward all the same, as C(s) <= C(t) for all of them.  So it is
    legal, wherever blocks begin, if there is no dependence

        ``{ s -> t : P(s) = P(t), C(t) - C(s) < f }``

    from a statement to itself or to an earlier one.  False dependences count without exception.
    """
    sequence = node.child(0)
    if sequence.get_type() != isl.schedule_node_type.sequence:
        return None
    place: dict[str, int] = {}
    for position in range(sequence.n_children()):
        for part in sets_of(sequence.child(position).filter_get_filter()):
            if place.setdefault(part.get_tuple_name(), position) != position:
                return None
    last = node.band_n_member() - 1
    depth = node.get_schedule_depth() + last
    loop = node.band_split(last).child(0) if last else node
    member = loop.band_get_partial_schedule_union_map()
    relations = [*dependences.flow.values(), *dependences.all_order.values()]
    apart: list[isl.Set] = []
    for relation in maps_of(open_dependences(union_of(relations, dependences.scop), loop)):
        source, sink = relation.get_tuple_name(isl.dim_type.in_), relation.get_tuple_name(isl.dim_type.out)
        distance = distances(isl.UnionMap.from_map(relation), member)
        if place[sink] <= place[source] and distance is not None:
            apart.append(distance)
    for factor in FACTORS:
        near = isl.Val.int_from_si(node.get_ctx(), factor - 1)
        if all(distance.upper_bound_val(isl.dim_type.set, 0, near).is_empty() for distance in apart):
            return Unrolling(depth, factor)
    return None
