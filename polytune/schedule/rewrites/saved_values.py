"""Blocks of steps: what a step reads from rows and columns is saved, so that several steps run at once on all the rest.

In the Floyd-Warshall algorithm step k reads column k and row k, which later steps change: no order of whole steps but
the source's is legal, and each step goes through all of memory.  With those values saved as they are when step k
reads them, a block of steps first does what concerns its own rows and columns, in the source's order, and then, for
every other element, all of its steps one after another, with the element in a register.

That is array expansion (Feautrier, "Array Expansion", ICS 1988) of the values that cross from row to row.  The kernel
with its statements cut into pieces and the copies in between is a kernel like any other: its dependences are
computed, and its schedule is checked against them.  That it computes the same as the original one is checked beside:
nothing is stored to an element between the copy and a read that takes the copy instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from itertools import product
from typing import Any

import islpy as isl

from polytune.frontend.expression import Assign, Binary, Constant, Element, Expression, Iterator, map_children, walk
from polytune.frontend.scop import Access, AccessKind, Array, ArrayRole, Scop, Statement
from polytune.records import dataclass
from polytune.schedule.candidate import Candidate, Origin
from polytune.schedule.rewrites.step_nest import (
    AT,
    BEFORE,
    BEHIND,
    Read,
    StepNest,
    dimensions_of,
    relation_of,
    step_nest_of,
)
from polytune.schedule.unions import joined

Sides = tuple[int, ...]
"""The side of the cut of each loop but the first on which a piece lies."""


@dataclass(frozen=True)
class SavedKernel:
    """A kernel that saves what it reads from elements that later steps change.

    Attributes:
        scop: the kernel, in the source's order: pieces of the statement, and copies.
        times: ``{ S[x] -> [t] }``, that order; the first of its dimensions counts steps.
        rest: names of the pieces that read nothing but what is saved, and the element that they update.
        copies: names of the statements that save values.
        steps: how many steps a block has.
        origin: ``{ S_k[x] -> S[x] }``, which instance of the statement each piece's is.
    """

    scop: Scop
    times: isl.UnionMap
    rest: tuple[str, ...]
    copies: frozenset[str]
    steps: int
    origin: Origin


def save_values(source: Candidate, steps: int) -> SavedKernel | None:
    """The kernel, given in the source's order, with values saved for blocks of so many steps.

    None where it is not a nest of one assignment of which that can be told.
    """
    nest = step_nest_of(source.schedule, source.dependences)
    return None if nest is None else _Builder(nest, steps).build()


@dataclass(frozen=True)
class _SavedCopy:
    """The copy that saves a read for a piece: ``relation`` is ``{ copy[y] -> saved[y] }``, y being x less the read's
    depth."""

    name: str
    element: Element
    relation: isl.Map


class _Builder:
    """The statements of a kernel with saved values, being made."""

    def __init__(self, nest: StepNest, steps: int):
        self.steps = steps
        self.nest, self.scop, self.statement = nest, nest.scop, nest.statement
        self.dimensions = dimensions_of(nest.statement)
        self.taken = {array.name for array in self.scop.arrays}
        self.taken |= {name for name, _ in self.scop.signature.arguments}
        self.taken |= {parameter.name for parameter in self.scop.parameters}
        self.statements: list[Statement] = []
        self.times: list[str] = []
        self.arrays: dict[tuple[Element, int], Array] = {}
        self.rest: list[str] = []
        self.copies: list[str] = []

    def build(self) -> SavedKernel | None:
        for sides in product((BEFORE, AT, BEHIND), repeat=len(self.nest.sides)):
            parts = [self.nest.sides[number][side] for number, side in enumerate(sides)]
            piece = reduce(lambda left, right: left.intersect(right), parts, self.statement.domain)
            rest = self.rest_of(piece, sides)
            self.add_piece(piece.subtract(rest).coalesce(), sides, {})
            if not rest.is_empty():
                copies = {read: self.add_copy(read, rest, sides) for read in self.nest.saved}
                self.rest.append(self.add_piece(rest, sides, copies))
        if not self.rest:
            return None
        times = isl.UnionMap.read_from_str(self.scop.context.get_ctx(), f"{{ {'; '.join(self.times)} }}")
        domains = (isl.UnionSet.from_set(statement.domain) for statement in self.statements)
        domain = reduce(lambda left, right: left.union(right), domains)
        times = times.intersect_domain(domain)
        schedule = isl.Schedule.from_domain(domain).insert_partial_schedule(isl.MultiUnionPwAff.from_union_map(times))
        arrays = (*self.scop.arrays, *self.arrays.values())
        scop = replace(self.scop, statements=tuple(self.statements), arrays=arrays, schedule=schedule)
        copying = frozenset(self.copies)
        kernel = SavedKernel(scop, times, tuple(self.rest), copying, self.steps, self.origin(copying))
        return kernel if holds_what_is_read(kernel, times) else None

    def origin(self, copies: frozenset[str]) -> Origin:
        """Return what the pieces are pieces of."""
        pieces = [each.domain.identity() for each in self.statements if each.name not in copies]
        renamed = (isl.UnionMap.from_map(each.set_tuple_name(isl.dim_type.out, self.statement.name)) for each in pieces)
        return Origin(self.scop, joined(renamed, self.scop), copies)

    def rest_of(self, piece: isl.Set, sides: Sides) -> isl.Set:
        """Return what lies on the same sides of the cuts in all steps of a block."""
        if AT in sides:
            return isl.Set.empty(piece.get_space())
        name, first, inner = self.statement.name, self.dimensions[0], ", ".join(self.dimensions[1:])
        block = f"floor({first}/{self.steps}) = floor(y/{self.steps})"
        in_block = relation_of(self.statement, f"{name}[y, {inner}] -> {name}[{first}, {inner}] : {block}")
        for number, side in enumerate(sides):
            elsewhere = self.statement.domain.subtract(self.nest.sides[number][side])
            piece = piece.subtract(elsewhere.apply(in_block))
        return piece.coalesce()

    def add_piece(self, domain: isl.Set, sides: Sides, copies: Mapping[Read, _SavedCopy]) -> str:
        """A piece of the statement, which takes copies of some of what it reads."""
        name = self.new_name()
        if domain.is_empty():
            return name
        domain = domain.set_tuple_name(name)
        saved = {read.element: (read, copy) for read, copy in copies.items()}
        elements = [part for part in walk(self.nest.assignment.value) if isinstance(part, Element)]
        accesses: list[Access] = []
        for position, access in enumerate(self.statement.accesses):
            relation = access.relation.set_tuple_name(isl.dim_type.in_, name).intersect_domain(domain)
            array = access.array
            if not access.is_write and elements[position] in saved:
                read, copy = saved[elements[position]]
                to_copy = self.to_copy(read, domain, copy.name)
                relation, array = to_copy.apply_range(copy.relation), copy.element.array
            # What is read twice is one access: there are many pairs of accesses.
            if access.is_write or all(array != own.array or not relation.is_equal(own.relation) for own in accesses):
                accesses.append(Access(f"{name}_{position}", name, array, access.kind, relation, access.location))
        taken = {read.element: copy.element for read, copy in copies.items()}
        operation = replace(self.nest.assignment, value=_replaced(self.nest.assignment.value, taken))
        self.statements.append(
            replace(
                self.statement,
                name=name,
                domain=domain,
                operations=(operation,),
                accesses=tuple(accesses),
                reduction=None,
            )
        )
        time = [self.dimensions[0]]
        for side, dimension in zip(sides, self.dimensions[1:], strict=True):
            time += [str(2 * side + 1), dimension]
        self.times.append(f"{name}[{', '.join(self.dimensions)}] -> [{', '.join(time)}]")
        return name

    def add_copy(self, read: Read, rest: isl.Set, sides: Sides) -> _SavedCopy:
        """A statement that saves what a piece reads, before the loop along which that is the same."""
        name, array = self.new_name(), self.saved_array(read, sides[read.depth - 1])
        domain = rest.project_out(isl.dim_type.set, read.depth, 1).set_tuple_name(name)
        source = read.relation.intersect_domain(rest).project_out(isl.dim_type.in_, read.depth, 1)
        source = source.set_tuple_name(isl.dim_type.in_, name)
        target = isl.Map.identity(domain.get_space().map_from_set()).intersect_domain(domain)
        target = target.set_tuple_name(isl.dim_type.out, array.name)
        iterators = [own for depth, own in enumerate(self.statement.iterators) if depth != read.depth]
        step = Binary("%", Iterator(iterators[0]), Constant(self.steps, "int64"), "int64")
        element = Element(array.name, (step, *(Iterator(own) for own in iterators[1:])), array.dtype)
        location = self.statement.location
        accesses = (
            Access(f"{name}_0", name, read.element.array, AccessKind.READ, source, location),
            Access(f"{name}_1", name, array.name, AccessKind.MUST_WRITE, target, location),
        )
        operations = (Assign(element, read.element),)
        own_text = f"a copy for: {self.statement.text}"
        self.statements.append(
            Statement(name, tuple(iterators), domain, operations, accesses, None, location, own_text)
        )
        time = [self.dimensions[0]]
        for depth, side in enumerate(sides, start=1):
            place = 2 * side + (depth < read.depth) if depth <= read.depth else 0
            time += [str(place), self.dimensions[depth] if depth != read.depth else "0"]
        dimensions = [own for depth, own in enumerate(self.dimensions) if depth != read.depth]
        self.times.append(f"{name}[{', '.join(dimensions)}] -> [{', '.join(time)}]")
        self.copies.append(name)
        return _SavedCopy(name, element, target)

    def to_copy(self, read: Read, domain: isl.Set, name: str) -> isl.Map:
        """``{ S[x] -> copy[y] }``, y being x less the read's depth."""
        identity = isl.Map.identity(domain.get_space().map_from_set()).intersect_domain(domain)
        return identity.project_out(isl.dim_type.out, read.depth, 1).set_tuple_name(isl.dim_type.out, name)

    def saved_array(self, read: Read, side: int) -> Array:
        """Return where the values of a read are saved, those of one side of a cut, for the steps of one block."""
        if (read.element, side) not in self.arrays:
            subscripts, shape = list(read.element.subscripts), self.scop.array(read.element.array).shape
            extents = [
                shape[subscripts.index(Iterator(own))]
                for depth, own in enumerate(self.statement.iterators)
                if depth not in (0, read.depth)
            ]
            prefix = f"{read.element.array}_saved"
            while any(name.startswith(prefix) for name in self.taken):
                prefix += "_"
            self.arrays[read.element, side] = Array(
                f"{prefix}{len(self.arrays)}",
                read.element.dtype,
                ArrayRole.LOCAL,
                (Constant(self.steps, "int64"), *extents),
            )
        return self.arrays[read.element, side]

    def new_name(self) -> str:
        """A name for a statement, which begins as those of the kernel do."""
        prefix = f"{self.statement.name}_"
        while any(name.startswith(prefix) for name in self.taken):
            prefix += "_"
        return f"{prefix}{len(self.statements)}"


