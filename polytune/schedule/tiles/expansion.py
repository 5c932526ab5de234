"""Array expansion: the points of a tile each get their own copy of an array, so that loops over them go inside.

In

    for r: for q:
        for p: t[p] = 0; for s: t[p] += A[r, q, s] * C[s, p]
        for p: A[r, q, p] = t[p]

every worker has a t of its own, but the iterations of q use it one after another, and so nothing of several q can be
computed at once.  With a t for each q of a tile, the loop over q may be distributed over the two loops inside, and the
first of them becomes a product of matrices.
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polytune.records import dataclass
from polytune.schedule.analysis.bands import BandAnalysis, analyse_band, is_contained, open_dependences
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.analysis.legality import violation
from polytune.schedule.tiles.interchange import accumulation_order, select_members
from polytune.schedule.tree import has_band


@dataclass(frozen=True)
class Expansion:
    """The way in which arrays are expanded in a region.

    Attributes:
        arrays: of which a worker has a copy for each value of a member of the region's band that a tile has.
        member: that member.
        coincident: how many loops in a row, from the one over the first member, are coincident, whatever is inside.
    """

    arrays: frozenset[str]
    member: int
    coincident: int


def expand_points(
    node: isl.ScheduleNode, analysis: BandAnalysis, dependences: Dependences
) -> tuple[isl.ScheduleNode, Expansion] | None:
    """The node of a band with its last member distributed over the sequence below; None where that is not possible or
    nothing comes of it.

    Args:
        node: a band whose members are all coincident, with some array that each worker needs a copy of.
        analysis: what is known of the band.
        dependences: those that it has to respect.

    With P the schedule around the band and B its partial schedule, and all members coincident, no dependence leads from
    one ``(P, B)`` to another with equal P, but for the false ones of arrays of which there are copies.  With a copy for
    each B, which the live ranges never leave, those are gone too: of them ``{ s -> t : P(s) = P(t), B(s) = B(t) }``
    is left.  So instances with different B may run in any order in which each B keeps its own; the sequence of the
    children does, and in each child the order of its band, any order of which is legal where it is permutable.  The
    whole is checked against the dependences that are left.
    """
    scop = dependences.scop
    arrays = frozenset(name for name in analysis.conflicting if scop.array(name).ndim > 0)
    member = node.band_n_member() - 1
    if not arrays or not arrays <= analysis.resident or not all(analysis.coincident):
        return None
    remaining = _left_by(arrays, node, dependences)
    if member:
        node = node.band_split(member).child(0)
    partial = node.band_get_partial_schedule()
    node = node.delete()
    if node.get_type() != isl.schedule_node_type.sequence or not _keeps_scalars(node, dependences):
        return None
    coincident: list[int] = []
    for position in range(node.n_children()):
        child, leading = _with_member(node.child(position).child(0), partial, remaining)
        coincident.append(leading)
        node = child.parent().parent()
    node = node.parent() if member else node
    if violation(node.get_schedule(), remaining) is not None:
        return None
    return node, Expansion(arrays, member, member + min(coincident))


def _left_by(arrays: frozenset[str], node: isl.ScheduleNode, dependences: Dependences) -> Dependences:
    """All flow, and the false dependences within one execution of a band, those of expanded arrays only within a point
    of it."""
    order = {
        name: open_dependences(relation, node.child(0) if name in arrays else node)
        for name, relation in dependences.all_order.items()
    }
    return replace(dependences, order=order, all_order=order)


def _keeps_scalars(node: isl.ScheduleNode, dependences: Dependences) -> bool:
    """Return whether no scalar that has a copy in each point carries a value from one child of a sequence to
    another."""
    scop = dependences.scop
    scalars = [name for name in dependences.privatisable if scop.array(name).ndim == 0 and name in dependences.flow]
    return all(
        is_contained(dependences.flow[name], node.child(position))
        for name in scalars
        for position in range(node.n_children())
    )


def _with_member(
    node: isl.ScheduleNode, member: isl.MultiUnionPwAff, dependences: Dependences
) -> tuple[isl.ScheduleNode, int]:
    """A child of the sequence with a coincident member around it, in one band with its own innermost one if that is all
    there is; and how many leading members of that band are coincident without copies."""
    if node.get_type() != isl.schedule_node_type.band or has_band(node.child(0)):
        return node.insert_partial_schedule(member), 1
    analysis = analyse_band(node, dependences)
    if not analysis.permutable:
        return node.insert_partial_schedule(member), 1
    order = accumulation_order(node, dependences.scop) or tuple(range(node.band_n_member()))
    own = select_members(node.band_get_partial_schedule(), order)
    leading = 1
    if not any(dependences.scop.array(name).ndim for name in analysis.conflicting):
        flags = [analysis.coincident[place] for place in order]
        leading += next((count for count, flag in enumerate(flags) if not flag), len(flags))
    node = node.delete().insert_partial_schedule(member.flat_range_product(own)).band_set_permutable(1)
    return node, leading
