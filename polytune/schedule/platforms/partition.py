"""Partition: the leading coincident members of a band cut in two by parameters, each part for a platform of its own.

Beside it: the obstacles that keep a kernel from devices, whatever its schedule.

After Pfaffe, Grosser and Tillmann, "Efficient Hierarchical Online-Autotuning" (ICS 2019), section 3.2: a set node above
the band, whose filters bound the member by a parameter, once per member that is split; 2^d parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import islpy as isl

from polytune.errors import LegalityError, SourceLocation
from polytune.frontend.expression import Binary, Checked, Element, LibraryCall, Loop, Operation, walk
from polytune.frontend.scalars.bits import OPERATORS as BITS
from polytune.frontend.scop import Scop
from polytune.records import dataclass
from polytune.schedule.analysis.bands import open_dependences
from polytune.schedule.candidate import Attempted, Candidate
from polytune.schedule.plan_transform import PARTITIONED
from polytune.schedule.planning import plan_parallel
from polytune.schedule.regions import MARK, Plan, Region, RegionKind
from polytune.schedule.tree import below_mark
from polytune.schedule.unions import union_of

MOST_SPLITS = 3
"""The most members that are split: eight parts."""


def device_rank(candidate: Candidate) -> int | None:
    """The rank of a candidate among those that devices may follow; None where no device may."""
    return candidate.order.for_devices


def choose_plan(
    candidates: Sequence[Candidate], rank_of: Callable[[Candidate], int | None] = device_rank
) -> Attempted[Plan]:
    """The plan that suits devices best; none where no schedule that isl does not give up on has a coincident band.

    Devices want many independent points at a time, started seldom: of the heaviest regions, those with the fewest
    loops around, then those with the most coincident members; of equals, the order of the best rank, which has the
    least fusion, and so the simplest regions.

    Args:
        candidates: the schedules.
        rank_of: the rank of a candidate; None where it may not be followed.
    """
    best: tuple[tuple[int, ...], Plan] | None = None
    given_up: list[str] = []
    for candidate in candidates:
        rank = rank_of(candidate)
        if rank is None:
            continue
        plan = plan_parallel(candidate, (PARTITIONED,))
        if plan is None:
            given_up.append(candidate.name)
            continue
        parallel = [region for region in plan.regions if region.kind is RegionKind.PARALLEL]
        if not parallel:
            continue
        work = {region.index: region.statement_depth for region in plan.regions}
        heaviest = [region for region in parallel if work[region.index] == max(work.values())]
        cost = (
            not heaviest,
            max((region.outer_depth for region in heaviest), default=0),
            -min((min(region.shared, 3) for region in heaviest), default=0),
            rank,
        )
        if best is None or cost < best[0]:
            best = cost, plan
    return Attempted(() if best is None else (best[1],), tuple(given_up))


@dataclass(frozen=True)
class Split:
    """A member of a band that may be split.

    Attributes:
        member: its position in ``region.band``.
        reductions: the arrays, each with its operator, that both sides update: the upper side works on copies of its
            own that begin with the operator's neutral element, and the two are combined where the sides join.
    """

    member: int
    reductions: tuple[tuple[str, str], ...] = ()


def splits_of(plan: Plan, region: Region) -> tuple[Split, ...]:
    """The members of a region's band that may be split, three at most: coincident ones, then one that is not coincident
    only because of reductions, unless sums have to keep their order."""
    if region.kind is not RegionKind.PARALLEL:
        return ()
    found = [Split(member) for member in range(min(region.shared, MOST_SPLITS))]
    if len(found) < MOST_SPLITS and region.shared < region.depth and not plan.dependences.scop.strict:
        reductions = _reductions_across(plan, region, region.shared)
        if reductions:
            found.append(Split(region.shared, reductions))
    return tuple(found)


def _reductions_across(plan: Plan, region: Region, member: int) -> tuple[tuple[str, str], ...]:
    """The reductions that cross a split of a member, if nothing else does; else nothing.

    A statement ``x op= e`` writes x alone, so that taking the dependences among its own instances away from all
    dependences takes away no other.
    """
    scop, dependences = plan.dependences.scop, plan.dependences
    node = _band_of(plan, region)
    lower, upper = _parts(node, region, [member])
    binding = _binding(plan, region, node)
    if not _crossing(binding.subtract(dependences.reductions), lower, upper).is_empty():
        return ()
    crossing = _crossing(binding, lower, upper)
    found: dict[str, str] = {}
    for statement in scop.statements:
        instances = isl.UnionSet.from_set(statement.domain)
        if statement.reduction is not None and not crossing.intersect_domain(instances).is_empty():
            array = next(access.array for access in statement.accesses if access.is_write)
            if found.setdefault(array, statement.reduction.operator) != statement.reduction.operator:
                return ()
    for statement in scop.statements:
        if isl.UnionSet.from_set(statement.domain).intersect(node.get_domain()).is_empty():
            continue
        own = statement.reduction
        updates = set() if own is None else {own.read, own.write}
        for access in statement.accesses:
            alike = own is not None and own.operator == found.get(access.array)
            if access.array in found and not (alike and access.reference in updates):
                return ()
    return tuple(sorted(found.items()))


def partition(plan: Plan, region: Region, splits: Sequence[Split]) -> isl.Schedule:
    """The plan's schedule with a region split into ``2^d`` parts.

    With split parameters ``R0, R1, ...`` the parts are ``{ x : B_d(x) < R_d }`` and ``{ x : B_d(x) >= R_d }`` for each
    of the members B_d of the splits, and all their combinations.  They are the children of a set node: in any order, at
    the same time, on different platforms.

    Args:
        plan: a plan that is proven legal.
        region: the region of the plan that is split.
        splits: what `splits_of` has found for it, or the first of these; as many parameters ``R0, R1, ...`` come into
            the schedule.

    Raises:
        LegalityError: a dependence leads from one part to another, other than by a reduction that is combined.
    """
    node = _band_of(plan, region)
    parts = _parts(node, region, [split.member for split in splits])
    binding = _binding(plan, region, node)
    if any(split.reductions for split in splits):
        binding = binding.subtract(plan.dependences.reductions)
    for source, sink in product(range(len(parts)), repeat=2):
        crossing = _crossing(binding, parts[source], parts[sink]) if source < sink else None
        if crossing is not None and not crossing.is_empty():
            raise LegalityError(
                f"the parts of region {region.index} of kernel {plan.dependences.scop.name!r} depend on one another: "
                f"{crossing}\nThis is a defect of polytune; please report it with the kernel's source."
            )
    filters = isl.UnionSetList.alloc(node.get_ctx(), len(parts))
    for part in parts:
        filters = filters.add(part.gist(node.get_domain()))
    return node.insert_set(filters).get_schedule()


def _band_of(plan: Plan, region: Region) -> isl.ScheduleNode:
    node = below_mark(plan.schedule.get_root(), f"{MARK}{region.index}")
    assert node is not None, "every region of a plan has a mark in its schedule"
    return node


def _parts(node: isl.ScheduleNode, region: Region, members: Sequence[int]) -> list[isl.UnionSet]:
    """The instances on each side of all splits, with the lower side of the last member first."""
    assert region.band is not None
    parts = [node.get_domain()]
    for number, member in enumerate(members):
        position = isl.UnionMap.from_union_pw_aff(region.band.get_union_pw_aff(member))
        sides = [position.intersect_range(isl.UnionSet(side)).domain() for side in _sides(node.get_ctx(), number)]
        parts = [part.intersect(side) for part, side in product(parts, sides)]
    return parts


def _binding(plan: Plan, region: Region, node: isl.ScheduleNode) -> isl.UnionMap:
    """The dependences open at a region's band that copies for each worker do not break."""
    dependences = plan.dependences
    kept = [relation for array, relation in dependences.all_order.items() if array not in region.private]
    return open_dependences(union_of([dependences.all_flow, *kept], dependences.scop), node)


