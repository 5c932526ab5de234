"""Properties of a band of a schedule tree: permutable, coincident, which arrays it may privatise, the bands inside it.

All answers are exact: they are computed from the dependences, not taken from the scheduler's flags.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cached_property

import islpy as isl

from polytune.frontend.scop import Scop
from polytune.records import dataclass
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.tree import has_band, statements_of
from polytune.schedule.unions import joined, maps_of, sets_of


@dataclass(frozen=True)
class BandObstacle:
    """The reason why a member is not coincident: a dependence of the named kind through an array, from one statement to
    another."""

    array: str
    kind: str
    source: str
    sink: str


@dataclass(frozen=True)
class BandAnalysis:
    """The properties of one band node.

    Attributes:
        permutable: whether every dependence that the outer schedule leaves open has a non-negative distance in every
            member.
        concurrent: whether that holds for the updates of relaxed reductions too: in whatever order they may come, no
            two of them may be made at once.
        coincident: per member, whether all of those distances are zero.
        contained: the privatisable arrays all of whose live ranges that touch this band start and end within one
            execution of it (one value of the outer schedule): their false dependences do not bind here.
        resident: those of them whose live ranges even stay within one point of the band.
        conflicting: those of the contained arrays that different points of the coincident members would overwrite for
            one another: of these each worker needs a copy.
        obstacles_of: finds the dependences that keep a member from being coincident, which reports alone want.
    """

    permutable: bool
    concurrent: bool
    coincident: tuple[bool, ...]
    contained: frozenset[str]
    resident: frozenset[str]
    conflicting: frozenset[str]
    obstacles_of: Callable[[int], tuple[BandObstacle, ...]] = field(repr=False, compare=False)

    @cached_property
    def obstacles(self) -> tuple[tuple[BandObstacle, ...], ...]:
        """Return per member the dependences that keep it from being coincident."""
        return tuple(() if free else self.obstacles_of(member) for member, free in enumerate(self.coincident))


def analyse_band(
    node: isl.ScheduleNode, dependences: Dependences, *, without: isl.UnionMap | None = None
) -> BandAnalysis:
    """Analyse a band node, see ``_analysis``; what has been found for the same instances and schedules is known.

    Args:
        node: a band of a schedule tree whose order is legal.
        dependences: what it has to respect.
        without: updates of relaxed reductions ``{ s -> t }`` that nothing keeps from being made at once; None for none.
    """
    if without is not None:
        return _analysis(node, dependences, without)
    parts = (node.get_domain(), node.get_prefix_schedule_union_map(), node.band_get_partial_schedule())
    key = tuple(str(part) for part in parts)
    known: BandAnalysis | None = dependences.of_bands.get(key)
    if known is None:
        known = dependences.of_bands[key] = _analysis(node, dependences)
    return known


def _analysis(node: isl.ScheduleNode, dependences: Dependences, without: isl.UnionMap | None = None) -> BandAnalysis:
    """The properties of a band node.

    Args:
        node: the band.
        dependences: what it has to respect.
        without: updates of relaxed reductions ``{ s -> t }`` that nothing keeps from being made at once.

    With prefix P (the outer bands) and partial schedule B, a dependence s -> t is open here iff P(s) = P(t); its
    distance is B(t) - B(s).  False dependences of a contained array are left out where its flow has distance zero in
    all members (then each live range lies in one point of the band, and points may be reordered as wholes); where the
    flow is not zero they must be non-negative like any other for the band to be permutable, but do not bind
    coincidence, since each worker has a copy of its own and a live range never leaves a value of the coincident
    members.
    """
    scop = dependences.scop
    schedule = node.band_get_partial_schedule_union_map()
    members = node.band_n_member()
    # Few dependences of many are open: those are put together.  Of arrays whose live ranges stay inside, nobody asks
    # for the false ones but to find conflicts.
    opened, used = _opening(node), _used_in(node, scop)
    flow = {array: opened(relation) for array, relation in dependences.flow.items() if array in used}
    order = {array: relation for array, relation in dependences.all_order.items() if array in used}
    contained, resident = _with_live_ranges_inside(node, dependences, flow)
    others = {array: opened(relation) for array, relation in order.items() if array not in contained}
    reordered = [opened(relation) for array, relation in order.items() if array in contained and array not in resident]
    relaxed = dependences.reductions if without is None else dependences.reductions.subtract(without)
    updates = opened(relaxed) if dependences.relaxed else isl.UnionMap.empty(scop.context.get_space())
    binding = [*flow.values(), *others.values()]
    bound = distances(joined([*binding, updates], scop), schedule)
    is_same = not reordered and updates.is_empty()
    ordered = bound if is_same else distances(joined([*binding, *reordered], scop), schedule)
    coincident = tuple(stays(bound, member) for member in range(members))
    conflicting = frozenset(
        array
        for array in contained
        if any(coincident) and array in order and _conflicts(opened(order[array]), schedule, coincident)
    )

    def obstacles_of(member: int) -> tuple[BandObstacle, ...]:
        every_update = {"": opened(dependences.reductions)} if dependences.relaxed else {}
        by_kind = {"flow": flow, "order": others, "reduction": every_update}
        return _obstacles(schedule, member, dependences, by_kind)

    permutable = all(_never_goes_back(ordered, member) for member in range(members))
    repeated = distances(updates, schedule)
    concurrent = permutable and all(_never_goes_back(repeated, member) for member in range(members))
    return BandAnalysis(permutable, concurrent, coincident, contained, resident, conflicting, obstacles_of)


def _used_in(node: isl.ScheduleNode, scop: Scop) -> frozenset[str]:
    """Return the arrays that a node's statements access: no dependence of another one is open there."""
    names = set(statements_of(node))
    return frozenset(access.array for each in scop.statements if each.name in names for access in each.accesses)


