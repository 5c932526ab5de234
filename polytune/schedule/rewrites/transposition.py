"""Transposed copies: arrays whose columns are walked are worked on with rows and columns exchanged.

In the modified Gram-Schmidt process,

    for k: ... for j > k:
        for i: R[k, j] += Q[i, k] * A[i, j]
        for i: A[i, j] -= Q[i, k] * R[k, j]

the loops over i cannot be interchanged with that over j, as the second needs what the first ends with; and so columns
are walked, of which each element lies in another line of the cache.  In copies ``Q'[k, i]`` and ``A'[j, i]`` they are
rows: contiguous, and short enough to stay in the first cache from one of the loops to the next.

Why that is right: the copy of an array has an element for each of its own, every access goes to that one, what is read
and not computed by the kernel is copied before all else, and what is written is copied back after all else.  The
kernel with its copies is a kernel like any other: its dependences are computed, and its schedule is checked against
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

import islpy as isl

from polytune.frontend.expression import Assign, Element, map_children
from polytune.frontend.expression import Iterator as Variable
from polytune.frontend.polyhedral.budget import PHASE_BUDGET, within_budget
from polytune.frontend.scop import Access, AccessKind, Array, ArrayRole, Scop, Statement
from polytune.records import dataclass
from polytune.schedule.analysis.array_dependences import Precision
from polytune.schedule.analysis.bands import analyse_band
from polytune.schedule.analysis.dependences import Dependences, compute_dependences
from polytune.schedule.analysis.legality import is_proven_legal
from polytune.schedule.candidate import Attempted, Candidate, Known, Order, Origin
from polytune.schedule.tiles.interchange import advance, contiguous_axis, jumps, point_order
from polytune.schedule.tree import has_band
from polytune.schedule.unions import joined


def transpose_arrays(candidate: Candidate) -> Attempted[Candidate]:
    """The candidate with the arrays that it walks against their layout in transposed copies; none where there are no
    such ones."""
    context = candidate.dependences.scop.context.get_ctx()
    made = within_budget(context, PHASE_BUDGET, lambda: (_transposed(candidate),))
    if made is None:
        return Attempted((), (TRANSPOSED.name,))
    (found,) = made
    if found is None:
        return Attempted((), ())
    schedule, scop, origin = found
    # The elements that are copied may be many polyhedra, with which even the order of the copies takes isl too long.
    dependences = within_budget(context, PHASE_BUDGET, lambda: compute_dependences(scop, candidate.dependences.relaxed))
    if dependences is None or not is_proven_legal(schedule, dependences):
        return Attempted((), (TRANSPOSED.name,))
    return Attempted((Candidate(TRANSPOSED, schedule, dependences, origin=origin),), ())


def _find(known: Known) -> Attempted[Candidate]:
    """The first schedule after the source order, but for those whose sums are the workers' own, with the copies."""
    first = next((each for each in known.found[1:] if not each.order.options.sums), None)
    return Attempted((), ()) if first is None else transpose_arrays(first)


TRANSPOSED = Order(
    name="transposed",
    meaning="on transposed copies of arrays whose columns the innermost loops go along",
    find=_find,
    along_rows=True,
    may_repeat=True,
)


def _transposed(candidate: Candidate) -> tuple[isl.Schedule, Scop, Origin] | None:
    """The schedule with the copies around it, the kernel that has them, and the relation ``{ S[i] -> S[i] }`` of its
    instances to those that it had; None where no array is walked so."""
    dependences = candidate.dependences
    axes = walked_axes(candidate)
    if not axes:
        return None
    scop = dependences.scop
    copies = _Copies(scop, axes, _read_from_outside(dependences, axes))
    statements = (*copies.before, *(copies.redirected(each) for each in scop.statements), *copies.after)
    arrays = (*scop.arrays, *copies.arrays.values())
    changed = replace(scop, statements=statements, arrays=arrays, schedule=copies.around(scop.schedule))
    same = joined((isl.UnionMap.from_map(each.domain.identity()) for each in scop.statements), scop)
    copying = frozenset(each.name for each in (*copies.before, *copies.after))
    return copies.around(candidate.schedule), changed, Origin(scop, same, copying)


