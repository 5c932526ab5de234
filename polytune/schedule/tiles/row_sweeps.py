"""Sweeps over the rows of a matrix, shared out row by row, with private sums of what all rows add to.

In

    for i:
        for j: t[i] = t[i] + A[i, j] * x[j]
        for j: y[j] = y[j] + A[i, j] * t[i]

a row of A is still in a cache when it is used again, and rows follow one another in memory.  But iterations of i are
only independent if each worker has a y of its own, and each of the two loops alone is what vectors of several rows can
do.  So a tile of rows runs through the first loop with all of its rows, and then through the second one with all of
them.
"""

from __future__ import annotations

from itertools import takewhile

import islpy as isl

from polytune.frontend.polyhedral.budget import PHASE_BUDGET, within_budget
from polytune.frontend.scop import Scop, Statement
from polytune.records import dataclass
from polytune.schedule.analysis.bands import (
    BandAnalysis,
    analyse_band,
    distances,
    is_contained,
    open_dependences,
    stays,
)
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.analysis.legality import violation
from polytune.schedule.private_sums import MOST_DIMENSIONS, analyse_with_sums, is_scattered, summed_by, sums_across
from polytune.schedule.tiles.distribution import distributed_over, order_of_statements
from polytune.schedule.tiles.interchange import point_order, reorder_band
from polytune.schedule.tree import has_band
from polytune.schedule.unions import joined, maps_of, union_of


@dataclass(frozen=True)
class RowSweep:
    """A band whose first member workers may share out if they have copies of some sums.

    Attributes:
        node: the band node; its members in an order in which the most contiguous one is the last.
        analysis: what it may do with private sums.
        sums: the arrays that different values of the first member add to.
    """

    node: isl.ScheduleNode
    analysis: BandAnalysis
    sums: frozenset[str]


def row_sweep_of(node: isl.ScheduleNode, dependences: Dependences) -> RowSweep | None:
    """A band node as a sweep over rows; None where its first member, which is not the contiguous one if there are
    several, is not coincident with private sums, or is so without."""
    if node.get_type() != isl.schedule_node_type.band:
        return None
    members = node.band_n_member()
    analysis, arrays = analyse_with_sums(node, dependences)
    if not arrays or not analysis.permutable or not any(analysis.coincident):
        return None
    if members > 1:
        order = point_order(node, dependences.scop)
        node = reorder_band(node, order)
        analysis, arrays = analyse_with_sums(node, dependences)
    sums = sums_across(node, 0, arrays, dependences) if analysis.coincident[0] else frozenset()
    return RowSweep(node, analysis, sums) if sums else None


def distribute_rows(sweep: RowSweep, dependences: Dependences) -> tuple[isl.ScheduleNode, int]:
    """The node of a sweep with its rows inside the loops of each row, and how many loops in a row, from that over rows
    on, are one permutable band wherever there are so many.

    With P the schedule around the band and B its first member, no dependence leads from one value of B to another with
    equal P, but for those of private sums and the false ones of arrays of which workers have copies.  So the loop over
    B may be distributed over the sequence inside it, and interchanged with a loop in there that is permutable with it,
    if no copy keeps a value from one child of the sequence to the next.  The whole is checked again.
    """
    node = _separated(sweep.node, dependences)
    members = node.band_n_member()
    if members > 1 or not has_band(node.child(0)):
        return node, members
    rows = node.band_get_partial_schedule()
    inner = node.delete()
    nested: list[int] = []
    if inner.get_type() == isl.schedule_node_type.sequence:
        if not _keep_copies(inner, sweep.analysis.conflicting, dependences):
            return node, 1
        for position in range(inner.n_children()):
            child, loops = _with_rows(inner.child(position).child(0), rows, dependences)
            nested.append(loops)
            inner = child.parent().parent()
    else:
        inner, loops = _with_rows(inner, rows, dependences)
        nested.append(loops)
    if violation(inner.get_schedule(), dependences) is not None:
        return node, 1
    return inner, min((loops for loops in nested if loops), default=1)