def _with_live_ranges_inside(
    node: isl.ScheduleNode, dependences: Dependences, opened: Mapping[str, isl.UnionMap]
) -> tuple[frozenset[str], frozenset[str]]:
    """The arrays whose live ranges stay within one execution of a band, and those of them whose live ranges stay within
    one of its points.

    Args:
        node: the band.
        dependences: the kernel's.
        opened: the flow that is open at the band, by array, of those that are used there.
    """
    schedule, members = node.band_get_partial_schedule_union_map(), range(node.band_n_member())
    contained, resident = set(), set()
    for array in sorted(dependences.privatisable):
        flow, inside = dependences.flow.get(array), opened.get(array)
        if flow is None or (inside is not None and not _touching(flow, node).is_subset(inside)):
            continue
        contained.add(array)
        between = None if inside is None else distances(inside, schedule)
        if all(stays(between, member) for member in members):
            resident.add(array)
    return frozenset(contained), frozenset(resident)


def open_dependences(relation: isl.UnionMap, node: isl.ScheduleNode) -> isl.UnionMap:
    """The part of a relation within a node's instances and not yet decided by the bands above it:
    ``{ s -> t : s, t in domain(node) and prefix(s) = prefix(t) }``."""
    return _opening(node)(relation)


def _opening(node: isl.ScheduleNode) -> Callable[[isl.UnionMap], isl.UnionMap]:
    """Return what takes from a relation the part that is open at a node: of the node, everything is asked for once."""
    domain = node.get_domain()
    prefix = node.get_prefix_schedule_multi_union_pw_aff() if node.get_schedule_depth() else None

    def opened(relation: isl.UnionMap) -> isl.UnionMap:
        inside = relation.intersect_domain(domain).intersect_range(domain)
        return inside if prefix is None else inside.eq_at_multi_union_pw_aff(prefix)

    return opened


def distances(relation: isl.UnionMap, schedule: isl.UnionMap) -> isl.Set | None:
    """``{ B(t) - B(s) : s -> t in relation }`` for the partial schedule B; None if the relation is empty."""
    found = sets_of(relation.apply_domain(schedule).apply_range(schedule).deltas())
    return found[0] if found else None


