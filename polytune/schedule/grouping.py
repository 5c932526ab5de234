"""Fusion of neighbours: parts of a schedule that sweep over the same array, one after another, in one sweep.

isl's scheduler fuses as much as it can or as little as it must.  Where two sweeps over a matrix can be one, and be
parallel, and the next one cannot join them, neither is best: with everything fused nothing is parallel, with nothing
fused the matrix comes from memory once more.
"""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl

from polytune.frontend.scop import Scop
from polytune.schedule.analysis.bands import analyse_band
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.unions import sets_of

Fuse = Callable[[isl.UnionSet], isl.Schedule | None]
"""Schedules some instances in one band; None where that is not possible."""


def group_sweeps(schedule: isl.Schedule, dependences: Dependences, fuse: Fuse) -> isl.Schedule | None:
    """The schedule with neighbouring children of its outermost sequence fused where that pays; None where it does not.

    It pays where both sweep over an array, and the band that they become is permutable and has a coincident member as
    theirs do.  Children are fused in their order, so that all that is between groups stays as it was; what is inside
    one respects all dependences, as ``fuse`` does.

    Args:
        schedule: a legal one of all statement instances.
        dependences: what it respects.
        fuse: schedules the instances of two children together.
    """
    if number_of_parts(schedule) == 1:
        return None
    parts = parts_of(schedule)
    groups = [parts[0]]
    for part in parts[1:]:
        fused, pair = None, (groups[-1], part)
        if set.intersection(*(swept(each.get_domain(), dependences.scop) for each in pair)) and all(
            has_parallel_loops(each.get_root(), dependences) for each in pair
        ):
            fused = fuse(groups[-1].get_domain().union(part.get_domain()))
        if fused is not None and is_parallel(fused, dependences):
            groups[-1] = fused
        else:
            groups.append(part)
    if len(groups) == len(parts):
        return None
    whole, *others = groups
    for group in others:
        whole = whole.sequence(group)
    return whole


def number_of_parts(schedule: isl.Schedule) -> int:
    """Return how many children the outermost sequence of a schedule has; 1 where there is no sequence."""
    node = schedule.get_root().child(0)
    return node.n_children() if node.get_type() in (isl.schedule_node_type.sequence, isl.schedule_node_type.set) else 1


def parts_of(schedule: isl.Schedule) -> list[isl.Schedule]:
    """The children of the outermost sequence of a schedule, each as a schedule of its instances alone; the schedule
    itself where there is no sequence."""
    if number_of_parts(schedule) == 1:
        return [schedule]
    node = schedule.get_root().child(0)
    children = [node.child(position) for position in range(node.n_children())]
    return [schedule.intersect_domain(child.filter_get_filter().intersect(child.get_domain())) for child in children]


def swept(instances: isl.UnionSet, scop: Scop) -> set[str]:
    """The arrays of two or more dimensions that statements go through once: the ones that have as many loops."""
    found: set[str] = set()
    for part in sets_of(instances):
        statement = scop.statement(part.get_tuple_name())
        for access in statement.accesses:
            dimensions = scop.array(access.array).ndim
            if dimensions >= 2 and dimensions == len(statement.iterators):
                found.add(access.array)
    return found


def has_parallel_loops(node: isl.ScheduleNode, dependences: Dependences) -> bool:
    """Return whether each of the outermost bands at and below a node has a coincident member: where isl has found none
    for one of them, it finds none for it and others together."""
    if node.get_type() == isl.schedule_node_type.band:
        return any(analyse_band(node, dependences).coincident)
    return all(has_parallel_loops(node.child(position), dependences) for position in range(node.n_children()))


def is_parallel(schedule: isl.Schedule, dependences: Dependences) -> bool:
    """Return whether a schedule is one permutable band with a coincident member, for all instances."""
    node = schedule.get_root().child(0)
    if node.get_type() != isl.schedule_node_type.band:
        return False
    analysis = analyse_band(node, dependences)
    return analysis.permutable and any(analysis.coincident)
