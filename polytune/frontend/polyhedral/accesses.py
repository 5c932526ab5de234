"""The accesses of a statement: what its operations read and write, as exact relations where control allows it."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from collections.abc import Iterator as Iteration
from dataclasses import replace
from typing import TypeVar

import islpy as isl

from polytune.errors import SourceLocation
from polytune.frontend.expression import (
    ArrayPart,
    Assign,
    Binary,
    Branch,
    Break,
    Checked,
    Constant,
    Continue,
    Counter,
    Element,
    Expression,
    LibraryCall,
    Logical,
    Loop,
    Operation,
    Select,
    Unary,
    While,
    children,
    counted_from_either_end,
    walk,
)
from polytune.frontend.generated_names import REPORT
from polytune.frontend.polyhedral.affine import AffineBuilder
from polytune.frontend.polyhedral.rings import on_ring
from polytune.frontend.program import ElementLocations
from polytune.frontend.scop import Access, AccessKind, RingAccess
from polytune.records import dataclass


@dataclass(frozen=True)
class Reference:
    """A reference to an element, its kind, when it is evaluated (a set in parameter space, or None if not asked),
    whether it is then evaluated whatever the data are, and whether it may be tested where it is evaluated."""

    element: Element
    kind: AccessKind
    guard: isl.Set | None
    certain: bool
    testable: bool = True


def elements_in_order(operations: Sequence[Operation]) -> Iteration[tuple[Element, bool]]:
    """All references in evaluation order, each with whether it is written: the order of ``Statement.accesses``.

    An assignment evaluates its value, then writes its target; a branch its condition, its ``then``, its ``otherwise``;
    a loop its condition and its body.  Within an expression operands come from left to right.  A scalar that the same
    operations have assigned before, whichever way control took, is read from nowhere else and not a reference.
    """
    for reference in _Collector(None).operations(operations, None, certain=True):
        yield reference.element, reference.kind is not AccessKind.READ


class _Collector:
    """Walks operations; without a builder, guards are not computed."""

    def __init__(self, affine: AffineBuilder | None):
        self.affine = affine

    def operations(
        self,
        operations: Sequence[Operation],
        guard: isl.Set | None,
        certain: bool,
        assigned: frozenset[str] = frozenset(),
    ) -> Generator[Reference, None, frozenset[str]]:
        """The references of operations before which some scalars have been ``assigned``; gives the scalars that have
        been after them."""
        for operation in operations:
            match operation:
                case Assign(target, value):
                    yield from self.expression(value, guard, assigned, certain)
                    for subscript in target.subscripts:
                        index = counted_from_either_end(subscript) or subscript
                        yield from self.expression(index, guard, assigned, certain)
                    certain_target = certain and all(map(self.is_known, target.subscripts))
                    yield Reference(
                        target, AccessKind.MUST_WRITE if certain_target else AccessKind.MAY_WRITE, guard, certain
                    )
                    if not target.subscripts:
                        assigned |= {target.array}
                case Branch(condition, then, otherwise):
                    yield from self.expression(condition, guard, assigned, certain)
                    negated = self.restrict(guard, Unary("not", condition, "bool"))
                    sides = (
                        _listed(self.operations(then, self.restrict(guard, condition), certain, assigned)),
                        _listed(self.operations(otherwise, negated, certain, assigned)),
                    )
                    left, right = (after for _, after in sides)
                    for references, _ in sides:
                        yield from references if self.is_affine(condition) else _on_data(references, left & right)
                    assigned = left & right
                    # What follows a jump happens only where it was not made.
                    if _jumps(then):
                        guard, assigned = self.restrict(guard, Unary("not", condition, "bool")), right
                    if _jumps(otherwise):
                        guard, assigned = self.restrict(guard, condition), left
                case While(condition, body):
                    yield from self.expression(condition, guard, assigned, certain)
                    yield from self.operations(body, guard, False, assigned)
                case Loop(start=start, stop=stop, body=body):
                    yield from self.expression(start, guard, assigned, certain)
                    yield from self.expression(stop, guard, assigned, certain)
                    inside = self.within(guard, operation)
                    first = self.leading(operation) if certain else 0
                    begun = yield from self.operations(body[:first], inside, True, assigned)
                    yield from self.operations(body[first:], inside, False, begun)
                case LibraryCall():
                    yield from self.library_call(operation, guard, assigned, certain)
                case Checked(violation, body=()):
                    yield from self.expression(violation, guard, assigned, certain)
                case Checked(body=body):  # the violation reads what the body does
                    assigned = yield from self.operations(body, guard, certain, assigned)
        return assigned

    def library_call(
        self, call: LibraryCall, guard: isl.Set | None, assigned: frozenset[str], certain: bool
    ) -> Iteration[Reference]:
        for part in (*call.arguments, *call.results):  # where they are, and how large, may depend on data
            for needed in (*part.extents, *part.element.subscripts):
                yield from self.expression(needed, guard, assigned, certain)
        for part in call.arguments:
            yield Reference(part.element, AccessKind.READ, self.over(guard, part), certain, testable=False)
        for part in call.results:
            known = certain and all(map(self.is_known, (*part.element.subscripts, *part.extents)))
            kind = AccessKind.MUST_WRITE if known else AccessKind.MAY_WRITE
            yield Reference(part.element, kind, self.over(guard, part), certain, testable=False)

    def expression(
        self, expression: Expression, guard: isl.Set | None, assigned: frozenset[str], certain: bool
    ) -> Iteration[Reference]:
        match expression:
            case Element(array):
                for subscript in expression.subscripts:
                    index = counted_from_either_end(subscript) or subscript
                    yield from self.expression(index, guard, assigned, certain)
                if array not in assigned and array != REPORT:
                    yield Reference(expression, AccessKind.READ, guard, certain)
            case Select(condition, then, otherwise):
                yield from self.expression(condition, guard, assigned, certain)
                within = certain and self.is_affine(condition)
                yield from self.expression(then, self.restrict(guard, condition), assigned, within)
                negated = self.restrict(guard, Unary("not", condition, "bool"))
                yield from self.expression(otherwise, negated, assigned, within)
            case Logical(operator, operands):
                for operand in operands:
                    yield from self.expression(operand, guard, assigned, certain)
                    reached = operand if operator == "and" else Unary("not", operand, "bool")
                    guard = self.restrict(guard, reached)
                    certain = certain and self.is_affine(operand)
            case _:
                for child in children(expression):
                    yield from self.expression(child, guard, assigned, certain)

    def leading(self, loop: Loop) -> int:
        """The number of operations that the first iteration of a loop begins with whatever the data are: those that
        assign scalars, of scalars and counters alone, and that happen wherever there is an iteration at all."""
        if self.affine is None or not self.affine.counters.get(loop.counter):
            return 0
        return next((number for number, each in enumerate(loop.body) if not _is_of_scalars(each)), len(loop.body))

    def within(self, guard: isl.Set | None, loop: Loop) -> isl.Set | None:
        """The guard with what is known of the counter of a loop inside of a statement."""
        if self.affine is None or guard is None or not self.affine.counters.get(loop.counter):
            return guard
        return guard.intersect(iterations(self.affine, Counter(loop.counter), loop.start, loop.stop, loop.step))

    def over(self, guard: isl.Set | None, part: ArrayPart) -> isl.Set | None:
        """The guard with the ranges of the counters of a part of an array."""
        if self.affine is None or guard is None:
            return guard
        for counter, extent in zip(part.counters, part.extents, strict=True):
            if not self.affine.is_function(extent):
                continue
            guard = guard.intersect(iterations(self.affine, counter, Constant(0, "int64"), extent, 1))
        return guard

    def is_affine(self, condition: Expression) -> bool:
        return self.affine is not None and self.affine.is_condition(condition)

    def is_known(self, subscript: Expression) -> bool:
        """Return whether an access touches exactly the elements that its relation names along a subscript."""
        return self.affine is None or self.affine.is_function(subscript)

    def restrict(self, guard: isl.Set | None, condition: Expression) -> isl.Set | None:
        """The guard with what is affine of the condition; a superset of when the condition holds."""
        if self.affine is None or guard is None:
            return guard
        return guard.intersect(self.possible(self.affine, condition))

    def possible(self, affine: AffineBuilder, condition: Expression) -> isl.Set:
        """Return where a condition may hold: wherever what is affine of it does not say otherwise."""
        if affine.is_condition(condition):
            return affine.condition(condition)
        match condition:
            case Logical(operator, operands):
                sets = [self.possible(affine, operand) for operand in operands]
                found = sets[0]
                for other in sets[1:]:
                    found = found.intersect(other) if operator == "and" else found.union(other)
                return found
            case Unary("not", Logical(operator, operands)):
                negated = tuple(Unary("not", operand, "bool") for operand in operands)
                return self.possible(affine, Logical("or" if operator == "and" else "and", negated))
            case Unary("not", Unary("not", operand)):
                return self.possible(affine, operand)
        return affine.universe()


def _is_of_scalars(operation: Operation) -> bool:
    """Return whether an operation assigns a scalar, and reads nothing but scalars."""
    return isinstance(operation, Assign) and not any(
        isinstance(part, Element) and part.subscripts for part in walk(operation)
    )


def _listed(
    references: Generator[Reference, None, frozenset[str]],
) -> tuple[tuple[Reference, ...], frozenset[str]]:
    """The references of operations as a sequence, and the scalars that are assigned after them."""
    found: list[Reference] = []
    while True:
        try:
            found.append(next(references))
        except StopIteration as end:
            return tuple(found), end.value


def _on_data(references: Sequence[Reference], assigned: frozenset[str]) -> Iteration[Reference]:
    """The references of one side of a branch that data decide on.

    A write that is certain on this side may happen or not, but for those to the scalars that both sides assign: of the
    writes to such a scalar, on whichever side, one happens, so that together they overwrite it.

    Args:
        references: those of the side, with the kinds that they have where control comes there.
        assigned: the scalars that hold a new value after the branch, whichever side control takes.
    """
    for each in references:
        overwrites = each.kind is AccessKind.MUST_WRITE and each.element.array in assigned
        kind = AccessKind.MAY_WRITE if each.kind is AccessKind.MUST_WRITE and not overwrites else each.kind
        yield replace(each, kind=kind, certain=False)


def _jumps(operations: Sequence[Operation]) -> bool:
    """Return whether control never comes to the end of operations in a loop."""
    return bool(operations) and isinstance(operations[-1], Break | Continue)


def _known(guard: isl.Set | None) -> isl.Set:
    assert guard is not None, "references were collected without guards"
    return guard


@dataclass(frozen=True)
class AccessBuilder:
    """Makes the accesses of statements.

    Attributes:
        tests: whether accesses that data decide on are tested where they happen, so that none is out of range.
    """

    affine: AffineBuilder
    locations: ElementLocations
    extents: Mapping[tuple[str, int], Expression]
    tests: bool = False

    def build(
        self,
        statement: str,
        iterators: Sequence[str],
        operations: Sequence[Operation],
        domain: isl.Set,
        location: SourceLocation,
    ) -> tuple[Access, ...]:
        """The accesses of a statement, in the order of evaluation.

        Args:
            statement: its name.
            iterators: its loop variables, the outermost first.
            operations: what an instance does.
            domain: its instances, with the iterators still as parameters.
            location: where it stands, for elements whose own place is not known.
        """
        references = _Collector(self.affine).operations(operations, self.affine.universe(), certain=True)
        return tuple(
            Access(
                f"{statement}_{number}",
                statement,
                reference.element.array,
                reference.kind,
                self.relation(
                    statement,
                    iterators,
                    reference.element,
                    domain.intersect(_known(reference.guard)),
                    inside=self.tests and reference.testable and not reference.certain,
                ),
                self.locations.of(reference.element, location),
                reference.certain,
                self.on_rings(statement, iterators, reference.element, domain.intersect(_known(reference.guard))),
            )
            for number, reference in enumerate(references)
        )

    def on_rings(
        self, statement: str, iterators: Sequence[str], element: Element, domain: isl.Set
    ) -> RingAccess | None:
        """The places of an access with subscripts on rings; None where there are none, or others on data.

        Args:
            statement, iterators, element, domain: as for `relation`.
        """
        places: list[Expression] = []
        shifts: list[Expression] = []
        arrays: list[tuple[int, str, int, Expression]] = []
        for axis, subscript in enumerate(element.subscripts):
            if self.affine.is_function(subscript):
                places.append(subscript)
                continue
            ring = on_ring(self.affine, subscript)
            if ring is None or not domain.is_subset(self.affine.condition(ring.is_within)):
                return None
            places.append(ring.place)
            for shift, factor in ring.shifts.items():
                arrays.append((axis, shift.array, factor, ring.size))
                shifts += shift.subscripts
        if not arrays:
            return None
        found = self.relation(statement, iterators, replace(element, subscripts=tuple(places)), domain)
        others = self.relation(statement, iterators, Element("", tuple(shifts), "int64"), domain)
        return RingAccess(found, others, tuple(arrays))

    def relation(
        self, statement: str, iterators: Sequence[str], element: Element, domain: isl.Set, *, inside: bool = False
    ) -> isl.Map:
        """``[p] -> { S[i] -> A[subscripts(i)] : i in domain }``; along a subscript that is not affine, all elements.

        Args:
            statement: the name of the statement.
            iterators: its loop variables, the outermost first.
            element: what is accessed.
            domain: the instances that access it, with the iterators still as parameters.
            inside: whether it is accessed only where it is an element of the array.
        """
        target = isl.Set.universe(isl.Space.set_alloc(self.affine.context, 0, 0))
        for dimension, subscript in enumerate(element.subscripts):
            if self.affine.is_function(subscript):
                along = isl.Set.from_pw_aff(self.affine.function(subscript))
                if inside:
                    along = along.intersect(self.all_along(element.array, dimension))
            else:
                along = self.all_along(element.array, dimension)
            target = target.flat_product(along)
        target = target.set_tuple_name(element.array).intersect_params(domain)
        for counter in self.affine.counters:
            position = target.find_dim_by_name(isl.dim_type.param, counter)
            if position >= 0:
                target = target.project_out(isl.dim_type.param, position, 1)
        relation = isl.Map.from_range(target)
        for position, iterator in enumerate(iterators):
            relation = move_to_tuple(relation, isl.dim_type.in_, position, iterator)
        return relation.set_tuple_name(isl.dim_type.in_, statement).coalesce()

    def all_along(self, array: str, dimension: int) -> isl.Set:
        """``[p] -> { [k] : 0 <= k < extent }``."""
        index = isl.PwAff.from_aff(
            isl.Aff.var_on_domain(
                isl.LocalSpace.from_space(isl.Space.set_alloc(self.affine.context, 0, 1)), isl.dim_type.set, 0
            )
        )
        extent = self.affine.function(self.extents[array, dimension]).add_dims(isl.dim_type.in_, 1)
        zero = self.affine.integer(0).add_dims(isl.dim_type.in_, 1)
        return index.ge_set(zero).intersect(index.lt_set(extent))


def iterations(affine: AffineBuilder, counter: Expression, start: Expression, stop: Expression, step: int) -> isl.Set:
    """``{ : start <= counter < stop and (counter - start) mod step = 0 }``; its mirror image for a negative step.

    Args:
        affine: what makes sets of expressions.
        counter: what is to be in the range.
        start, stop: affine; the stop is not in it.
        step: not 0.
    """
    if step > 0:
        values = affine.less(start, counter, strictly=False).intersect(affine.less(counter, stop, strictly=True))
    else:
        values = affine.less(counter, start, strictly=False).intersect(affine.less(stop, counter, strictly=True))
    if abs(step) > 1:
        size: Expression = Constant(abs(step), "int64")
        remainder = affine.function(Binary("%", Binary("-", counter, start, "int64"), size, "int64"))
        values = values.intersect(remainder.eq_set(affine.integer(0)))
    return values


Relation = TypeVar("Relation", isl.Set, isl.Map)


def move_to_tuple(relation: Relation, kind: isl.dim_type, position: int, iterator: str) -> Relation:
    """Make the parameter that stands for an iterator the dimension at ``position`` of the tuple.

    Args:
        relation: a set or a map.
        kind: of its tuples the one that gets the dimension.
        position: of the new dimension.
        iterator: the parameter's name; where there is none, the dimension is unbounded.
    """
    parameter = relation.find_dim_by_name(isl.dim_type.param, iterator)
    if parameter < 0:
        return relation.insert_dims(kind, position, 1).set_dim_name(kind, position, iterator)
    return relation.move_dims(kind, position, isl.dim_type.param, parameter, 1)
