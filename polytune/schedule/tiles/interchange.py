"""Order of the point loops inside a tile: contiguous accesses innermost."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import islpy as isl

from polytune.frontend.scop import Access, Scop
from polytune.schedule.unions import coalesced, sets_of
from polytune.signature import ArrayType


def point_order(node: isl.ScheduleNode, scop: Scop, among: Sequence[int] | None = None) -> tuple[int, ...]:
    """An order of a permutable band's members, or of some of them, with the most contiguous one innermost, the others
    as they are.

    Any order of a permutable band is legal.  The cost of a member is the number of accesses, each weighted by the
    number of loops around it, that jump in memory when the member advances by one and all else stays; an access that
    moves by at most one element of the dimension that is contiguous, or not at all, does not jump.

    Args:
        node: a permutable band.
        scop: the kernel.
        among: the members that are put in order; None for all.
    """
    members = range(node.band_n_member()) if among is None else among
    costs = {member: _jumps(node, member, scop) for member in members}
    best = min(members, key=lambda member: (costs[member], -member))
    return (*(member for member in members if member != best), best)


def accumulation_order(node: isl.ScheduleNode, scop: Scop) -> tuple[int, ...] | None:
    """An order of a permutable band's members with one innermost along which everything updates the same elements.

    None where there is no such member.  One of two members along which some statements update the same elements, while
    others have new ones for every point, will do too: that is a sweep.  Any order of a permutable band is legal;
    ``codegen.registers`` keeps in registers what is updated all through the innermost loop.  Of several such members
    the most contiguous one is innermost, and of the others the most contiguous one is next to it.
    """
    members = range(node.band_n_member())
    moving = {member: _moving(node, member, scop) for member in members}
    still = [member for member in members if not moving[member]]
    if not still and len(members) == 2:
        everywhere = frozenset.intersection(*moving.values())
        still = [member for member in members if moving[member] == everywhere and everywhere < _writing(node, scop)]
    if not still or len(members) < 2:
        return None
    inner = point_order(node, scop, still)[-1]
    return (*point_order(node, scop, [member for member in members if member != inner]), inner)


def reuse_order(node: isl.ScheduleNode, scop: Scop) -> tuple[int, ...]:
    """An order of a permutable band's members with the one innermost along which the least data changes, the others as
    they are.

    Any order of a permutable band is legal.  With T the schedule down to the band and A an access, a point t of it goes
    through the elements ``A(T^-1(t))`` in the loops below: what they are for one value of the innermost member, and
    still are for the next, is in the first cache.  Of each member those accesses count that go through several
    elements, and jump to others when it advances by one; what is written comes and goes, and counts twice.
    """
    steps = [advance(node, member) for member in range(node.band_n_member())]
    costs = [0] * len(steps)
    instances = node.get_domain()
    for statement in scop.statements:
        domain = instances.intersect(isl.UnionSet.from_set(statement.domain))
        if domain.is_empty():
            continue
        points = node.child(0).get_prefix_schedule_union_map().intersect_domain(domain)
        for access in statement.accesses:
            elements = points.reverse().apply_range(isl.UnionMap.from_map(access.relation))
            if elements.is_single_valued():
                continue
            for member, every in enumerate(steps):
                own = every.intersect_domain(domain).intersect_range(domain)
                if jumps(own, access.relation, contiguous_axis(access, scop)):
                    costs[member] += 2 if access.is_write else 1
    best = min(range(len(steps)), key=lambda member: (costs[member], -member))
    return (*(member for member in range(len(steps)) if member != best), best)


def _moving(node: isl.ScheduleNode, member: int, scop: Scop) -> frozenset[str]:
    """The statements that write to another element when the member advances by one."""
    steps = advance(node, member)
    found: set[str] = set()
    for statement in scop.statements:
        own = steps.intersect_domain(isl.UnionSet.from_set(statement.domain))
        own = own.intersect_range(isl.UnionSet.from_set(statement.domain))
        for access in statement.accesses:
            relation = isl.UnionMap.from_map(access.relation)
            if access.is_write and not own.apply_domain(relation).apply_range(relation).is_subset(_same(access)):
                found.add(statement.name)
    return frozenset(found)


def _writing(node: isl.ScheduleNode, scop: Scop) -> frozenset[str]:
    """The statements below a node."""
    names = {part.get_tuple_name() for part in sets_of(node.get_domain())}
    return frozenset(names & {statement.name for statement in scop.statements})


def _same(access: Access) -> isl.UnionMap:
    """``{ A[a] -> A[a] }``."""
    return isl.UnionSet.from_set(access.relation.range()).identity()


def reorder_band(node: isl.ScheduleNode, order: tuple[int, ...]) -> isl.ScheduleNode:
    """The band node with its members in another order; the caller has made sure that the band is permutable."""
    if order == tuple(range(len(order))):
        return node
    partial = select_members(node.band_get_partial_schedule(), order)
    return node.delete().insert_partial_schedule(partial).band_set_permutable(1)


def select_members(partial: isl.MultiUnionPwAff, order: tuple[int, ...]) -> isl.MultiUnionPwAff:
    """``B`` to ``(B[order[0]], B[order[1]], ...)``: some members of a partial schedule, in a given order."""
    space = partial.get_space()
    dropped = space.dim(isl.dim_type.set) - len(order)
    if dropped:
        space = space.drop_dims(isl.dim_type.set, 0, dropped)
    members = reduce(
        lambda chosen, member: chosen.add(partial.get_union_pw_aff(member)),
        order,
        isl.UnionPwAffList.alloc(partial.get_ctx(), len(order)),
    )
    return isl.MultiUnionPwAff.from_union_pw_aff_list(space, members)


def _jumps(node: isl.ScheduleNode, member: int, scop: Scop) -> int:
    """The weighted number of accesses that jump when the member advances by one."""
    total = 0
    instances = node.get_domain()
    steps = advance(node, member)
    for statement in scop.statements:
        domain = instances.intersect(isl.UnionSet.from_set(statement.domain))
        if domain.is_empty():
            continue
        own = steps.intersect_domain(domain).intersect_range(domain)
        jumping = [
            access for access in statement.accesses if jumps(own, access.relation, contiguous_axis(access, scop))
        ]
        total += len(jumping) * 4 ** len(statement.iterators)
    return total


def contiguous_axis(access: Access, scop: Scop) -> int:
    """The dimension along which an array lies in memory element by element, or would if it were contiguous."""
    kind = dict(scop.signature.arguments).get(access.array)
    last = access.relation.dim(isl.dim_type.out) - 1
    return 0 if isinstance(kind, ArrayType) and kind.layout == "F" else last


def jumps(steps: isl.UnionMap, access: isl.Map, axis: int | None = None) -> bool:
    """Return whether an access moves by more than one element of a dimension in any of some steps.

    Args:
        steps: ``{ s -> t }``, from one instance to the next.
        access: ``{ S[i] -> A[a] }``.
        axis: the dimension; None for the last one.
    """
    relation = isl.UnionMap.from_map(access)
    offsets = sets_of(steps.apply_domain(relation).apply_range(relation).deltas())
    last = access.dim(isl.dim_type.out) - 1
    return bool(offsets) and not _is_contiguous(offsets[0], last if axis is None else axis)


def advance(node: isl.ScheduleNode, member: int) -> isl.UnionMap:
    """``{ s -> t : prefix(s) = prefix(t), B(t) = B(s) + e_member, and all bands below agree }`` for a band node."""
    partial = node.band_get_partial_schedule()
    others = tuple(index for index in range(node.band_n_member()) if index != member)
    below = node.child(0).get_subtree_schedule_union_map()
    # Of a domain of several pieces each is related to each, which multiplies at every further step.
    same = coalesced(below.apply_range(below.reverse()))
    if others:
        same = same.eq_at_multi_union_pw_aff(select_members(partial, others))
    if node.get_schedule_depth():
        same = same.eq_at_multi_union_pw_aff(node.get_prefix_schedule_multi_union_pw_aff())
    line = isl.UnionMap.from_union_pw_aff(partial.get_union_pw_aff(member))
    context = node.get_ctx()
    space = isl.Space.alloc(context, 0, 1, 1)
    step = isl.Map.from_basic_map(
        isl.BasicMap.universe(space).add_constraint(
            isl.Constraint.equality_alloc(isl.LocalSpace.from_space(space))
            .set_coefficient_val(isl.dim_type.in_, 0, isl.Val.one(context))
            .set_coefficient_val(isl.dim_type.out, 0, isl.Val.one(context).neg())
            .set_constant_val(isl.Val.one(context))
        )
    )
    next_to = coalesced(line.apply_range(isl.UnionMap.from_map(step)).apply_range(line.reverse()))
    return coalesced(same.intersect(next_to))


def _is_contiguous(offset: isl.Set, axis: int) -> bool:
    """Return whether an access moves by at most one element, along one dimension alone."""
    dimensions = offset.dim(isl.dim_type.set)
    if dimensions == 0:
        return True
    one = isl.Val.one(offset.get_ctx())
    for dimension in range(dimensions):
        limit = one if dimension == axis else isl.Val.zero(offset.get_ctx())
        above = offset.lower_bound_val(isl.dim_type.set, dimension, limit.add(one))
        below = offset.upper_bound_val(isl.dim_type.set, dimension, limit.neg().sub(one))
        if not (above.is_empty() and below.is_empty()):
            return False
    return True
