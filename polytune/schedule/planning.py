"""Plans: which bands of a schedule tree are shared out, and in which order the points of their tiles run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any

import islpy as isl

from polytune.frontend.polyhedral.budget import PHASE_BUDGET, within_budget
from polytune.frontend.scop import Scop
from polytune.records import dataclass
from polytune.schedule.analysis.bands import BandAnalysis, analyse_band, independent_inside, is_contained
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.analysis.legality import is_proven_legal
from polytune.schedule.candidate import Candidate, PlanOptions
from polytune.schedule.plan_transform import PlanTransform, options_of
from polytune.schedule.recipe import Recipe
from polytune.schedule.regions import MARK, Plan, Region, RegionKind, SerialLoop
from polytune.schedule.tiles.distribution import distribute_innermost, unrollable
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
from polytune.schedule.tree import (
    below_mark,
    has_band,
    in_one_loop,
    is_one_iteration,
    separate_innermost,
    statements_of,
)
from polytune.schedule.unions import sets_of, union_of

LEAST_WITH_PLANES = 4
"""Tiled members with which two loops of each statement's own are a plane of a tile and not all of a step in time."""


def plan_serial(candidate: Candidate) -> Plan:
    """The whole schedule as one piece of serial work.

    There is always one: where isl takes too long to say which live ranges the work contains, no array is taken for
    local.
    """
    planner = _Planner(candidate, candidate.order.options)
    root = candidate.schedule.get_root().child(0)
    dependences = candidate.dependences
    contained = within_budget(root.get_ctx(), PHASE_BUDGET, lambda: _contained_arrays(root, dependences))
    return planner.finish(Recipe(candidate.order), planner.mark_serial(root, contained or frozenset()))


