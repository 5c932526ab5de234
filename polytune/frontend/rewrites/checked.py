"""Subscripts that depend on data, tested where they are used.

Tests of extents that depend on data, which the program has already, get the numbers of their places here.

What such a subscript selects is not known before the kernel runs.  So each operation with one stands under a test:
where a subscript is out of range, the operation is left out, the place is reported, and the call raises an error when
the kernel has run.  No element outside of an array is ever touched.

Where a call asks for it, affine subscripts are tested in the same way, of accesses that data decide on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field, replace
from typing import Any

from polytune.errors import SourceLocation
from polytune.frontend.array_expressions.affine_arithmetic import ZERO, add, coefficients, normal
from polytune.frontend.array_expressions.slices import OUTSIDE
from polytune.frontend.expression import (
    Assign,
    Binary,
    Branch,
    Break,
    Checked,
    Compare,
    Constant,
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
    arrays_written,
    children,
    counted_from_either_end,
    map_children,
    walk,
)
from polytune.frontend.generated_names import REPORT
from polytune.frontend.lowering.frame import KernelWalk
from polytune.frontend.polyhedral.affine import AffineBuilder
from polytune.frontend.program import ElementLocations, Guard, Node, Perform, RangeLoop
from polytune.frontend.rewrites.known_conditions import holding, is_below, is_not_negative, unchanged
from polytune.frontend.scalars.subscript_ranges import range_violations
from polytune.frontend.scop import Array, ArrayRole, Report, Statement
from polytune.records import dataclass

Extents = Mapping[tuple[str, int], Expression]


def check_subscripts(
    nodes: Sequence[Node], kernel: KernelWalk, extents: Extents
) -> tuple[tuple[Node, ...], tuple[Report, ...]]:
    """The nodes with their operations under tests where subscripts depend on data, and the places of these tests; the
    kernel gets a scalar for their reports.

    Args:
        nodes: the program.
        kernel: what has been found of it, its arrays above all.
        extents: those of its arrays, by name and dimension.
    """
    slices = {
        (normal(first), step, normal(stop)): normal(length) for (first, step, stop), length in kernel.cut_off.items()
    }
    report, tests_accesses = Element(REPORT, (), "int64"), kernel.signature.any_subscripts
    checker = _Checker(kernel.affine, kernel.locations, extents, slices, report, tests_accesses)
    made = tuple(checker.node(node) for node in nodes)
    if checker.reports or checker.calls_library:
        kernel.arrays[REPORT] = Array(REPORT, "int64", ArrayRole.REPORT, zeroed=True)
    return made, tuple(checker.reports)


@dataclass
class _Checker:
    """Puts operations under tests.

    Attributes:
        tests_accesses: whether affine subscripts are tested too, where data decide whether there is an access.
        is_certain: whether what is looked at is evaluated in any case.
        known: conditions that hold where it is evaluated.
    """

    affine: AffineBuilder
    locations: ElementLocations
    extents: Extents
    slices: Mapping[tuple[Expression, int | Expression, Expression], Expression]
    report: Element
    tests_accesses: bool
    is_certain: bool = True
    known: tuple[Compare, ...] = ()
    stops: dict[str, Expression] = field(default_factory=dict)
    reports: list[Report] = field(default_factory=list)
    calls_library: bool = False

    def node(self, node: Node) -> Node:
        match node:
            case Perform(operations, location):
                return replace(node, operations=self.operations(operations, location, inside=False))
            case Guard(_, then, otherwise):
                return replace(node, then=tuple(map(self.node, then)), otherwise=tuple(map(self.node, otherwise)))
            case RangeLoop(body=body):
                return replace(node, body=tuple(map(self.node, body)))

    def operations(
        self, operations: Iterable[Operation], location: SourceLocation, *, inside: bool
    ) -> tuple[Operation, ...]:
        """Operations under tests; ``inside`` tells that they stand in a loop of their statement."""
        made: list[Operation] = []
        with self.knowing(self.known):
            for each in operations:
                parts = self.operation(each, location, inside)
                made += parts
                if inside:  # a loop is left where a test fails
                    tests = (part.violation for part in parts if isinstance(part, Checked))
                    self.known += tuple(found for test in tests for found in self.passed(test))
                self.known = unchanged(self.known, {*arrays_written(each)})
        return tuple(made)

    def operation(self, operation: Operation, location: SourceLocation, inside: bool) -> tuple[Operation, ...]:
        tested: list[Expression] = []
        match operation:
            case Assign(target, value):
                tested = [value, target]
            case Branch(condition, then, otherwise):
                with self.uncertain(), self.given(condition, True):
                    yes = self.operations(then, location, inside=inside)
                with self.uncertain(), self.given(condition, False):
                    no = self.operations(otherwise, location, inside=inside)
                operation, tested = Branch(condition, yes, no), [condition]
            case While(condition, body):
                with self.knowing(unchanged(self.known, {*arrays_written(operation)})):
                    violation = self.violation(condition)
                    with self.uncertain(), self.given(condition, True):
                        if violation is not None:
                            self.known += tuple(self.passed(violation))
                        body = self.operations(body, location, inside=True)
                    return (self.endless(condition, body, location),)
            case Loop(counter, start, stop, step, body):
                if start == ZERO and step == 1:
                    self.stops[counter] = normal(stop)
                with self.uncertain(), self.knowing(unchanged(self.known, {*arrays_written(operation)})):
                    checked = self.operations(body, location, inside=True)
                operation, tested = replace(operation, body=checked), [start, stop]
            case Checked(what=what):
                self.reports.append(Report((), (), location, what))
                return (replace(operation, site=len(self.reports), leaves=inside),)
            case LibraryCall():
                self.calls_library = True
                failed = self.has_failed("!=")
                return (operation, Branch(failed, (Break(),))) if inside else (operation,)
        violation = self.any_of(self.violation(each) for each in tested)
        operation = self.operation_in_range(operation)
        if violation is None:
            return (operation,)
        return (Checked(violation, self.report, self.place(tested, location), (operation,), leaves=inside),)

    @contextmanager
    def uncertain(self) -> Iterator[None]:
        """Walk over what need not be evaluated, as data decide."""
        before, self.is_certain = self.is_certain, False
        yield
        self.is_certain = before

    @contextmanager
    def knowing(self, conditions: tuple[Compare, ...]) -> Iterator[None]:
        """Walk over what is evaluated where conditions hold, and no others are known to."""
        before, self.known = self.known, conditions
        yield
        self.known = before

    def given(self, condition: Expression, outcome: bool) -> AbstractContextManager[None]:
        """Walk over what is evaluated right where a condition has an outcome."""
        return self.knowing((*self.known, *holding(condition, outcome)))

    def passed(self, violation: Expression) -> Iterator[Compare]:
        """Give the comparisons that hold where a test has passed."""
        match violation:
            case Logical("and", (reached, rest)):
                conditions = list(holding(reached, True))
                if conditions and all(each in self.known for each in conditions) and _is_conjunction(reached):
                    yield from self.passed(rest)
            case _:
                yield from holding(violation, False)

    def endless(self, condition: Expression, body: tuple[Operation, ...], location: SourceLocation) -> Operation:
        """A ``while``; it ends where a subscript was out of range, as its condition might never change then."""
        violation = self.violation(condition)
        condition = self.in_range(condition)
        if violation is not None:
            site = self.place([condition], location)
            ended = Branch(Unary("not", condition, "bool"), (Break(),))
            test = Checked(violation, self.report, site, (ended,), leaves=True)
            return While(self.has_failed("=="), (test, *body))
        if any(isinstance(part, Checked | LibraryCall) for operation in body for part in walk(operation)):
            return While(Logical("and", (self.has_failed("=="), condition)), body)
        return While(condition, body)

    def has_failed(self, symbol: str) -> Expression:
        return Compare(symbol, self.report, Constant(0, "int64"))

    def place(self, expressions: Iterable[Expression], location: SourceLocation) -> int:
        """The number of a new place whose subscripts are tested."""
        parts = (part for expression in expressions for part in walk(expression) if isinstance(part, Element))
        with self.uncertain():
            elements = [part for part in parts if self.own_violation(part) is not None]
        places = [self.locations.of(element, location) for element in elements]
        references = tuple(dict.fromkeys(place.text[place.column : place.end_column] for place in places))
        arrays = tuple(dict.fromkeys(element.array for element in elements))
        self.reports.append(Report(references, arrays, places[0]))
        return len(self.reports)

    def violation(self, expression: Any) -> Expression | None:
        """Return when the evaluation of an expression meets a subscript that is out of range; None where never.

        The condition itself never meets one: what is nested is tested first.
        """
        match expression:
            case Element(_, subscripts):
                inner = [self.violation(self.index(each)) for each in subscripts]
                return self.any_of([*inner, self.own_violation(expression)])
            case Select(condition, then, otherwise):
                with self.uncertain(), self.given(condition, True):
                    of_then = self.violation(then)
                with self.uncertain(), self.given(condition, False):
                    sides = of_then, self.violation(otherwise)
                chosen: Expression | None = None
                if sides != (None, None):
                    never = Constant(False, "bool")
                    chosen = Select(condition, sides[0] or never, sides[1] or never, "bool")
                return self.any_of([self.violation(condition), chosen])
            case Logical(operator, (first, *others)):
                if not others:
                    return self.violation(first)
                with self.uncertain(), self.given(first, operator == "and"):
                    rest = self.violation(Logical(operator, tuple(others)))
                reached = first if operator == "and" else Unary("not", first, "bool")
                return self.any_of([self.violation(first), None if rest is None else Logical("and", (reached, rest))])
        return self.any_of(self.violation(child) for child in children(expression))

    def own_violation(self, element: Element) -> Expression | None:
        """Return when a subscript of an element itself is out of range."""
        found: list[Expression] = []
        least: Expression
        for dimension, subscript in enumerate(element.subscripts):
            if self.affine.is_function(subscript) and (self.is_certain or not self.tests_accesses):
                continue
            extent, least = self.extents[element.array, dimension], Constant(0, "int64")
            if self.is_cut_off(subscript, extent):
                continue
            part = of_part(subscript)
            if part is not None:
                subscript, length = part
                if normal(length) != normal(extent):  # a part has no more elements, which is tested once
                    found.append(Compare(">", length, extent))
                    extent = length
            index = counted_from_either_end(subscript)
            if index is not None:
                subscript, least = index, Unary("-", extent, "int64")
            wrong = range_violations(subscript, least, extent)
            low, high = Compare("<", subscript, least), Compare(">=", subscript, extent)
            if self.is_never_negative(subscript):
                wrong = [each for each in wrong if each != low]
            if low not in wrong and is_below(subscript, extent, self.known):  # both are one comparison
                wrong = [each for each in wrong if each != high]
            found += wrong
        return self.any_of(found)

    def index(self, subscript: Expression) -> Expression:
        """A subscript as it is computed, before it is known to be in range."""
        part = of_part(subscript)
        subscript = subscript if part is None else part[0]
        return counted_from_either_end(subscript) or subscript

    def operation_in_range(self, operation: Operation) -> Operation:
        """An operation with the subscripts that the elements have that it evaluates itself where they are in range;
        those in its body have theirs, where other conditions hold."""
        match operation:
            case Assign():
                changed: Operation = self.in_range(operation)
                return changed
            case Branch(condition):
                return replace(operation, condition=self.in_range(condition))
            case Loop(start=start, stop=stop):
                return replace(operation, start=self.in_range(start), stop=self.in_range(stop))
        return operation

    def in_range(self, node: Any) -> Any:
        """An expression with the subscripts that its elements have where they are in range."""
        match node:
            case Logical(operator, (first, *others)) if others:
                changed = self.in_range(first)
                with self.given(first, operator == "and"):
                    rest = self.in_range(Logical(operator, tuple(others)))
                return Logical(operator, (changed, *rest.operands))
            case Select(condition, then, otherwise):
                with self.given(condition, True):
                    yes = self.in_range(then)
                with self.given(condition, False):
                    return replace(
                        node, condition=self.in_range(condition), then=yes, otherwise=self.in_range(otherwise)
                    )
        node = map_children(node, self.in_range)
        if not isinstance(node, Element):
            return node
        place = self.locations.find(node)
        subscripts = tuple(map(self.subscript_in_range, node.subscripts))
        if subscripts == node.subscripts:
            return node
        changed = replace(node, subscripts=subscripts)
        return changed if place is None else self.locations.record(changed, place)

    def subscript_in_range(self, subscript: Expression) -> Expression:
        part = of_part(subscript)
        subscript = subscript if part is None else part[0]
        index = counted_from_either_end(subscript)
        return index if index is not None and self.is_never_negative(index) else subscript

    def is_never_negative(self, subscript: Expression) -> bool:
        """Return whether a subscript is 0 or more where it is evaluated."""
        return self.is_counted_up(subscript) or is_not_negative(subscript, self.known)

    def is_counted_up(self, subscript: Expression) -> bool:
        """Return whether a subscript is made of what loops inside of statements count from 0 on, and is 0 or more."""
        match subscript:
            case Counter(name):
                return name in self.stops
            case Constant(value):
                return bool(value >= 0)
            case Binary("+" | "*", left, right):
                return self.is_counted_up(left) and self.is_counted_up(right)
        return False

    def is_cut_off(self, subscript: Expression, extent: Expression) -> bool:
        """Return whether a subscript is ``first + step * k`` of a slice that is cut off at this extent, where k goes
        through all of the slice.

        The variables of its bounds have no other values than those that are within the extent.
        """
        if subscript.dtype != "int64":
            return False
        terms, _ = coefficients(subscript)
        for leaf, step in terms.items():
            factor: int | Expression = step
            counter = leaf
            match leaf:
                case Binary("*", by, Counter() as inner) if step == 1:
                    factor, counter = by, inner
            if isinstance(counter, Counter) and counter.name in self.stops:
                first = add(subscript, leaf, -step)
                if self.slices.get((first, factor, self.stops[counter.name])) == normal(extent):
                    return True
        return False

    @staticmethod
    def any_of(conditions: Iterable[Expression | None]) -> Expression | None:
        found = tuple(dict.fromkeys(condition for condition in conditions if condition is not None))
        return found[0] if len(found) == 1 else Logical("or", found) if found else None


def _is_conjunction(condition: Expression) -> bool:
    """Return whether a condition is made of comparisons of integers all of which hold where it does."""
    match condition:
        case Logical("and", operands):
            return all(map(_is_conjunction, operands))
        case Compare("<" | "<=" | ">" | ">=" | "==", left, right):
            return left.dtype == right.dtype == "int64"
    return False


def of_part(subscript: Expression) -> tuple[Expression, Expression] | None:
    """A subscript of a part of an array, and the part's extent, see ``slices.in_part``; None for any other one."""
    match subscript:
        case Select(
            Logical("and", (Compare(">=", low, Constant(0)), Compare("<", high, length))), index, Constant(outside)
        ) if low == high == index and outside == OUTSIDE:
            return index, length
    return None


def has_tests(statements: Iterable[Statement]) -> bool:
    """Return whether subscripts are tested while statements run, or calls of the library may fail."""
    operations = (operation for statement in statements for operation in statement.operations)
    tests = (part for each in operations for part in walk(each) if isinstance(part, Checked | LibraryCall))
    return any(isinstance(test, LibraryCall) or not isinstance(test.violation, Constant) for test in tests)
