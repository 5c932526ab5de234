"""The members of a parallel region that become blocks and threads of a device, and the order of a tile's points."""

from __future__ import annotations

import islpy as isl

from polytune.records import dataclass
from polytune.schedule.analysis.bands import analyse_band
from polytune.schedule.regions import MARK, Plan, Region, RegionKind
from polytune.schedule.tiles.interchange import point_order, select_members
from polytune.schedule.tree import below_mark

MOST_AXES = 3
"""Blocks and threads have three axes."""


@dataclass(frozen=True)
class Mapping:
    """A parallel region mapped to a device.

    A tile's points run with the sequential members outside and the mapped ones inside.  Every order of the members of a
    permutable band is legal, and a thread may run the points of different values of coincident members in any order,
    so a thread keeps what belongs to its values of the mapped members in registers over the sequential ones.

    Attributes:
        region: the region.
        schedule: the plan's schedule with the region's band in this order.
        band: the partial schedule: the sequential members, then the mapped ones, x last.
        sequential: how many of its members are sequential.
        positions: for each of its members which one of ``region.band`` it is.
    """

    region: Region
    schedule: isl.Schedule
    band: isl.MultiUnionPwAff
    sequential: int
    positions: tuple[int, ...]

    @property
    def members(self) -> int:
        """The number of members of the band."""
        return self.band.dim(isl.dim_type.set)

    @property
    def axes(self) -> int:
        """Return how many members are mapped."""
        return self.members - self.sequential


def map_region(plan: Plan, region: Region) -> Mapping | None:
    """The mapping of a region; None where it has no coincident member.

    The coincident members are mapped, three at most, of these the most contiguous one to x: neighbouring threads then
    access neighbouring elements.
    """
    if region.kind is not RegionKind.PARALLEL:
        return None
    node = below_mark(plan.schedule.get_root(), f"{MARK}{region.index}")
    assert node is not None, "every region of a plan has a mark in its schedule"
    scop = plan.dependences.scop
    coincident = analyse_band(node, plan.dependences).coincident
    parallel = [member for member, free in enumerate(coincident) if free]
    best = point_order(node, scop, parallel)[-1]
    mapped = [*(member for member in parallel if member != best), best][-MOST_AXES:]
    sequential = [member for member in range(node.band_n_member()) if member not in mapped]
    band = select_members(node.band_get_partial_schedule(), (*sequential, *mapped))
    node = node.delete().insert_partial_schedule(band).band_set_permutable(1)
    return Mapping(region, node.get_schedule(), band, len(sequential), _positions(band, region))


def _positions(band: isl.MultiUnionPwAff, region: Region) -> tuple[int, ...]:
    """Return where the members of a band are in the region's own."""
    assert region.band is not None
    own = [region.band.get_union_pw_aff(member) for member in range(region.depth)]
    return tuple(
        next(position for position, other in enumerate(own) if other.plain_is_equal(band.get_union_pw_aff(member)))
        for member in range(band.dim(isl.dim_type.set))
    )
