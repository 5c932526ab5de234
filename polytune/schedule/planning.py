"""Plans: which bands of a schedule tree are shared out, and in which order the points of their tiles run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import islpy as isl

from polytune.frontend.budget import within_budget
from polytune.frontend.scop import Scop
from polytune.schedule.analysis.bands import BandAnalysis, analyse_band, is_contained
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.analysis.independence import independent_inside
from polytune.schedule.candidate import Candidate
from polytune.schedule.plan_options import PlanOptions
from polytune.schedule.plan_transform import PlanTransform, options_of
from polytune.schedule.recipe import Recipe
from polytune.schedule.regions import MARK, Plan, Region, RegionKind, SerialLoop
from polytune.schedule.tiles.abreast import iterations_abreast
from polytune.schedule.tiles.distribution import distribute_innermost
from polytune.schedule.tiles.early_updates import early_updates
from polytune.schedule.tiles.expansion import expand_points
from polytune.schedule.tiles.interchange import (
    accumulation_order,
    point_order,
    reorder_band,
    reuse_order,
    select_members,
)
from polytune.schedule.tiles.row_sweeps import RowSweep, distribute_rows, row_sweep_of
from polytune.schedule.tree import below_mark, has_band, in_one_loop, separate_innermost, statements_of
from polytune.schedule.unions import sets_of, union_of

LEAST_WITH_PLANES = 4
"""Tiled members with which two loops of each statement's own are a plane of a tile and not all of a step in time."""

OPERATIONS = 4_000_000
"""isl's budget for one plan, in its own basic operations (about a second); three times that where a kernel has been
cut into many statements."""


def plan_serial(candidate: Candidate) -> Plan:
    """The whole schedule as one piece of serial work.

    There is always one: where isl takes too long to say which live ranges the work contains, no array is taken for
    local.
    """
    planner = _Planner(candidate, candidate.order.options)
    root = candidate.schedule.get_root().child(0)
    dependences = candidate.dependences
    contained = within_budget(root.get_ctx(), OPERATIONS, lambda: _contained_arrays(root, dependences))
    return planner.finish(Recipe(candidate.order), planner.mark_serial(root, contained or frozenset()))


def plan_parallel(
    candidate: Candidate, transforms: Sequence[PlanTransform] = (), relaxed: Dependences | None = None
) -> Plan | None:
    """Find the outermost bands that can be shared out; None where isl takes too long for that.

    A band with coincident members becomes a parallel region.  A permutable band of two members or more without any
    becomes a wavefront region if asked to: tickets, that is tile coordinates (t0, t1, ...) of the members shared out,
    are independent if they have equal sums, since all distances are non-negative in each of them.  Otherwise the
    band's first member becomes a loop that all workers run in step, and the search goes on inside it.

    Args:
        candidate: the schedule.
        transforms: what the plan is to have beside what the order has by itself.
        relaxed: the dependences without those among the updates of an element, for a plan with early updates.
    """
    planner = _Planner(candidate, options_of(candidate, transforms), relaxed)
    root = candidate.schedule.get_root().child(0)
    operations = 3 * OPERATIONS if candidate.serial else OPERATIONS
    marked = within_budget(root.get_ctx(), operations, lambda: planner.visit(root))
    return None if marked is None else planner.finish(Recipe(candidate.order, tuple(transforms)), marked)