def plan_parallel(
    candidate: Candidate, transforms: Sequence[PlanTransform] = (), relaxed: Dependences | None = None
) -> Plan | None:
    """Find the outermost bands that can be shared out; None where isl takes too long for that, or for the proof that
    the order of what is inside is legal.

    A band with coincident members becomes a parallel region.  A permutable band of two members or more without any
    becomes a wavefront region if asked to: tasks, that is tile coordinates (t0, t1, ...) of the members shared out,
    are independent if they have equal sums, since all distances are non-negative in each of them.  Otherwise the
    band's first member becomes a loop that all workers run in step, and the search goes on inside it.

    Args:
        candidate: the schedule.
        transforms: what the plan is to have beside what the order has by itself.
        relaxed: the dependences without those among the updates of an element, for a plan with early updates.
    """
    planner = _Planner(candidate, options_of(candidate, transforms), relaxed)
    root = candidate.schedule.get_root().child(0)
    # Where a kernel has been cut into many statements, there is more to look at.
    operations = 3 * PHASE_BUDGET if candidate.serial else PHASE_BUDGET
    marked = within_budget(root.get_ctx(), operations, lambda: planner.visit(root))
    if marked is None:
        return None
    plan = planner.finish(Recipe(candidate.order, tuple(transforms)), marked)
    expansions = (region.expansion.arrays for region in plan.regions if region.expansion is not None)
    # Interchange and distribution change the order of a schedule that was proven legal.
    copied = frozenset(name for arrays in expansions for name in arrays)
    return plan if is_proven_legal(plan.schedule, plan.dependences, copied=copied) else None


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
        origin = self.candidate.origin
        return Plan(recipe, schedule, regions, serial, dependences, self.interleaves, self.accumulates, origin)

    @property
    def scop(self) -> Scop:
        """The kernel."""
        return self.candidate.dependences.scop

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
        if is_one_iteration(node):  # shared out, it would have one worker do all that is inside
            return self.visit(node.delete())
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
        self.serial.append(SerialLoop(statements_of(node), analysis))
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
        """A region of tiles of a band, with the points of a tile in the order that the options ask for.

        Args:
            node: the band.
            kind: how its tiles are shared out.
            order: its members, those that are shared out first.
            shared: how many are shared out.
            analysis: what the band may do.
        """
        private, local = self.own_arrays(kind, analysis)
        band = select_members(node.band_get_partial_schedule(), order)
        tiles = partial(self.region, kind=kind, band=band, shared=shared, private=private, local=local)
        if self.options.expand and shared == node.band_n_member():
            expanded = expand_points(node, analysis, self.candidate.dependences)
            if expanded is not None:
                node, expansion = expanded
                return self.mark(separate_innermost(node), tiles(node, expansion=expansion))
        contiguous = accumulated = None
        if self.options.interchange:
            node, innermost = self.interchange(node, kind)
            contiguous, accumulated = (None if member is None else order.index(member) for member in innermost)
        if self.options.interleave and shared == node.band_n_member() and self.may_interleave(node, private):
            self.interleaves = True
            return self.mark(node, tiles(node, contiguous=0)).child(0).band_sink().parent()
        region = tiles(node, contiguous=contiguous, accumulated=accumulated)
        if kind is RegionKind.PARALLEL:
            arrays = {name for name in analysis.resident if self.scop.array(name).ndim}
            return self.mark(node, replace(region, resident=frozenset(arrays) - private))
        return self.mark(node, self.with_points_apart(region, node, len(order)))

    def own_arrays(self, kind: RegionKind, analysis: BandAnalysis) -> tuple[frozenset[str], frozenset[str]]:
        """The arrays of which each worker has a copy in a band's tiles, and those of them that live in one point."""
        local = analysis.resident
        if kind is RegionKind.WAVEFRONT:
            return local, local
        private = analysis.conflicting | {name for name in local if self.scop.array(name).ndim == 0}
        return private, local & private

    def interchange(
        self, node: isl.ScheduleNode, kind: RegionKind
    ) -> tuple[isl.ScheduleNode, tuple[int | None, int | None]]:
        """A band of tiles with the loops over points in the order that suits memory, and two of its members: that along
        which arrays are contiguous, and that along which everything updates the same elements, if it has these."""
        innermost: tuple[int | None, int | None] = (None, None)
        if has_band(node.child(0)):
            node = self.interchange_below(node)
            if kind is RegionKind.WAVEFRONT:
                node = reorder_band(node, reuse_order(node, self.scop))
            return separate_innermost(node), innermost
        points = accumulation_order(node, self.scop) if self.options.accumulate else None
        if points is not None:
            self.accumulates = True
            return separate_innermost(reorder_band(node, points)), (points[-2], points[-1])
        points = point_order(node, self.scop)
        node = reorder_band(node, points)
        if kind is RegionKind.WAVEFRONT:
            node = self.distribute(node)
        return separate_innermost(node), (points[-1], None)

    def with_points_apart(self, region: Region, node: isl.ScheduleNode, members: int) -> Region:
        """A wavefront with what is known of points that need not wait for one another in its tiles, of so many
        members: iterations that may be unrolled, or updates that may come early."""
        if node.band_n_member() < members:
            return replace(region, unrolling=unrollable(node, self.candidate.dependences))
        if self.options.early and self.relaxed is not None:
            updates = early_updates(node, self.candidate.schedule, self.relaxed, _depth(node.root()))
            if updates is not None:
                return replace(region, early=updates, independent=frozenset([updates.depth]))
        return region

    def mark_rows(self, sweep: RowSweep) -> isl.ScheduleNode:
        """A region of tiles of the rows of a sweep."""
        dependences, analysis = self.candidate.dependences, sweep.analysis
        private = analysis.conflicting | {name for name in analysis.resident if not dependences.scop.array(name).ndim}
        rows = select_members(sweep.node.band_get_partial_schedule(), (0,))
        node, nested = distribute_rows(sweep, dependences)
        local = analysis.resident & private
        tiles = partial(self.region, node, RegionKind.PARALLEL, band=rows, shared=1, private=private, local=local)
        return self.mark(separate_innermost(node), tiles(sums=sweep.sums, nested=nested))

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
        """Return whether that pays and is possible: all innermost loops carry dependences, and the points of a tile
        have no variables of their own, of which each would then need a copy."""
        if not has_band(node.child(0)) or not _carries_everywhere(node.child(0), self.candidate.dependences):
            return False
        accessed = node.get_domain().apply(_all_accesses(self.scop))
        return not private & {part.get_tuple_name() for part in sets_of(accessed)}

    def has_parallel_band(self, node: isl.ScheduleNode) -> bool:
        """Return whether anything in a subtree can be shared out."""
        if self.is_serial(node):
            return False
        if node.get_type() == isl.schedule_node_type.band:
            if is_one_iteration(node):
                return self.has_parallel_band(node.child(0))
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
        """Return whether a subtree has none but statements that are too little work to be shared out."""
        return bool(self.candidate.serial) and self.candidate.serial.issuperset(statements_of(node))

    def contained_in(self, node: isl.ScheduleNode) -> frozenset[str]:
        return _contained_arrays(node, self.candidate.dependences)

    def mark_serial(self, node: isl.ScheduleNode, contained: frozenset[str]) -> isl.ScheduleNode:
        """Work for one worker; the arrays that it contains live as long as its one execution."""
        return self.mark(node, self.region(node, RegionKind.SERIAL, private=contained, local=contained))

    def region(self, node: isl.ScheduleNode, kind: RegionKind, **about: Any) -> Region:
        """Return what is known of the region of a node, beside what is told of it; not yet one of the plan's."""
        prefix = node.get_prefix_schedule_multi_union_pw_aff() if node.get_schedule_depth() else None
        inside = independent_inside(node, self.candidate.dependences) if self.options.look_inside else frozenset()
        return Region(
            index=len(self.regions),
            kind=kind,
            domain=node.get_domain(),
            prefix=prefix,
            **{"independent": inside, **about},
        )

    def mark(self, node: isl.ScheduleNode, region: Region) -> isl.ScheduleNode:
        """The node with a mark above it that says that it is the plan's next region."""
        self.regions.append(region)
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
    """Return whether the last member of every innermost band carries a dependence."""
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
    """A plan's schedule with the innermost member of a region's band the contiguous one, not the accumulated one.

    Args:
        schedule: a plan's, with a mark above the band of each region.
        region: the region, by its number.
        scop: the kernel.
    """
    node = below_mark(schedule.get_root(), f"{MARK}{region.index}")
    assert node is not None, "every region has a mark"
    return separate_innermost(reorder_band(node, point_order(node, scop))).get_schedule()