def walked_axes(candidate: Candidate) -> dict[str, int]:
    """The arrays that the innermost loops of a schedule walk against their layout, and along which axis.

    Those loops are the innermost members of the innermost bands once their members are in the best order.  Statements
    count that are in more loops than the array has axes, so that each of its elements is used more than once; all of
    their accesses that move have to move by one along the same axis, in steps of one at most.  What an opaque
    statement accesses is not known well enough.
    """
    scop = candidate.dependences.scop
    against: set[str] = set()
    possible = _possible_axes(scop)
    for band in _innermost_bands(candidate.schedule.get_root()):
        member = band.band_n_member() - 1
        if member and analyse_band(band, candidate.dependences).permutable:
            member = point_order(band, scop)[-1]
        steps = advance(band, member)
        for statement in scop.statements:
            domain = isl.UnionSet.from_set(statement.domain).intersect(band.get_domain())
            own = steps.intersect_domain(domain).intersect_range(domain)
            if own.is_empty():
                continue
            for access in statement.accesses:
                axes = possible.get(access.array, set())
                if len(statement.iterators) <= scop.array(access.array).ndim or not axes:
                    continue
                if jumps(own, access.relation, contiguous_axis(access, scop)):
                    against.add(access.array)
                axes -= {axis for axis in axes if jumps(own, access.relation, axis)}
    return {name: min(possible[name]) for name in sorted(against) if len(possible[name]) == 1}


def _possible_axes(scop: Scop) -> dict[str, set[int]]:
    """The axes of each array that may have any, all of whose accesses are known exactly."""
    unknown = {
        access.array
        for statement in scop.statements
        for access in statement.accesses
        if statement.is_opaque or access.kind is AccessKind.MAY_WRITE
    }
    arrays = [array for array in scop.arrays if array.ndim >= 2 and array.name not in unknown]
    return {array.name: set(range(array.ndim)) for array in arrays}


def _innermost_bands(node: isl.ScheduleNode) -> Iterator[isl.ScheduleNode]:
    """The bands of a subtree without bands below."""
    if node.get_type() == isl.schedule_node_type.band and not has_band(node.child(0)):
        yield node
    for position in range(node.n_children()):
        yield from _innermost_bands(node.child(position))


def _read_from_outside(dependences: Dependences, arrays: Iterable[str]) -> dict[str, isl.Set]:
    """The elements of arrays that are read before the kernel writes to them, or maybe more.

    Value-based flow names the instances that read what another one has written.  Of a statement with several reads of
    the array it does not say which, and so all of them count.
    """
    found: dict[str, isl.Set] = {}
    for name in arrays:
        exact = dependences.precision.get(name) is Precision.VALUE_BASED and not dependences.relaxed
        for statement in dependences.scop.statements:
            reads = [access for access in statement.accesses if access.array == name and not access.is_write]
            for access in reads:
                relation = isl.UnionMap.from_map(access.relation)
                if exact and len(reads) == 1:
                    relation = relation.subtract_domain(dependences.flow[name].range())
                elements = relation.intersect_params(dependences.scop.context).range()
                part = elements.extract_set(access.relation.get_space().range())
                if not part.is_empty():
                    found[name] = part if name not in found else found[name].union(part)
    return {name: elements.coalesce() for name, elements in found.items()}


@dataclass(frozen=True)
class _TransposedCopy:
    """The correspondence of an array and its copy: its axes in the order in which they are those of the copy."""

    name: str
    order: tuple[int, ...]