@dataclass
class _Planner:
    candidate: Candidate
    options: PlanOptions
    relaxed: Dependences | None = None
    regions: list[Region] = field(default_factory=list)
    serial: list[SerialLoop] = field(default_factory=list)
    interleaves: bool = False
    accumulates: bool = False

    def finish(self, recipe: Recipe, node: isl.ScheduleNode) -> Plan:
        dependences = self.candidate.dependences
        regions, serial = tuple(self.regions), tuple(self.serial)
        schedule = node.get_schedule()
        return Plan(recipe, schedule, regions, serial, dependences, self.interleaves, self.accumulates)

    def visit(self, node: isl.ScheduleNode) -> isl.ScheduleNode:
        """The node, at the same position, with marks inserted above the regions of its subtree."""
        kind = node.get_type()
        if kind != isl.schedule_node_type.filter and self.is_serial(node):
            return self.mark_serial(node, self.contained_in(node))
        if kind == isl.schedule_node_type.band:
            return self.visit_band(node)
        if kind != isl.schedule_node_type.filter and not has_band(node):
            return self.mark_serial(node, self.contained_in(node))
        if kind in (isl.schedule_node_type.sequence, isl.schedule_node_type.set):
            return self.visit_sequence(node)
        for position in range(node.n_children()):
            node = self.visit(node.child(position)).parent()
        return node

    def visit_band(self, node: isl.ScheduleNode) -> isl.ScheduleNode:
        sweep = self.row_sweep(node)
        if sweep is not None:
            return self.mark_rows(sweep)
        analysis = analyse_band(node, self.candidate.dependences)
        members = node.band_n_member()
        if analysis.permutable and any(analysis.coincident):
            parallel = [member for member in range(members) if analysis.coincident[member]]
            others = [member for member in range(members) if not analysis.coincident[member]]
            return self.mark_tiles(node, RegionKind.PARALLEL, (*parallel, *others), len(parallel), analysis)
        if analysis.concurrent and members >= 2 and self.options.wavefront:
            return self.mark_tiles(node, RegionKind.WAVEFRONT, tuple(range(members)), max(2, members - 1), analysis)
        if members > 1:
            node = node.band_split(1)
            analysis = analyse_band(node, self.candidate.dependences)
            if analysis.coincident[0]:
                return self.mark_tiles(node, RegionKind.PARALLEL, (0,), 1, analysis)
        inner = node.child(0)
        if not self.has_parallel_band(inner):
            return self.mark_serial(node, self.contained_in(node))
        self.serial.append(SerialLoop(statements_of(node), analysis.obstacles[0]))
        return self.visit(inner).parent()

    def row_sweep(self, node: isl.ScheduleNode) -> RowSweep | None:
        """A band node as a sweep of which workers share out the rows if they have copies to add up in."""
        return row_sweep_of(node, self.candidate.dependences) if self.options.sums else None

    def visit_sequence(self, node: isl.ScheduleNode) -> isl.ScheduleNode:
        """Each run of neighbours without anything to share out becomes one region, the others are visited."""
        groups: list[tuple[bool, isl.UnionSet]] = []
        for position in range(node.n_children()):
            child = node.child(position)
            instances = child.filter_get_filter().intersect(node.get_domain())
            if instances.is_empty():
                continue
            serial = not self.has_parallel_band(child)
            if groups and serial and groups[-1][0]:
                groups[-1] = (True, groups[-1][1].union(instances))
            else:
                groups.append((serial, instances))
        if len(groups) == 1:
            if groups[0][0]:
                return self.mark_serial(node, self.contained_in(node))
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
        local = analysis.resident
        if kind is RegionKind.WAVEFRONT:
            private = local
        else:
            scop = self.candidate.dependences.scop
            private = analysis.conflicting | {name for name in local if scop.array(name).ndim == 0}
            local &= private
        band = select_members(node.band_get_partial_schedule(), order)
        contiguous = accumulated = None
        if self.options.expand and shared == node.band_n_member():
            expanded = expand_points(node, analysis, self.candidate.dependences)
            if expanded is not None:
                node, expansion = expanded
                region = replace(self.region(node, kind, band, shared, private, local), expansion=expansion)
                self.regions[-1] = region
                return self.mark(separate_innermost(node), region)
        if self.options.interchange:
            if not has_band(node.child(0)):
                scop = self.candidate.dependences.scop
                points = accumulation_order(node, scop) if self.options.accumulate else None
                if points is not None:
                    contiguous, accumulated = order.index(points[-2]), order.index(points[-1])
                    node = reorder_band(node, points)
                    self.accumulates = True
                else:
                    points = point_order(node, scop)
                    contiguous = order.index(points[-1])
                    node = reorder_band(node, points)
                    if kind is RegionKind.WAVEFRONT:
                        node = self.distribute(node)
            else:
                node = self.interchange_below(node)
                if kind is RegionKind.WAVEFRONT:
                    node = reorder_band(node, reuse_order(node, self.candidate.dependences.scop))
            node = separate_innermost(node)
        if self.options.interleave and shared == node.band_n_member() and self.may_interleave(node, private):
            self.interleaves = True
            marked = self.mark(node, self.region(node, kind, band, shared, private, local, 0))
            return marked.child(0).band_sink().parent()
        region = self.region(node, kind, band, shared, private, local, contiguous, accumulated)
        if kind is RegionKind.PARALLEL:
            arrays = {name for name in analysis.resident if self.candidate.dependences.scop.array(name).ndim}
            region = self.regions[-1] = replace(region, resident=frozenset(arrays) - private)
        elif kind is RegionKind.WAVEFRONT and node.band_n_member() < len(order):
            abreast = iterations_abreast(node, self.candidate.dependences)
            region = self.regions[-1] = replace(region, abreast=abreast)
        elif kind is RegionKind.WAVEFRONT and self.options.early and self.relaxed is not None:
            depth = _depth(node.root())
            updates = early_updates(node, self.candidate.schedule, self.relaxed, depth)
            if updates is not None:
                region = self.regions[-1] = replace(region, early=updates, independent=frozenset([updates.depth]))
        return self.mark(node, region)

    def mark_rows(self, sweep: RowSweep) -> isl.ScheduleNode:
        """A region of tiles of the rows of a sweep."""
        dependences, analysis = self.candidate.dependences, sweep.analysis
        private = analysis.conflicting | {name for name in analysis.resident if not dependences.scop.array(name).ndim}
        rows = select_members(sweep.node.band_get_partial_schedule(), (0,))
        node, nested = distribute_rows(sweep, dependences)
        region = self.region(node, RegionKind.PARALLEL, rows, 1, private, analysis.resident & private)
        self.regions[-1] = region = replace(region, sums=sweep.sums, nested=nested)
        return self.mark(separate_innermost(node), region)

    def distribute(self, node: isl.ScheduleNode) -> isl.ScheduleNode:
        """The band of a tile with its innermost two loops, or one, each statement's own, where that pays and is
        legal."""
        members = node.band_n_member()
        for loops in (2, 1) if members >= LEAST_WITH_PLANES else (1,):
            distributed = distribute_innermost(node, self.candidate.dependences, loops)
            if distributed.band_n_member() < members:
                return in_one_loop(distributed)
        return node

    def interchange_below(self, node: isl.ScheduleNode) -> isl.ScheduleNode:
        """Put the contiguous member innermost in every permutable band that has no band below it, or one that
        accumulates."""
        dependences = self.candidate.dependences
        if node.get_type() == isl.schedule_node_type.band and not has_band(node.child(0)):
            if node.band_n_member() > 1 and analyse_band(node, dependences).permutable:
                order = accumulation_order(node, dependences.scop) if self.options.accumulate else None
                self.accumulates |= order is not None
                return reorder_band(node, order or point_order(node, dependences.scop))
            return node
        for position in range(node.n_children()):
            node = self.interchange_below(node.child(position)).parent()
        return node

    def may_interleave(self, node: isl.ScheduleNode, private: frozenset[str]) -> bool:
        """Whether that pays and is possible: all innermost loops carry dependences, and the points of a tile have no
        variables of their own, of which each would then need a copy."""
        if not has_band(node.child(0)) or not _carries_everywhere(node.child(0), self.candidate.dependences):
            return False
        accessed = node.get_domain().apply(_all_accesses(self.candidate.dependences.scop))
        return not private & {part.get_tuple_name() for part in sets_of(accessed)}

    def has_parallel_band(self, node: isl.ScheduleNode) -> bool:
        """Whether anything in a subtree can be shared out."""
        if self.is_serial(node):
            return False
        if node.get_type() == isl.schedule_node_type.band:
            if self.row_sweep(node) is not None:
                return True
            analysis = analyse_band(node, self.candidate.dependences)
            if any(analysis.coincident) and (analysis.permutable or analysis.coincident[0]):
                return True
            if self.options.wavefront and analysis.concurrent and node.band_n_member() >= 2:
                return True
            if node.band_n_member() > 1:
                return self.has_parallel_band(node.band_split(1).child(0))
        return any(self.has_parallel_band(node.child(position)) for position in range(node.n_children()))

    def is_serial(self, node: isl.ScheduleNode) -> bool:
        """Whether a subtree has none but statements that are too little work to be shared out."""
        return bool(self.candidate.serial) and self.candidate.serial.issuperset(statements_of(node))

    def contained_in(self, node: isl.ScheduleNode) -> frozenset[str]:
        return _contained_arrays(node, self.candidate.dependences)

    def mark_serial(self, node: isl.ScheduleNode, contained: frozenset[str]) -> isl.ScheduleNode:
        """Work for one worker; the arrays that it contains live as long as its one execution."""
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
        accumulated: int | None = None,
    ) -> Region:
        prefix = node.get_prefix_schedule_multi_union_pw_aff() if node.get_schedule_depth() else None
        inside = independent_inside(node, self.candidate.dependences) if self.options.look_inside else frozenset()
        places = contiguous, accumulated, inside
        region = Region(len(self.regions), kind, node.get_domain(), prefix, band, shared, private, local, *places)
        self.regions.append(region)
        return region

    def mark(self, node: isl.ScheduleNode, region: Region) -> isl.ScheduleNode:
        return node.insert_mark(isl.Id.read_from_str(node.get_ctx(), f"{MARK}{region.index}"))


