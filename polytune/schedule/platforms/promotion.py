"""The data that a tile of a device keeps close: copies of what many of its threads read, and registers for what one
thread updates.

After Verdoolaege et al., "Polyhedral Parallel Code Generation for CUDA" (TACO 2013), section 5: references to an array
form groups; a group is copied to shared memory if that saves accesses to device memory, or makes them contiguous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import islpy as isl

from polytune.frontend.polyhedral.budget import PROOF_BUDGET, within_budget
from polytune.frontend.scop import Access, AccessKind, ArrayRole, Scop
from polytune.records import dataclass
from polytune.schedule.platforms.mapping import Mapping
from polytune.schedule.regions import MARK
from polytune.schedule.tiles.interchange import advance, jumps, select_members
from polytune.schedule.tree import below_mark
from polytune.schedule.unions import coalesced, parameter


@dataclass(frozen=True)
class Window:
    """The parameters that bound the tile: per member of the mapped band the names of its lower (included) and upper
    (excluded) bound, and of the greatest extent that a tile may have there."""

    lower: str
    upper: str
    extent: str


@dataclass(frozen=True)
class SharedTile:
    """A group of read references of which a block keeps a copy.

    Attributes:
        array: the array read.
        references: the identifiers of the references.
        origin: per dimension of the array the least subscript, over the parameters and the tile's window.
        extents: per dimension of the array how many subscripts there can be, over the tile's greatest extents alone.
        footprint: what is read, ``[p, window] -> { A[a] }``.
    """

    array: str
    references: frozenset[str]
    origin: tuple[isl.PwAff, ...]
    extents: tuple[isl.PwAff, ...]
    footprint: isl.Set


@dataclass(frozen=True)
class Accumulator:
    """An array of which every point of the mapped members has one element to itself, in all its references.

    Attributes:
        array: the array.
        element: ``{ [mapped members] -> A[a] }``, the element that belongs to a point, where there is any.
        is_read: whether its value from before the tile may be needed.
        written: ``{ [mapped members] }``, the points whose element is written for certain.
    """

    array: str
    element: isl.Map
    is_read: bool


def accesses_of(mapping: Mapping, domain: isl.UnionSet, scop: Scop) -> list[Access]:
    """The accesses to arrays in the instances of a tile, restricted to them.

    Args:
        mapping: the members of the band that become blocks, threads and sequential loops.
        domain: the instances of a tile, or of all that a block executes.
        scop: what they belong to.
    """
    found: list[Access] = []
    for statement in scop.statements:
        for access in statement.accesses:
            if scop.array(access.array).ndim == 0:
                continue
            inside = isl.UnionMap.from_map(access.relation).intersect_domain(domain)
            if not inside.is_empty():
                found.append(replace(access, relation=isl.Map.from_union_map(inside)))
    return found


def find_accumulators(mapping: Mapping, domain: isl.UnionSet, accesses: Sequence[Access]) -> tuple[Accumulator, ...]:
    """The written arrays that can be kept in registers.

    With M the mapped members, an array qualifies if the relations ``M^-1 . access`` of all its references to the array
    are, each where it is defined, restrictions of one injective function: then the element of a point is accessed by
    no other point, and by no other name, so one thread may hold it for the time of a tile and all tiles of the
    sequential members after it.

    Args:
        mapping: the members of the band that become blocks, threads and sequential loops.
        domain: the instances that a block executes.
        accesses: those of these instances, as `accesses_of` finds them.
    """
    positions = tuple(range(mapping.sequential, mapping.members))
    mapped = isl.UnionMap.from_multi_union_pw_aff(select_members(mapping.band, positions)).intersect_domain(domain)
    found = []
    for array in dict.fromkeys(access.array for access in accesses if access.is_write):
        own = [access for access in accesses if access.array == array]
        relations = [
            isl.Map.from_union_map(mapped.reverse().apply_range(isl.UnionMap.from_map(access.relation)))
            for access in own
        ]
        together = reduce(isl.Map.union, relations).coalesce()
        if together.is_single_valued() and together.is_injective():
            may_keep = any(access.kind is not AccessKind.MUST_WRITE for access in own)
            covered = all(relation.domain().is_equal(together.domain()) for relation in relations)
            found.append(Accumulator(array, together, may_keep or not covered))
    return tuple(found)


def find_shared_tiles(
    mapping: Mapping,
    windows: Sequence[Window],
    accesses: Sequence[Access],
    context: isl.Set,
    scop: Scop,
) -> tuple[SharedTile, ...]:
    """The groups of read references worth a copy in shared memory.

    Args:
        mapping: the region mapped.
        windows: the bounds of the tile, per member of the band.
        accesses: ``accesses_of`` the instances of the tile, constrained to the windows.
        context: what is known of all parameters.
        scop: the kernel.

    A group is the set of references of one array whose footprints in a tile overlap and have a common hull of an
    extent that depends on the tile's extents alone.  Only arrays that nothing in the region writes are copied, so that
    a copy never has to be written back.  A copy pays if some element is read by more than one instance of the tile, or
    if neighbouring threads read elements that are not next to one another: those that fill the copy do.
    """
    node = below_mark(mapping.schedule.get_root(), f"{MARK}{mapping.region.index}")
    assert node is not None, "every region of a plan has a mark in its schedule"
    along_x = advance(node, mapping.members - 1)
    written = {access.array for access in accesses if access.is_write}
    groups: list[list[Access]] = []
    for access in accesses:
        array = scop.array(access.array)
        if access.array in written or array.role is ArrayRole.SCALAR:
            continue
        group = [access]
        for other in list(groups):
            if other[0].array == access.array and _overlap(group, other) and _tile([*other, *group], windows, context):
                groups.remove(other)
                group = [*other, *group]
        groups.append(group)
    tiles = ((group, _tile(group, windows, context)) for group in groups)
    return tuple(
        tile
        for group, tile in tiles
        if tile is not None and (_is_reused(group) or any(jumps(along_x, access.relation) for access in group))
    )


def _overlap(left: Sequence[Access], right: Sequence[Access]) -> bool:
    return not _footprint(left).is_disjoint(_footprint(right))


def _footprint(group: Sequence[Access]) -> isl.Set:
    return reduce(isl.Set.union, (access.relation.range() for access in group)).coalesce()


def _is_reused(group: Sequence[Access]) -> bool:
    """Return whether some element is accessed twice within a tile, by two references or by two instances."""
    return len(group) > 1 or not group[0].relation.is_injective()


def _tile(group: Sequence[Access], windows: Sequence[Window], context: isl.Set) -> SharedTile | None:
    """The copy of a group; None if its extent is not bounded by the tile's extents."""
    footprint = _footprint(group)
    origin, extents = [], []
    for dimension in range(footprint.dim(isl.dim_type.set)):
        least, greatest = footprint.dim_min(dimension), footprint.dim_max(dimension)
        extent = _greatest_extent(least, greatest, windows, context)
        if extent is None:
            return None
        origin.append(least)
        extents.append(extent)
    references = frozenset(access.reference for access in group)
    return SharedTile(group[0].array, references, tuple(origin), tuple(extents), footprint)