def stays(distance: isl.Set | None, member: int) -> bool:
    """Return whether all distances are zero in a member."""
    if distance is None:
        return True
    one = isl.Val.one(distance.get_ctx())
    above = distance.lower_bound_val(isl.dim_type.set, member, one)
    below = distance.upper_bound_val(isl.dim_type.set, member, one.neg())
    return above.is_empty() and below.is_empty()


def _never_goes_back(distance: isl.Set | None, member: int) -> bool:
    """Return whether no distance is negative in a member."""
    if distance is None:
        return True
    minus_one = isl.Val.one(distance.get_ctx()).neg()
    return distance.upper_bound_val(isl.dim_type.set, member, minus_one).is_empty()


def is_contained(flow: isl.UnionMap, node: isl.ScheduleNode) -> bool:
    """Return whether every flow that touches the node's instances is open there: none enters or leaves one execution of
    it."""
    touching = _touching(flow, node)
    return touching.is_empty() or touching.is_subset(open_dependences(flow, node))


def _touching(flow: isl.UnionMap, node: isl.ScheduleNode) -> isl.UnionMap:
    """The flow that begins or ends in a node's instances."""
    domain = node.get_domain()
    return flow.intersect_domain(domain).union(flow.intersect_range(domain))


def _conflicts(order: isl.UnionMap, schedule: isl.UnionMap, coincident: tuple[bool, ...]) -> bool:
    """Return whether an array's false dependences that are open at a band lead from one point of the coincident members
    to another."""
    between = distances(order, schedule)
    return not all(stays(between, member) for member, parallel in enumerate(coincident) if parallel)


def _obstacles(
    schedule: isl.UnionMap,
    member: int,
    dependences: Dependences,
    opened: Mapping[str, Mapping[str, isl.UnionMap]],
) -> tuple[BandObstacle, ...]:
    """The dependences that keep a member of a band from being coincident.

    Args:
        schedule: the band's partial schedule.
        member: the number of the member.
        dependences: the kernel's.
        opened: those that are open at the band and bind there, by kind and array.
    """
    found: list[BandObstacle] = []
    for kind, relations in opened.items():
        for array, relation in relations.items():
            for part in maps_of(relation):
                single = isl.UnionMap.from_map(part)
                if not stays(distances(single, schedule), member):
                    source = part.get_tuple_name(isl.dim_type.in_)
                    sink = part.get_tuple_name(isl.dim_type.out)
                    among = "reduction" if single.is_subset(dependences.reductions) else kind
                    found.append(BandObstacle(array, among, source, sink))
    return tuple(dict.fromkeys(found))


def independent_inside(node: isl.ScheduleNode, dependences: Dependences) -> frozenset[int]:
    """The depths below a node's own band at which there are innermost loops alone, and none carries a dependence."""
    bands = list(_bands_below(node))
    innermost = [band for band in bands if not has_band(band.child(0))]
    others = {depth for band in bands if has_band(band.child(0)) for depth in _depths(band)}
    independent = {depth for band in innermost for depth in _depths(band)} - others
    for band in innermost:
        if independent.intersection(_depths(band)):
            coincident = analyse_band(band, dependences).coincident
            independent -= {depth for depth, parallel in zip(_depths(band), coincident, strict=True) if not parallel}
    return frozenset(independent)


def _depths(band: isl.ScheduleNode) -> range:
    """Return how many loops are around each member of a band."""
    return range(band.get_schedule_depth(), band.get_schedule_depth() + band.band_n_member())


def _bands_below(node: isl.ScheduleNode) -> Iterator[isl.ScheduleNode]:
    """The bands of the subtrees below a node."""
    for position in range(node.n_children()):
        child = node.child(position)
        if child.get_type() == isl.schedule_node_type.band:
            yield child
        yield from _bands_below(child)