def _crossing(relation: isl.UnionMap, first: isl.UnionSet, second: isl.UnionSet) -> isl.UnionMap:
    """Return what leads from either of two parts to the other."""
    there = relation.intersect_domain(first).intersect_range(second)
    return there.union(relation.intersect_domain(second).intersect_range(first))


def _sides(context: isl.Context, member: int) -> tuple[isl.Set, isl.Set]:
    """``{ [b] : b < R }`` and ``{ [b] : b >= R }`` for the split parameter of a member."""
    space = isl.Space.set_alloc(context, 1, 1).set_dim_name(isl.dim_type.param, 0, f"R{member}")
    local = isl.LocalSpace.from_space(space)
    value = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.set, 0))
    split = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.param, 0))
    return value.lt_set(split), value.ge_set(split)


_TYPES = ("int32", "int64", "float32", "float64")


def obstacle_to_devices(scop: Scop) -> tuple[SourceLocation, str] | None:
    """The first place with something of which there is no code for devices, and what it is; None where there is none.

    Loops inside of statements would leave most threads of a device idle, and which elements a subscript that depends on
    data selects, and so what has to be copied to a device, is not known before.
    """
    for array in scop.arrays:
        if array.dtype not in _TYPES:
            return array.location or scop.location, f"{array.name!r}, an array of {array.dtype}"
    for statement in scop.statements:
        for operation in statement.operations:
            what = _obstacle(operation)
            if what is not None:
                return statement.location, what
    return None


def _obstacle(operation: Operation) -> str | None:
    for part in walk(operation):
        if isinstance(part, Loop):
            return "a loop whose iterations depend on data"
        if isinstance(part, Binary) and part.operator in BITS:
            return "an operation on bits"
        if isinstance(part, LibraryCall):
            return f"a call of {part.function.partition(' ')[0]}, which NumPy computes"
        if isinstance(part, Checked):
            return "a subscript that depends on data"
        if isinstance(part, Element) and any(isinstance(s, Element) for each in part.subscripts for s in walk(each)):
            return "a subscript that depends on data"
    return None