def holds_what_is_read(kernel: SavedKernel, times: isl.UnionMap) -> bool:
    """Return whether each copy is what the read that takes it would have found, in an order ``{ S[x] -> [t] }``.

    With T the order, A the read and W the writes of its array: for each s and its copy c, ``T(c) < T(s)``, and there is
    no w with ``T(c) < T(w) < T(s)`` and ``W(w) = A(s)``.  No two copies are stored at one place.
    """
    scop = kernel.scop
    written = {access.array for name in kernel.rest for access in scop.statement(name).accesses if access.is_write}
    accesses = [access for statement in scop.statements for access in statement.accesses]
    writes = joined((_union(a) for a in accesses if a.is_write and a.array in written), scop)
    of_writes = times.intersect_domain(writes.domain())
    places = isl.UnionSet.empty(scop.context.get_space())
    for copy in (statement for statement in scop.statements if statement.name in kernel.copies):
        source, target = copy.accesses
        own = isl.UnionSet.from_set(target.relation.range())
        if not places.intersect(own).is_empty():
            return False
        places = places.union(own)
        takers = [a for a in accesses if a.array == target.array and not a.is_write]
        taken = joined((_union(a) for a in takers), scop).apply_range(_union(target).reverse())
        readers, copies = (times.intersect_domain(part) for part in (taken.domain(), taken.range()))
        if not taken.is_subset(readers.lex_gt_union_map(copies)):
            return False
        same = taken.apply_range(_union(source)).apply_range(writes.reverse())
        earlier = same.intersect(readers.lex_gt_union_map(of_writes))
        after_copy = taken.apply_range(copies.lex_lt_union_map(of_writes))
        if not earlier.intersect(after_copy).is_empty():
            return False
    return True


def _union(access: Access) -> isl.UnionMap:
    return isl.UnionMap.from_map(access.relation)


def _replaced(node: Expression, elements: Mapping[Element, Element]) -> Expression:
    """An expression with some of its elements replaced."""

    def change(part: Any) -> Any:
        if isinstance(part, Element):
            return elements.get(part, part)
        return map_children(part, change)

    replaced: Expression = change(node)
    return replaced