def _greatest_extent(
    least: isl.PwAff, greatest: isl.PwAff, windows: Sequence[Window], context: isl.Set
) -> isl.PwAff | None:
    """``max { greatest - least + 1 : lower < upper <= lower + extent for every window }`` as a function of the extents
    alone; None if it is not bounded by them."""
    isl_context = context.get_ctx()
    one = isl.Val.one(isl_context)
    lengths = isl.Set.from_pw_aff(greatest.sub(least).add_constant_val(one))
    allowed = context
    for window in windows:
        lower, upper, extent = (parameter(context, name) for name in (window.lower, window.upper, window.extent))
        allowed = allowed.intersect(lower.lt_set(upper)).intersect(upper.le_set(lower.add(extent)))
    lengths = lengths.intersect_params(allowed)
    kept = {window.extent for window in windows}
    for position in reversed(range(lengths.dim(isl.dim_type.param))):
        if lengths.get_dim_name(isl.dim_type.param, position) not in kept:
            lengths = lengths.project_out(isl.dim_type.param, position, 1)
    if lengths.is_empty() or not lengths.dim_has_upper_bound(isl.dim_type.set, 0):
        return None
    # Constraints with integer divisions may bound the length of none of the tiles: isl finds out only here.
    return within_budget(context.get_ctx(), PROOF_BUDGET, lambda: coalesced(lengths).dim_max(0))
