"""Regions: the parts of a schedule tree that a team of workers executes together, one after another."""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum
from typing import Any

import islpy as isl

from polytune.records import dataclass
from polytune.schedule.analysis.bands import BandAnalysis, BandObstacle
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.candidate import Origin
from polytune.schedule.recipe import Recipe
from polytune.schedule.tiles.distribution import Unrolling
from polytune.schedule.tiles.early_updates import EarlyUpdates
from polytune.schedule.tiles.expansion import Expansion
from polytune.schedule.unions import sets_of

MARK = "region"


class RegionKind(StrEnum):
    """The way to share out a region's tiles: all at once, along anti-diagonals, or none, one piece of serial work."""

    PARALLEL = "parallel"
    WAVEFRONT = "wavefront"
    SERIAL = "serial"


@dataclass(frozen=True, kw_only=True)
class RegionTraits:
    """The traits that a region of a plan and its code have in common.

    Attributes:
        index: the region's number in its plan, also that of its mark in the schedule tree.
        kind: how its tiles are shared out.
        shared: how many leading members of its band are shared out (1 or more coincident ones; for a wavefront all but
            the last one, and 2 at least).
        expansion: the arrays of which the points of a tile each have their own copy; None where there are none.
        resident: arrays of one dimension or more that are not private, and of which no live range leaves a point of
            the band: what a point writes to them nothing else needs.
    """

    index: int
    kind: RegionKind
    shared: int = 0
    expansion: Expansion | None = None
    resident: frozenset[str] = frozenset()

    def traits(self) -> dict[str, Any]:
        """Return the traits by name, for another object that has them."""
        return {field.name: getattr(self, field.name) for field in fields(RegionTraits)}


@dataclass(frozen=True, kw_only=True)
class Region(RegionTraits):
    """One region of a plan.

    Attributes:
        domain: the statement instances it executes, over all its executions.
        prefix: ``S[i] -> outer time``, the serial loops around it; None where there are none.
        band: the partial schedule that is tiled, the members that are shared out first; None for serial work.
        private: arrays of which each worker has a copy here.
        local: those that may be variables of one tile's code, since no live range leaves a point of the band.
        contiguous: the member of ``band`` along which arrays are contiguous, the innermost one within a tile but for
            ``accumulated``; None if the members were not put in order.
        accumulated: the member of ``band`` that is innermost within a tile because everything updates the same elements
            along it; None where there is no such one.
        independent: the depths of innermost loops inside the band that carry no dependence, where they were looked for.
        sums: the arrays of which each worker has a copy to add up in, which is added to the array at the end.
        nested: how many loops in a row, from that over the first member of ``band`` on, are one permutable band
            wherever there are so many; 0 where they are those over the members of ``band``.
        early: the updates that come first in each row of a tile, though not yet in the plan's schedule; None where
            there are none.
        unrolling: the iterations of the loop around each statement's own loops that may run statement by statement;
            None where there are none.
    """

    domain: isl.UnionSet
    prefix: isl.MultiUnionPwAff | None
    band: isl.MultiUnionPwAff | None = None
    private: frozenset[str] = frozenset()
    local: frozenset[str] = frozenset()
    contiguous: int | None = None
    accumulated: int | None = None
    independent: frozenset[int] = frozenset()
    sums: frozenset[str] = frozenset()
    nested: int = 0
    early: EarlyUpdates | None = None
    unrolling: Unrolling | None = None

    @property
    def outer_depth(self) -> int:
        """Return how many serial loops are around it."""
        return 0 if self.prefix is None else self.prefix.dim(isl.dim_type.set)

    @property
    def depth(self) -> int:
        """Return how many members are tiled."""
        return 0 if self.band is None else self.band.dim(isl.dim_type.set)

    @property
    def statement_depth(self) -> int:
        """Return how many loops of the source are around its innermost statement."""
        return max((part.dim(isl.dim_type.set) for part in sets_of(self.domain)), default=0)


@dataclass(frozen=True)
class SerialLoop:
    """A loop that all workers run in step, and what is known of it: the first member of a band."""

    statements: tuple[str, ...]
    analysis: BandAnalysis

    @property
    def obstacles(self) -> tuple[BandObstacle, ...]:
        """Return what keeps the loop from being parallel."""
        return self.analysis.obstacles[0]


@dataclass(frozen=True)
class Plan:
    """A schedule tree in which every statement instance lies under exactly one ``region`` mark.

    ``serial`` tells the loops around regions; a plan without ``team`` is one piece of serial work.  ``interleaves``
    says whether the points of some region's tiles advance together, ``accumulates`` whether in some innermost band the
    last member is one along which everything updates the same elements.  ``origin`` is that of its candidate.
    """

    recipe: Recipe
    schedule: isl.Schedule
    regions: tuple[Region, ...]
    serial: tuple[SerialLoop, ...]
    dependences: Dependences
    interleaves: bool = False
    accumulates: bool = False
    origin: Origin | None = None

    @property
    def name(self) -> str:
        """The recipe's name."""
        return self.recipe.name

    @property
    def expands(self) -> bool:
        """Return whether the points of some region's tiles each have their own copy of an array."""
        return any(region.expansion is not None for region in self.regions)

    @property
    def sums(self) -> bool:
        """Return whether workers have copies to add up in."""
        return any(region.sums for region in self.regions)

    @property
    def begins_early(self) -> bool:
        """Return whether some updates come first in each row of some region's tiles."""
        return any(region.early is not None for region in self.regions)

    @property
    def team(self) -> bool:
        """Return whether there is anything to share out."""
        return any(region.kind is not RegionKind.SERIAL for region in self.regions)

    @property
    def tile_depth(self) -> int:
        """The largest number of tiled members of any region."""
        return max((region.depth for region in self.regions), default=0)
