"""Dependences through one scalar, from those in one iteration of the loops around all of its accesses.

In ``for i: for j: t = 0; for k: t += A[i, j, k]; B[i, j] = t`` each value of ``t`` is assigned and read in one
iteration of i and j.  isl's dataflow analysis looks at every loop around an access for what an earlier iteration may
have left there; where all of it is assigned anew, the loops around need no look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import islpy as isl

from polytune.frontend.scop import Access, Scop
from polytune.records import dataclass
from polytune.schedule.analysis.dataflow import computed_flow, tagged, tagger
from polytune.schedule.unions import coalesced, maps_of


@dataclass(frozen=True)
class Blocks:
    """The iterations of the loops around all instances of some statements.

    Attributes:
        of: the block of each instance, ``{ S[i] -> [b] }``.
        inside: a schedule tree that orders the instances of each block.
    """

    of: isl.UnionMap
    inside: isl.Schedule


def blocks_of(schedule: isl.Schedule) -> Blocks | None:
    """The iterations of the loops around all instances of a schedule; None where there are no such loops.

    From the root down to where the first node orders statements, there are bands, and sequences of which one child has
    all of the instances.  With B the partial schedules of these bands, instances s and t with ``B(s) < B(t)`` come in
    that order; so those of equal B come without any other one between them.

    Args:
        schedule: of the instances, in source order.
    """
    node = schedule.get_root().child(0)
    around: isl.UnionMap | None = None
    while True:
        kind = node.get_type()
        if kind == isl.schedule_node_type.band:
            band = node.band_get_partial_schedule_union_map().intersect_domain(node.get_domain())
            around = band if around is None else around.flat_range_product(band)
            node = node.delete()
        elif kind in (isl.schedule_node_type.sequence, isl.schedule_node_type.set):
            filled = [k for k in range(node.n_children()) if not node.child(k).get_domain().is_empty()]
            if len(filled) != 1:
                break
            node = node.child(filled[0]).child(0)
        else:
            break
    return None if around is None else Blocks(around, node.get_schedule())


def blockwise_dataflow(
    accesses: Sequence[Access], killing: Sequence[Access], schedule: isl.Schedule, scop: Scop
) -> tuple[isl.UnionMap, isl.UnionMap] | None:
    """The flow and the false dependences through a scalar whose values stay within blocks, ``{ [S[i] -> ref[]] -> [T[j]
    -> ref'[]] }``; None where one may not.

    With ``b(s)`` the block of an instance, the scalar ``x`` is taken for an array ``X`` with the subscript ``b(s)``,
    and the blocks, each of which comes in one piece, for independent of one another.

    *Flow.*  In X, each read r has to have a certain write before it.  Let w be the last one.  What comes between w and
    r in source order is in the same block; so w is the last certain write of x before r, too, and the writes that may
    have happened since are the same ones.

    *False dependences* of a write v go back to the accesses since the last certain write before it, and to that.  Where
    there is one in v's block, these are the same in x and X.  Else v is at the *head* of its block: they go back to
    what comes before v in its block, as in X, and to accesses of earlier blocks.  Each block has to have a certain
    write; so these are in the block before, the greatest one with instances that is less than v's: the accesses that no
    certain write follows there, its *tail*.  What an instance reads that makes a certain write comes before that write;
    so it is in the tail only if that is.

    Args:
        accesses: all accesses to the scalar.
        killing: those of them that end the life of a value for certain.
        schedule: of the instances of the statements that make them, in source order.
        scop: what they belong to.
    """
    blocks = blocks_of(schedule)
    if blocks is None or not killing:
        return None
    subscripts = {part.get_tuple_name(isl.dim_type.in_): part for part in maps_of(blocks.of)}
    if any(access.statement not in subscripts for access in accesses):  # it has no instances
        return None
    inside = [_with_subscript(access, subscripts[access.statement]) for access in accesses]
    endings = {access.reference for access in killing}
    ends = [access for access in inside if access.reference in endings]
    ended, elements = tagged(ends, scop), coalesced(tagged(inside, scop).range())
    if not elements.is_subset(ended.range()):
        return None
    order = blocks.inside.pullback_union_pw_multi_aff(tagger(accesses, scop))
    reads, writes = ([each for each in inside if each.is_write is is_write] for is_write in (False, True))
    values = computed_flow(reads, writes, ends, order, scop)
    if not values.get_may_no_source().is_empty():
        return None
    lives = computed_flow(writes, inside, ends, order, scop)
    within = lives.get_may_dependence()
    followed = within.intersect_range(ended.domain()).domain()
    before = {part.get_tuple_name(isl.dim_type.out): part.domain() for part in maps_of(followed.unwrap())}
    tails = tagged([_but_for(access, ends, before) for access in inside], scop).subtract_domain(followed)
    places = isl.Set.from_union_set(elements)
    next_ones = isl.UnionMap.from_map(places.lex_gt_set(places).lexmax().reverse())
    across = tails.apply_range(next_ones).apply_range(lives.get_may_no_source().reverse())
    return values.get_may_dependence(), within.union(across)


def _with_subscript(access: Access, block: isl.Map) -> Access:
    """The access ``{ S[i] -> X[b] }`` that stands for one of a scalar."""
    relation = block.intersect_domain(access.relation.domain()).set_tuple_name(isl.dim_type.out, access.array)
    return replace(access, relation=relation)


def _but_for(access: Access, ends: Sequence[Access], followed: Mapping[str, isl.Set]) -> Access:
    """An access less those instances of its statement of which a certain write is followed by another one.

    Args:
        access: an access.
        ends: the certain writes.
        followed: the instances that are followed, by references.
    """
    relation = access.relation
    for end in ends:
        if end.statement == access.statement and end.reference in followed:
            relation = relation.subtract_domain(followed[end.reference])
    return replace(access, relation=relation)
