"""Regions: the parts of a schedule tree that a team of workers executes together, one after another."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import islpy as isl

from polytune.schedule.bands import BandAnalysis, Obstacle, analyse_band, is_contained
from polytune.schedule.candidate import Candidate
from polytune.schedule.dependences import Dependences
from polytune.schedule.interchange import point_order, reorder_band, select_members

MARK = "region"


class RegionKind(Enum):
    """How the tiles of a region are shared out: all at once, along anti-diagonals, or one piece of serial work."""

    PARALLEL = "parallel"
    WAVEFRONT = "wavefront"
    SERIAL = "serial"


@dataclass(frozen=True)
class Region:
    """One region.

    Attributes:
        index: its number, also that of its mark in the schedule tree.
        domain: the statement instances it executes, over all its executions.
        prefix: ``S[i] -> outer time``, the serial loops around it; None where there are none.
        band: the partial schedule that is tiled, the members that are shared out first; None for serial work.
        shared: how many leading members of ``band`` are shared out (1 or more coincident ones; 2 for a wavefront).
        private: arrays of which each worker has a copy here.
        local: those that may be variables of one tile's code, since no live range leaves a point of the band.
        contiguous: the member of ``band`` that is innermost within a tile, if the members were put in order for
        contiguous
            accesses.
    """

    index: int
    kind: RegionKind
    domain: isl.UnionSet
    prefix: isl.MultiUnionPwAff | None
    band: isl.MultiUnionPwAff | None
    shared: int
    private: frozenset[str]
    local: frozenset[str]
    contiguous: int | None = None

    @property
    def outer_depth(self) -> int:
        """How many serial loops are around it."""
        return 0 if self.prefix is None else self.prefix.dim(isl.dim_type.set)

    @property
    def depth(self) -> int:
        """How many members are tiled."""
        return 0 if self.band is None else self.band.dim(isl.dim_type.set)


@dataclass(frozen=True)
class SerialLoop:
    """A loop that all workers run in step, with what keeps it from being parallel."""

    statements: tuple[str, ...]
    obstacles: tuple[Obstacle, ...]


@dataclass(frozen=True)
class Plan:
    """A schedule tree in which every statement instance lies under exactly one ``region`` mark.

    ``serial`` tells the loops around regions; a plan without ``team`` is one piece of serial work.
    """

    name: str
    schedule: isl.Schedule
    regions: tuple[Region, ...]
    serial: tuple[SerialLoop, ...]
    dependences: Dependences

    @property
    def team(self) -> bool:
        """Whether there is anything to share out."""
        return any(region.kind is not RegionKind.SERIAL for region in self.regions)

    @property
    def tile_depth(self) -> int:
        """The largest number of tiled members of any region."""
        return max((region.depth for region in self.regions), default=0)


def plan_serial(candidate: Candidate) -> Plan:
    """The whole schedule as one piece of serial work."""
    planner = _Planner(candidate, wavefront=False, interchange=False)
    root = planner.mark_serial(candidate.schedule.get_root().child(0))
    return planner.finish(candidate.name, root)


def plan_parallel(candidate: Candidate, *, wavefront: bool, interchange: bool, name: str) -> Plan:
    """Find the outermost bands that can be shared out.

    A band with coincident members becomes a parallel region.  A permutable band of two members or more without any
    becomes a wavefront region if asked to: the tiles (t0, t1, ...) with equal t0 + t1 are independent, since all
    distances are non-negative in both.  Otherwise the band's first member becomes a loop that all workers run in
    step, and the search goes on inside it.
    """
    planner = _Planner(candidate, wavefront, interchange)
    root = planner.visit(candidate.schedule.get_root().child(0))
    return planner.finish(name, root)


@dataclass
class _Planner:
    candidate: Candidate
    wavefront: bool
    interchange: bool
    regions: list[Region] = field(default_factory=list)
    serial: list[SerialLoop] = field(default_factory=list)

    def finish(self, name: str, node: isl.ScheduleNode) -> Plan:
        return Plan(name, node.get_schedule(), tuple(self.regions), tuple(self.serial), self.candidate.dependences)

    def visit(self, node: isl.ScheduleNode) -> isl.ScheduleNode:
        """The node, at the same position, with marks inserted above the regions of its subtree."""
        kind = node.get_type()
        if kind == isl.schedule_node_type.band:
            return self.visit_band(node)
        if kind != isl.schedule_node_type.filter and not _has_band(node):
            return self.mark_serial(node)
        if kind in (isl.schedule_node_type.sequence, isl.schedule_node_type.set):
            return self.visit_sequence(node)
        for position in range(node.n_children()):
            node = self.visit(node.child(position)).parent()
        return node

    def visit_band(self, node: isl.ScheduleNode) -> isl.ScheduleNode:
        analysis = analyse_band(node, self.candidate.dependences)
        members = node.band_n_member()
        if analysis.permutable and any(analysis.coincident):
            parallel = [member for member in range(members) if analysis.coincident[member]]
            others = [member for member in range(members) if not analysis.coincident[member]]
            return self.mark_tiles(node, RegionKind.PARALLEL, (*parallel, *others), len(parallel), analysis)
        if analysis.concurrent and members >= 2 and self.wavefront:
            return self.mark_tiles(node, RegionKind.WAVEFRONT, tuple(range(members)), 2, analysis)
        if members > 1:
            node = node.band_split(1)
            analysis = analyse_band(node, self.candidate.dependences)
            if analysis.coincident[0]:
                return self.mark_tiles(node, RegionKind.PARALLEL, (0,), 1, analysis)
        inner = node.child(0)
        if not _has_parallel_band(inner, self.candidate.dependences, self.wavefront):
            return self.mark_serial(node)
        self.serial.append(SerialLoop(_statements(node), analysis.obstacles[0]))
        return self.visit(inner).parent()

    def visit_sequence(self, node: isl.ScheduleNode) -> isl.ScheduleNode:
        """Each run of neighbours without anything to share out becomes one region, the others are visited."""
        dependences = self.candidate.dependences
        groups: list[tuple[bool, isl.UnionSet]] = []
        for position in range(node.n_children()):
            child = node.child(position)
            instances = child.filter_get_filter().intersect(node.get_domain())
            if instances.is_empty():
                continue
            serial = not _has_parallel_band(child, dependences, self.wavefront)
            if groups and serial and groups[-1][0]:
                groups[-1] = (True, groups[-1][1].union(instances))
            else:
                groups.append((serial, instances))
        if len(groups) == 1:
            if groups[0][0]:
                return self.mark_serial(node)
        elif len(groups) < node.n_children():
            filters = isl.UnionSetList.alloc(node.get_ctx(), len(groups))
            for _, instances in groups:
                filters = filters.add(instances.gist(node.get_domain()))
            node = node.insert_sequence(filters)
        for position in range(node.n_children()):
            if not node.child(position).get_domain().is_empty():
                node = self.visit(node.child(position)).parent()
        return node

    def mark_tiles(
        self,
        node: isl.ScheduleNode,
        kind: RegionKind,
        order: tuple[int, ...],
        shared: int,
        analysis: BandAnalysis,
    ) -> isl.ScheduleNode:
        private, local = analysis.contained, analysis.resident
        if kind is RegionKind.WAVEFRONT:
            private = local
        band = select_members(node.band_get_partial_schedule(), order)
        contiguous = None
        if self.interchange:
            if not _has_band(node.child(0)):
                contiguous = order.index(point_order(node, self.candidate.dependences.scop)[-1])
            node = _separate_innermost(_interchange_below(node, self.candidate.dependences))
        return self.mark(node, self.region(node, kind, band, shared, private, local, contiguous))

    def mark_serial(self, node: isl.ScheduleNode) -> isl.ScheduleNode:
        """Work for one worker; its arrays live as long as its one execution."""
        contained = _contained_arrays(node, self.candidate.dependences)
        return self.mark(node, self.region(node, RegionKind.SERIAL, None, 0, contained, contained))

    def region(
        self,
        node: isl.ScheduleNode,
        kind: RegionKind,
        band: isl.MultiUnionPwAff | None,
        shared: int,
        private: frozenset[str],
        local: frozenset[str],
        contiguous: int | None = None,
    ) -> Region:
        prefix = node.get_prefix_schedule_multi_union_pw_aff() if node.get_schedule_depth() else None
        region = Region(len(self.regions), kind, node.get_domain(), prefix, band, shared, private, local, contiguous)
        self.regions.append(region)
        return region

    def mark(self, node: isl.ScheduleNode, region: Region) -> isl.ScheduleNode:
        return node.insert_mark(isl.Id.read_from_str(node.get_ctx(), f"{MARK}{region.index}"))


def _interchange_below(node: isl.ScheduleNode, dependences: Dependences) -> isl.ScheduleNode:
    """Put the contiguous member innermost in every permutable band that has no band below it."""
    if node.get_type() == isl.schedule_node_type.band and not _has_band(node.child(0)):
        if node.band_n_member() > 1 and analyse_band(node, dependences).permutable:
            return reorder_band(node, point_order(node, dependences.scop))
        return node
    for position in range(node.n_children()):
        node = _interchange_below(node.child(position), dependences).parent()
    return node


def _separate_innermost(node: isl.ScheduleNode) -> isl.ScheduleNode:
    """Have isl split the innermost loops where other statements begin or end, so that no condition is left inside
    them."""
    if node.get_type() == isl.schedule_node_type.band and not _has_band(node.child(0)):
        return node.band_member_set_ast_loop_type(node.band_n_member() - 1, isl.ast_loop_type.separate)
    for position in range(node.n_children()):
        node = _separate_innermost(node.child(position)).parent()
    return node


def _has_band(node: isl.ScheduleNode) -> bool:
    if node.get_type() == isl.schedule_node_type.band:
        return True
    return any(_has_band(node.child(position)) for position in range(node.n_children()))


def _has_parallel_band(node: isl.ScheduleNode, dependences: Dependences, wavefront: bool) -> bool:
    """Whether anything below can be shared out."""
    if node.get_type() == isl.schedule_node_type.band:
        analysis = analyse_band(node, dependences)
        if any(analysis.coincident) and (analysis.permutable or analysis.coincident[0]):
            return True
        if wavefront and analysis.concurrent and node.band_n_member() >= 2:
            return True
        if node.band_n_member() > 1:
            return _has_parallel_band(node.band_split(1).child(0), dependences, wavefront)
    return any(
        _has_parallel_band(node.child(position), dependences, wavefront) for position in range(node.n_children())
    )


def _contained_arrays(node: isl.ScheduleNode, dependences: Dependences) -> frozenset[str]:
    return frozenset(
        array
        for array in dependences.privatisable
        if array in dependences.flow and is_contained(dependences.flow[array], node)
    )


def _statements(node: isl.ScheduleNode) -> tuple[str, ...]:
    names: list[str] = []
    node.get_domain().foreach_set(lambda part: names.append(part.get_tuple_name()))
    return tuple(sorted(names))
