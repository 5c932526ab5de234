"""Source orders that isl's scheduler has nothing to add to: a nest of independent points, in each of which scalars hand
on values from iteration to iteration.

``for i: for j: t = 0; for k: t += A[i, j, k] * w[k]; B[i, j] = t``, a filter of an image say, has its points (i, j)
outermost already, and inside of one the flow of ``t`` orders all iterations of k.  isl finds the loops i and j to be
one band, and what is inside with conditions in place of the source's statements before and behind the loop; for that it
solves linear programs with unknowns for each statement and each dependence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import islpy as isl

from polytune.schedule.analysis.bands import analyse_band, distances, open_dependences, stays
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.tree import has_band


def nest_of_points(dependences: Dependences) -> isl.Schedule | None:
    """The source order with the loops around all statements in one permutable band of coincident members; None where
    the kernel is no such nest, or where something inside of a point may come in another order.

    The order of execution is the source's, so that it is legal.  Each loop inside carries the flow of a scalar that
    each point has for itself.  So in another order, as long as it keeps the live ranges of these scalars apart, points
    come in another order, which the tiles of the band are for, or statements within one iteration do.

    Args:
        dependences: the kernel's.
    """
    node = dependences.scop.schedule.get_root().child(0)
    members: list[isl.MultiUnionPwAff] = []
    while node.get_type() == isl.schedule_node_type.band and node.band_n_member() == 1:
        members.append(node.band_get_partial_schedule())
        node = node.delete()
    if not members or not _may_be_nest(node, dependences):
        return None
    band = members[0]
    for member in members[1:]:
        band = band.flat_range_product(member)
    node = node.insert_partial_schedule(band)
    analysis = analyse_band(node, dependences)
    if not all(analysis.coincident) or not _are_chains(_bands(node.child(0)), dependences, analysis.resident):
        return None
    node = node.band_set_permutable(1)
    for place in range(len(members)):
        node = node.band_member_set_coincident(place, 1)
    return node.get_schedule()


def _may_be_nest(inside: isl.ScheduleNode, dependences: Dependences) -> bool:
    """Return whether what is cheap to see lets a kernel be a nest of points: its outermost loop is coincident, which is
    asked for the source order anyway, and scalars go through the loops inside if there are any.

    Args:
        inside: what is inside of the loops around all statements.
        dependences: the kernel's.
    """
    scalars = [name for name in dependences.privatisable if not dependences.scop.array(name).ndim]
    if not scalars and has_band(inside):
        return False
    return analyse_band(dependences.scop.schedule.get_root().child(0), dependences).coincident[0]


def _bands(node: isl.ScheduleNode) -> Iterator[isl.ScheduleNode]:
    """The bands at and below a node."""
    if node.get_type() == isl.schedule_node_type.band:
        yield node
    for position in range(node.n_children()):
        yield from _bands(node.child(position))


def _are_chains(bands: Iterable[isl.ScheduleNode], dependences: Dependences, arrays: frozenset[str]) -> bool:
    """Return whether each of some bands has one member, which carries the flow of a scalar among some arrays."""
    scalars = [name for name in sorted(arrays) if not dependences.scop.array(name).ndim]
    return all(band.band_n_member() == 1 and _carries(band, dependences, scalars) for band in bands)


def _carries(band: isl.ScheduleNode, dependences: Dependences, scalars: Iterable[str]) -> bool:
    """Return whether the flow of one of some scalars goes from one iteration of a band to another."""
    loop = band.band_get_partial_schedule_union_map()
    flows = (open_dependences(dependences.flow[name], band) for name in scalars)
    return any(not stays(distances(flow, loop), 0) for flow in flows)
