"""The accesses of a statement: what its operations read and write, as exact relations where control allows it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from collections.abc import Iterator as Iteration
from dataclasses import dataclass
from typing import TypeVar

import islpy as isl

from polytune.errors import SourceLocation
from polytune.frontend.affine import AffineBuilder
from polytune.frontend.expression import (
    Assign,
    Branch,
    Element,
    Expression,
    Logical,
    Operation,
    Select,
    Unary,
    While,
    children,
)
from polytune.frontend.program import ElementLocations
from polytune.frontend.scop import Access, AccessKind


@dataclass(frozen=True)
class Reference:
    """A reference to an element, its kind, when it is evaluated (a set in parameter space, or None if not asked), and
    whether it is then evaluated whatever the data are."""

    element: Element
    kind: AccessKind
    guard: isl.Set | None
    certain: bool


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
                    yield Reference(target, AccessKind.MUST_WRITE if certain else AccessKind.MAY_WRITE, guard, certain)
                    if not target.subscripts:
                        assigned |= {target.array}
                case Branch(condition, then, otherwise):
                    yield from self.expression(condition, guard, assigned, certain)
                    within = certain and self.is_affine(condition)
                    left = yield from self.operations(then, self.restrict(guard, condition), within, assigned)
                    negated = self.restrict(guard, Unary("not", condition, "bool"))
                    right = yield from self.operations(otherwise, negated, within, assigned)
                    assigned = left & right
                case While(condition, body):
                    yield from self.expression(condition, guard, assigned, certain)
                    yield from self.operations(body, guard, False, assigned)
        return assigned

    def expression(
        self, expression: Expression, guard: isl.Set | None, assigned: frozenset[str], certain: bool
    ) -> Iteration[Reference]:
        match expression:
            case Element(array):
                if array not in assigned:
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

    def is_affine(self, condition: Expression) -> bool:
        return self.affine is not None and self.affine.is_condition(condition)

    def restrict(self, guard: isl.Set | None, condition: Expression) -> isl.Set | None:
        """The guard with what is affine of the condition; a superset of when the condition holds."""
        if self.affine is None or guard is None:
            return guard
        if self.affine.is_condition(condition):
            return guard.intersect(self.affine.condition(condition))
        if isinstance(condition, Logical) and condition.operator == "and":
            for operand in condition.operands:
                guard = self.restrict(guard, operand)
        return guard


def _known(guard: isl.Set | None) -> isl.Set:
    assert guard is not None, "references were collected without guards"
    return guard


@dataclass(frozen=True)
class AccessBuilder:
    """Makes the accesses of statements."""

    affine: AffineBuilder
    locations: ElementLocations

    def build(
        self,
        statement: str,
        iterators: Sequence[str],
        operations: Sequence[Operation],
        domain: isl.Set,
        location: SourceLocation,
    ) -> tuple[Access, ...]:
        """The accesses in evaluation order; ``domain`` is the statement's, with its iterators still as parameters."""
        references = _Collector(self.affine).operations(operations, self.affine.universe(), certain=True)
        return tuple(
            Access(
                f"{statement}_{number}",
                statement,
                reference.element.array,
                reference.kind,
                self.relation(statement, iterators, reference.element, domain.intersect(_known(reference.guard))),
                self.locations.of(reference.element, location),
                reference.certain,
            )
            for number, reference in enumerate(references)
        )

    def relation(self, statement: str, iterators: Sequence[str], element: Element, domain: isl.Set) -> isl.Map:
        """``[p] -> { S[i] -> A[subscripts(i)] : i in domain }``."""
        target = isl.Set.universe(isl.Space.set_alloc(self.affine.context, 0, 0))
        for subscript in element.subscripts:
            target = target.flat_product(isl.Set.from_pw_aff(self.affine.function(subscript)))
        target = target.set_tuple_name(element.array).intersect_params(domain)
        relation = isl.Map.from_range(target)
        for position, iterator in enumerate(iterators):
            relation = move_to_tuple(relation, isl.dim_type.in_, position, iterator)
        return relation.set_tuple_name(isl.dim_type.in_, statement).coalesce()


Relation = TypeVar("Relation", isl.Set, isl.Map)


def move_to_tuple(relation: Relation, kind: isl.dim_type, position: int, iterator: str) -> Relation:
    """Make the parameter that stands for an iterator the dimension at ``position`` of the tuple."""
    parameter = relation.find_dim_by_name(isl.dim_type.param, iterator)
    if parameter < 0:
        return relation.insert_dims(kind, position, 1).set_dim_name(kind, position, iterator)
    return relation.move_dims(kind, position, isl.dim_type.param, parameter, 1)