class _Copies:
    """The copies of some arrays: the statements that fill them and copy them back, and those that use them."""

    def __init__(self, scop: Scop, axes: Mapping[str, int], read: Mapping[str, isl.Set]):
        self.scop = scop
        self.taken = {array.name for array in scop.arrays} | {name for name, _ in scop.signature.arguments}
        self.taken |= {parameter.name for parameter in scop.parameters}
        self.taken |= {statement.name for statement in scop.statements}
        self.copies: dict[str, _TransposedCopy] = {}
        self.arrays: dict[str, Array] = {}
        self.before: list[Statement] = []
        self.after: list[Statement] = []
        for name, axis in axes.items():
            array = scop.array(name)
            order = (*(other for other in range(array.ndim) if other != axis), axis)
            copy = self.copies[name] = _TransposedCopy(self.new_name(f"{name}_transposed"), order)
            shape = tuple(array.shape[own] for own in order)
            self.arrays[name] = replace(array, name=copy.name, role=ArrayRole.LOCAL, shape=shape)
            if array.role is not ArrayRole.LOCAL:
                written = [access.relation.range() for access in _accesses(scop, name) if access.is_write]
                if name in read:
                    self.before.append(self.copying(array, read[name], to_copy=True))
                if written:
                    elements = reduce(lambda left, right: left.union(right), written).intersect_params(scop.context)
                    self.after.append(self.copying(array, elements.coalesce(), to_copy=False))

    def copying(self, array: Array, elements: isl.Set, *, to_copy: bool) -> Statement:
        """A statement ``S[a]`` that copies the elements ``{ A[a] }`` of an array, to its copy or from there."""
        copy, name = self.copies[array.name], self.new_name("S")
        domain = elements.set_tuple_name(name)
        iterators = tuple(f"axis{axis}" for axis in range(array.ndim))
        identity = isl.Map.identity(domain.get_space().map_from_set()).intersect_domain(domain)
        there = identity.set_tuple_name(isl.dim_type.out, array.name)
        own = Element(array.name, tuple(Variable(iterator) for iterator in iterators), array.dtype)
        places = (own, there), (self.element(own), self.relation(there, copy))
        (target, written), (source, read) = reversed(places) if to_copy else places
        location = self.scop.location
        accesses = (
            Access(f"{name}_0", name, source.array, AccessKind.READ, read, location),
            Access(f"{name}_1", name, target.array, AccessKind.MUST_WRITE, written, location),
        )
        text = f"a transposed copy of {array.name}" if to_copy else f"{array.name}, from its transposed copy"
        return Statement(name, iterators, domain, (Assign(target, source),), accesses, None, location, text)

    def redirected(self, statement: Statement) -> Statement:
        """A statement that works on copies."""

        def change(part: Any) -> Any:
            part = map_children(part, change)
            return self.element(part) if isinstance(part, Element) and part.array in self.copies else part

        def moved(access: Access) -> Access:
            if access.array not in self.copies:
                return access
            copy = self.copies[access.array]
            return replace(access, array=copy.name, relation=self.relation(access.relation, copy))

        operations = tuple(change(operation) for operation in statement.operations)
        return replace(statement, operations=operations, accesses=tuple(moved(each) for each in statement.accesses))

    def element(self, element: Element) -> Element:
        """The element of a copy that stands for one of its array."""
        copy = self.copies[element.array]
        return replace(element, array=copy.name, subscripts=tuple(element.subscripts[own] for own in copy.order))

    def relation(self, relation: isl.Map, copy: _TransposedCopy) -> isl.Map:
        """``{ S[i] -> A[a] }`` to ``{ S[i] -> A'[a'] }``, a' being a in the order of the copy's axes."""
        # Arrays may have names that isl's language lacks, so that only axes are written in it.
        own = ", ".join(f"a{axis}" for axis in range(len(copy.order)))
        permuted = ", ".join(f"a{axis}" for axis in copy.order)
        order = isl.Map.read_from_str(relation.get_ctx(), f"{{ [{own}] -> [{permuted}] }}")
        unnamed = relation.reset_tuple_id(isl.dim_type.out)
        return unnamed.apply_range(order).set_tuple_name(isl.dim_type.out, copy.name)

    def around(self, schedule: isl.Schedule) -> isl.Schedule:
        """A schedule of the kernel with the copies made before it, and copied back after it."""
        parts = [*map(_schedule_of, self.before), schedule, *map(_schedule_of, self.after)]
        return reduce(lambda left, right: left.sequence(right), parts)

    def new_name(self, beginning: str) -> str:
        """A name that nothing has yet."""
        number = 0
        while f"{beginning}{number}" in self.taken:
            number += 1
        self.taken.add(f"{beginning}{number}")
        return f"{beginning}{number}"


def _accesses(scop: Scop, array: str) -> list[Access]:
    return [access for statement in scop.statements for access in statement.accesses if access.array == array]


def _schedule_of(statement: Statement) -> isl.Schedule:
    """The instances of a statement in one band, in which any order is right."""
    position = isl.Map.identity(statement.domain.get_space().map_from_set()).reset_tuple_id(isl.dim_type.out)
    band = isl.MultiUnionPwAff.from_union_map(isl.UnionMap.from_map(position.intersect_domain(statement.domain)))
    schedule = isl.Schedule.from_domain(isl.UnionSet.from_set(statement.domain)).insert_partial_schedule(band)
    return schedule.get_root().child(0).band_set_permutable(1).get_schedule()