def _separated(node: isl.ScheduleNode, dependences: Dependences) -> isl.ScheduleNode:
    """A band of rows and columns with a loop over columns for each statement, where one statement needs what another
    one makes of other columns of the row; the node where none does, or all of them need one another."""
    if node.band_n_member() != 2 or has_band(node.child(0)):
        return node
    loop = node.band_split(1).child(0)
    relations = [*dependences.flow.values(), *dependences.all_order.values()]
    between = joined(
        (
            isl.UnionMap.from_map(part)
            for part in maps_of(open_dependences(union_of(relations, dependences.scop), loop))
            if part.get_tuple_name(isl.dim_type.in_) != part.get_tuple_name(isl.dim_type.out)
        ),
        dependences.scop,
    )
    order = order_of_statements(loop, dependences)
    if order is None or stays(distances(between, loop.band_get_partial_schedule_union_map()), 0):
        return node
    return distributed_over(loop, order).parent()


def _with_rows(
    node: isl.ScheduleNode, rows: isl.MultiUnionPwAff, dependences: Dependences
) -> tuple[isl.ScheduleNode, int]:
    """A node with the loop over rows around it, in one band with its own innermost one if that is permutable; and of
    how many loops that band is, 0 where nothing but the loop over rows is there."""
    if node.get_type() == isl.schedule_node_type.leaf:
        return node.insert_partial_schedule(rows), 0
    if node.get_type() != isl.schedule_node_type.band or has_band(node.child(0)):
        return node.insert_partial_schedule(rows), 1
    partial = node.band_get_partial_schedule()
    joined = node.delete().insert_partial_schedule(rows.flat_range_product(partial))
    if analyse_band(joined, dependences).permutable:
        return joined.band_set_permutable(1), joined.band_n_member()
    return node.insert_partial_schedule(rows), 1


def _keep_copies(node: isl.ScheduleNode, copied: frozenset[str], dependences: Dependences) -> bool:
    """Return whether no array or scalar of which workers have copies carries a value from one child of a sequence to
    another."""
    return all(
        is_contained(dependences.flow[name], node.child(position))
        for name in sorted(copied & dependences.flow.keys())
        for position in range(node.n_children())
    )


def may_sweep_rows(scop: Scop) -> bool:
    """Return whether some statement of a kernel is one that a sweep over rows may be made of."""
    return any(_adds_to_rows(statement, scop) or is_scattered(statement) for statement in scop.statements)


def _adds_to_rows(statement: Statement, scop: Scop) -> bool:
    """Return whether a statement adds up more than once in an element of an array of which there may be copies.

    What else is done with a variable in two loops or more that are around the statement, too, as to set it to zero, is
    done in each sweep that has no more than one loop around: then it is not a sum of the sweep's.
    """
    array = summed_by(statement)
    if array is None or scop.array(array).ndim >= min(MOST_DIMENSIONS + 1, len(statement.iterators)):
        return False
    return scop.array(array).ndim > 0 or not any(
        summed_by(other) != array and _loops_around_both(statement, other) > 1
        for other in scop.statements
        if any(access.array == array for access in other.accesses)
    )


def _loops_around_both(statement: Statement, other: Statement) -> int:
    pairs = zip(statement.iterators, other.iterators, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def is_row_sweep(schedule: isl.Schedule, dependences: Dependences) -> bool:
    """Return whether a schedule is a sweep over rows, or has one inside a loop; not, where isl gives up on it."""
    root = schedule.get_root()
    found = within_budget(root.get_ctx(), PHASE_BUDGET, lambda: _has_row_sweep(root.child(0), dependences))
    return bool(found)


def _has_row_sweep(node: isl.ScheduleNode, dependences: Dependences) -> bool:
    """Return whether a node, or one below it with no more than one loop around, is a sweep over rows."""
    if node.get_schedule_depth() > 1:
        return False
    if row_sweep_of(node, dependences) is not None:
        return True
    return any(_has_row_sweep(node.child(position), dependences) for position in range(node.n_children()))