def _depth(node: isl.ScheduleNode) -> int:
    """The largest number of loops around anything below a node."""
    if node.get_type() == isl.schedule_node_type.leaf:
        return node.get_schedule_depth()
    return max(_depth(node.child(position)) for position in range(node.n_children()))


def _all_accesses(scop: Scop) -> isl.UnionMap:
    """``{ S[i] -> A[a] }`` over all references."""
    return union_of(
        (isl.UnionMap.from_map(access.relation) for statement in scop.statements for access in statement.accesses), scop
    )


def _carries_everywhere(node: isl.ScheduleNode, dependences: Dependences) -> bool:
    """Whether the last member of every innermost band carries a dependence."""
    if node.get_type() == isl.schedule_node_type.band and not has_band(node.child(0)):
        return not analyse_band(node, dependences).coincident[-1]
    return all(_carries_everywhere(node.child(position), dependences) for position in range(node.n_children()))


def _contained_arrays(node: isl.ScheduleNode, dependences: Dependences) -> frozenset[str]:
    return frozenset(
        array
        for array in dependences.privatisable
        if array in dependences.flow and is_contained(dependences.flow[array], node)
    )


def in_point_order(schedule: isl.Schedule, region: Region, scop: Scop) -> isl.Schedule:
    """A plan's schedule with the innermost member of a region's band the contiguous one, not the accumulated one."""
    node = below_mark(schedule.get_root(), f"{MARK}{region.index}")
    assert node is not None, "every region has a mark"
    return separate_innermost(reorder_band(node, point_order(node, scop))).get_schedule()
