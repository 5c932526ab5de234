"""Order of the point loops inside a tile: contiguous accesses innermost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import reduce

import islpy as isl

from polytune.frontend.scop import Access, Scop, Statement
from polytune.records import dataclass
from polytune.schedule.tree import statements_of
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
    steps = steps_of(node, scop)
    costs = {member: steps.jumping(member) for member in members}
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
    steps = steps_of(node, scop)
    moving = {member: steps.moving(member) for member in members}
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
    known = steps_of(node, scop)
    steps = [known.along(member) for member in range(node.band_n_member())]
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


def _writing(node: isl.ScheduleNode, scop: Scop) -> frozenset[str]:
    """The statements below a node."""
    names = {part.get_tuple_name() for part in sets_of(node.get_domain())}
    return frozenset(names & {statement.name for statement in scop.statements})


def _moved(steps: isl.UnionMap, access: isl.UnionMap) -> isl.UnionMap:
    """Return where an access moves in some steps, ``{ A[a] -> A[b] }``."""
    return steps.apply_domain(access).apply_range(access)


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


@dataclass
class BandSteps:
    """The steps from one point of a band to the next along a member, and what they are to the accesses of statements;
    each is computed when it is first asked for.

    Attributes:
        node: the band.
        scop: the kernel.
    """

    node: isl.ScheduleNode
    scop: Scop
    _along: dict[int, isl.UnionMap] = field(default_factory=dict, init=False)
    _jumping: dict[int, int] = field(default_factory=dict, init=False)
    _moving: dict[int, frozenset[str]] = field(default_factory=dict, init=False)

    def along(self, member: int) -> isl.UnionMap:
        """The steps along a member, see ``advance``."""
        if member not in self._along:
            self._along[member] = advance(self.node, member)
        return self._along[member]

    def jumping(self, member: int) -> int:
        """The weighted number of accesses that jump when the member advances by one."""
        if member not in self._jumping:
            instances, steps, total = self.node.get_domain(), self.along(member), 0
            for statement in self._below():
                domain = instances.intersect(isl.UnionSet.from_set(statement.domain))
                own = steps.intersect_domain(domain).intersect_range(domain)
                jumping = [
                    access
                    for access in statement.accesses
                    if jumps(own, access.relation, contiguous_axis(access, self.scop))
                ]
                total += len(jumping) * 4 ** len(statement.iterators)
            self._jumping[member] = total
        return self._jumping[member]

    def moving(self, member: int) -> frozenset[str]:
        """The statements that write to another element when the member advances by one."""
        if member not in self._moving:
            steps, found = self.along(member), set[str]()
            for statement in self._below():
                domain = isl.UnionSet.from_set(statement.domain)
                own = steps.intersect_domain(domain).intersect_range(domain)
                for access in statement.accesses:
                    relation = isl.UnionMap.from_map(access.relation)
                    if access.is_write and not _moved(own, relation).is_subset(_same(access)):
                        found.add(statement.name)
            self._moving[member] = frozenset(found)
        return self._moving[member]

    def _below(self) -> list[Statement]:
        """The statements below the band."""
        names = set(statements_of(self.node))
        return [statement for statement in self.scop.statements if statement.name in names]


def steps_of(node: isl.ScheduleNode, scop: Scop) -> BandSteps:
    """The steps of a band; what has been found for the same instances and schedules is known.

    Args:
        node: a band.
        scop: the kernel.
    """
    parts = (
        node.get_domain(),
        node.get_prefix_schedule_union_map(),
        node.band_get_partial_schedule(),
        node.child(0).get_subtree_schedule_union_map(),
    )
    key = tuple(str(part) for part in parts)
    known: BandSteps | None = scop.of_bands.get(key)
    if known is None:
        known = scop.of_bands[key] = BandSteps(node, scop)
    return known


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
    offsets = sets_of(_moved(steps, relation).deltas())
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
