"""Fusion of sweeps that workers share out with private sums: those over one matrix, and sums over loops of one length.

A sweep over a matrix that is fused with another one reads it once.  Sums of vectors, as the means of two and what is
computed of the differences from them, read their vectors once too, and workers begin and end one region for all of
them, which takes as long as to add up some thousand numbers.

What stands between two sweeps is done before both of them where it needs neither, as what sets a sum to zero, and after
both of them where it needs the first one and is not needed by the second one, as the quotient that makes a sum a mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import islpy as isl

from polytune.frontend.expression import Assign
from polytune.frontend.scop import Scop, Statement
from polytune.records import dataclass
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.analysis.legality import is_proven_legal
from polytune.schedule.grouping import is_parallel, parts_of, swept
from polytune.schedule.private_sums import is_scattered, summed_by
from polytune.schedule.tiles.row_sweeps import is_row_sweep
from polytune.schedule.unions import sets_of, union_of

Schedule = Callable[[isl.UnionSet], isl.Schedule | None]
"""Schedules some instances; None where that is not possible."""

MOST_SUMS = 8
"""The most sums of one loop: each takes vector registers of its own, and LLVM gives it several."""


@dataclass(frozen=True)
class _SweepPart:
    """A part of the schedule, and whether it is a sweep over rows."""

    schedule: isl.Schedule
    by_rows: bool

    @property
    def domain(self) -> isl.UnionSet:
        return self.schedule.get_domain()


def row_schedule(scop: Scop, dependences: Dependences, fuse: Schedule, divide: Schedule) -> isl.Schedule | None:
    """The source order with parts that are sweeps over rows as they are, all others divided as far as possible, and
    neighbours that sweep over one matrix, or add up in loops of one length, fused where that makes one parallel sweep
    of them; None where no sweep is one over rows, or there is no proof.

    Args:
        scop: the kernel.
        dependences: those with relaxed reductions.
        fuse: schedules instances in one band.
        divide: schedules instances with as little fusion as possible.
    """
    needed = union_of([*dependences.flow.values(), *dependences.all_order.values()], scop)
    parts: list[_SweepPart] = []
    for own in parts_of(scop.schedule):
        divided = None if is_row_sweep(own, dependences) else divide(own.get_domain())
        for schedule in [own] if divided is None else parts_of(divided):
            part = _SweepPart(schedule, is_row_sweep(schedule, dependences))
            parts = _with_fused(parts, part, needed, fuse, dependences) or [*parts, part]
    if not any(part.by_rows for part in parts):
        return None
    whole, *others = (part.schedule for part in parts)
    for other in others:
        whole = whole.sequence(other)
    return whole if is_proven_legal(whole, dependences) else None


def _with_fused(
    parts: Sequence[_SweepPart], part: _SweepPart, needed: isl.UnionMap, fuse: Schedule, dependences: Dependences
) -> list[_SweepPart] | None:
    """The parts before with one more, fused with the last of them that it may be one parallel sweep with; None where
    there is none.

    Args:
        parts: those before, in order.
        part: the next one.
        needed: ``{ s -> t }`` where t needs that s is done before.
        fuse: schedules instances in one band.
        dependences: those with relaxed reductions.
    """
    for position in range(len(parts) - 1, -1, -1):
        earlier = parts[position]
        if not _are_alike(earlier, part, dependences.scop):
            continue
        before, after = _around(earlier, parts[position + 1 :], needed)
        later = _instances_of(after)
        if later is not None and not _reaches(needed, later, part.domain).is_empty():
            return None
        schedule = fuse(earlier.domain.union(part.domain))
        if schedule is None:
            return None
        by_rows = is_row_sweep(schedule, dependences)
        if not by_rows and not is_parallel(schedule, dependences):
            return None
        return [*parts[:position], *before, _SweepPart(schedule, by_rows), *after]
    return None


def _around(
    earlier: _SweepPart, between: Sequence[_SweepPart], needed: isl.UnionMap
) -> tuple[list[_SweepPart], list[_SweepPart]]:
    """The parts behind one that may be done before it, and those that need it, directly or not."""
    before: list[_SweepPart] = []
    after: list[_SweepPart] = []
    done = earlier.domain
    for part in between:
        if _reaches(needed, done, part.domain).is_empty():
            before.append(part)
        else:
            after.append(part)
            done = done.union(part.domain)
    return before, after


def _reaches(needed: isl.UnionMap, first: isl.UnionSet, second: isl.UnionSet) -> isl.UnionMap:
    return needed.intersect_domain(first).intersect_range(second)


def _instances_of(parts: Sequence[_SweepPart]) -> isl.UnionSet | None:
    """The instances of some parts; None where there are none."""
    if not parts:
        return None
    first, *others = (part.domain for part in parts)
    for other in others:
        first = first.union(other)
    return first


def _are_alike(earlier: _SweepPart, part: _SweepPart, scop: Scop) -> bool:
    """Return whether two parts sweep over one matrix, or are sums in loops of one length, few enough together."""
    if swept(earlier.domain, scop) & swept(part.domain, scop):
        return True
    if not earlier.by_rows or not part.by_rows:
        return False
    sums = [_sums_of_vectors(each.domain, scop) for each in (earlier, part)]
    if not all(sums) or sum(map(len, sums)) > MOST_SUMS:
        return False
    first, *others = (statement.domain.reset_tuple_id() for own in sums for statement in own)
    return all(first.is_equal(other) for other in others)


def _sums_of_vectors(instances: isl.UnionSet, scop: Scop) -> list[Statement]:
    """The statements of instances, where each is a step of a sum of numbers over one loop; none else."""
    found = [scop.statement(each.get_tuple_name()) for each in sets_of(instances)]
    is_sums = all(
        len(statement.iterators) == 1
        and not is_scattered(statement)
        and (array := summed_by(statement)) is not None
        and not scop.array(array).ndim
        and all(isinstance(operation, Assign) for operation in statement.operations)
        for statement in found
    )
    return found if is_sums else []


def kept_together(instances: isl.UnionSet, scop: Scop) -> isl.UnionMap:
    """The instances of different statements that a schedule is to keep together although nothing else does: those that
    access one element of a swept matrix, or that are the same iterations of sums of vectors.

    Args:
        instances: those that are scheduled.
        scop: the kernel.
    """
    sums = _sums_of_vectors(instances, scop)
    if sums:
        first, *others = sums
        pairs = (_same_iterations(first.domain, other.domain) for other in others)
        return union_of(map(isl.UnionMap.from_map, pairs), scop).intersect_domain(instances).intersect_range(instances)
    return _common_reads(instances, scop)


def _same_iterations(first: isl.Set, second: isl.Set) -> isl.Map:
    """``{ s[i] -> t[i] }`` of two loops of one length."""
    pairs = isl.Map.from_domain_and_range(first, second)
    return pairs.equate(isl.dim_type.in_, 0, isl.dim_type.out, 0)


def _common_reads(instances: isl.UnionSet, scop: Scop) -> isl.UnionMap:
    """``{ s -> t : s and t access one element of a swept matrix }``, s of the statement that is listed first."""
    matrices = swept(instances, scop)
    accesses = [each for statement in scop.statements for each in statement.accesses if each.array in matrices]
    pairs = ((one, other) for one, other in combinations(accesses, 2) if one.array == other.array)
    relations = (
        isl.UnionMap.from_map(one.relation.apply_range(other.relation.reverse()))
        for one, other in pairs
        if one.statement != other.statement
    )
    return union_of(relations, scop).intersect_domain(instances).intersect_range(instances)
