"""Loop distribution inside a tile: an innermost loop for each statement, where that frees the loops of dependences.

A time-tiled stencil computes ``B[i, j]`` and ``A[i - 1, j - 1]`` in one iteration of j, and the second uses what the
first computed in the iteration before.  No compiler turns that into vectors; with a loop for all of ``B[i, :]`` and
then one for all of ``A[i - 1, :]``, it does so with both.

Iterations of the loop around them may be unrolled then, a few consecutive ones, each statement in all of them before
the next statement.  After

    for i:
        for j: for k: B[i, j, k] = ...
        for j: for k: A[i - 1, j, k] = ...

two iterations of i may compute two planes of B, and then two planes of A: nothing of the first plane of A is used for
the second plane of B.  Planes that are computed together load what they have in common once.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import islpy as isl

from polytune.records import dataclass
from polytune.schedule.analysis.bands import analyse_band, distances, open_dependences
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.unions import maps_of, sets_of, union_of


def distribute_innermost(node: isl.ScheduleNode, dependences: Dependences, members: int = 1) -> isl.ScheduleNode:
    """A band node without bands below, its last members loops of each statement's own where that pays and is legal.

    It pays where the loops over the last members carry a dependence and none of the loops that they become does.  With
    P what is around those loops, instances with equal P are then executed statement by statement, so that it is legal
    iff ``{ s -> t dependent : P(s) = P(t) }`` never leads from a statement to one before it.  False dependences count
    here without exception: variables that are used anew in each iteration keep their loops whole.

    Args:
        node: a permutable band without bands below.
        dependences: what it respects.
        members: how many of its last members become loops of each statement's own.
    """
    first = node.band_n_member() - members
    if first < 1:
        return node
    loop = node.band_split(first).child(0)
    if all(analyse_band(loop, dependences).coincident):
        return node
    order = order_of_statements(loop, dependences)
    if order is None:
        return node
    distributed = distributed_over(loop, order)
    loops = [distributed.child(position).child(0) for position in range(distributed.n_children())]
    if not all(all(analyse_band(own, dependences).coincident) for own in loops):
        return node
    return distributed.parent()


def distributed_over(loop: isl.ScheduleNode, order: isl.UnionSetList) -> isl.ScheduleNode:
    """A band without bands below as a sequence of bands, one for each of some parts of its instances."""
    return loop.child(0).cut().insert_sequence(order).parent().band_sink()


def order_of_statements(loop: isl.ScheduleNode, dependences: Dependences) -> isl.UnionSetList | None:
    """The instances of each statement, in an order that no dependence within one execution of a loop goes against; None
    for a single statement, or where two depend on one another."""
    instances = {part.get_tuple_name(): part for part in sets_of(loop.get_domain())}
    if len(instances) < 2:
        return None
    relations = [*dependences.flow.values(), *dependences.all_order.values()]
    before: dict[str, list[str]] = {name: [] for name in sorted(instances)}
    for relation in maps_of(open_dependences(union_of(relations, dependences.scop), loop)):
        source, sink = relation.get_tuple_name(isl.dim_type.in_), relation.get_tuple_name(isl.dim_type.out)
        if source != sink:
            before[sink].append(source)
    try:
        names = tuple(TopologicalSorter({sink: sorted(before[sink]) for sink in before}).static_order())
    except CycleError:
        return None
    found = isl.UnionSetList.alloc(loop.get_ctx(), len(names))
    for name in names:
        found = found.add(isl.UnionSet.from_set(instances[name]))
    return found


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
