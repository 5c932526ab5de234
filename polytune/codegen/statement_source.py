"""Loops and statements of a program as Numba source.

A loop that the source leaves by ``break`` ends early.  It is modelled with all of its iterations, each of which first
computes whether it still runs, as in

    runs = 1 if ended == 0 else 0
    if runs != 0: ...

An iteration that does not run changes nothing but ``runs``.  As the value of that is computed of scalars alone, which
are what they were, the next iteration does not run either, nor does any later one: the loop may end there.  What comes
after the end needs no test any more, which would keep compilers from making vectors of the loops in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, TypeVar, assert_never

from polytune.codegen.joined_tests import JoinedTests, fewer_tests, joined, joined_statements
from polytune.codegen.loops import (
    Block,
    Compute,
    EndTest,
    For,
    If,
    Let,
    Node,
    Prefetch,
    RegionCall,
    Store,
    map_nodes,
    walk_nodes,
)
from polytune.codegen.python_expressions import expression_text
from polytune.codegen.source_writer import SourceWriter
from polytune.codegen.storage import Storage, array_types, expanded_name, private_name, shared_name, summed_name
from polytune.codegen.subscript_tests import alternatives, tests_before, without_negative_subscripts
from polytune.codegen.usual_loops import OUTSIDE, PrivateVariables, before_name, private_variables, usual_loop
from polytune.codegen.vectors.expressions import VectorExpression
from polytune.codegen.vectors.source import prefetch_text, store_text, vector_text
from polytune.frontend.expression import (
    ArrayPart,
    Assign,
    Branch,
    Break,
    Checked,
    Compare,
    Constant,
    Continue,
    Counter,
    Element,
    Expression,
    Iterator,
    LibraryCall,
    Logical,
    Loop,
    Operation,
    Select,
    While,
    arrays_written,
    map_children,
    walk,
)
from polytune.frontend.scop import Scop
from polytune.records import dataclass

__all__ = ["early_end"]

_Part = TypeVar("_Part", Node, Operation | JoinedTests)


def has_library_call(part: Node | Operation | JoinedTests) -> bool:
    """Return whether a call of the library is made in a node, an operation or several."""
    if isinstance(part, JoinedTests):
        return any(map(has_library_call, part.tested))
    if isinstance(part, Operation):
        return any(isinstance(each, LibraryCall) for each in walk(part))
    computed = (each for each in walk_nodes(part) if isinstance(each, Compute))
    return any(has_library_call(operation) for each in computed for operation in each.operations)


def _with_counters(node: Any, values: Mapping[str, int]) -> Any:
    """An expression with numbers in place of counters."""
    if isinstance(node, Counter) and node.name in values:
        return Constant(values[node.name], "int64")
    return map_children(node, lambda child: _with_counters(child, values))


@dataclass(frozen=True)
class StatementPlace:
    """The ways in which code at some place refers to memory: scalars that are variables there, arrays of which it uses
    a copy, those of which it uses one copy for each point of a tile, and those that it adds up in a copy of."""

    local: frozenset[str] = frozenset()
    copies: frozenset[str] = frozenset()
    expanded: frozenset[str] = frozenset()
    summed: frozenset[str] = frozenset()

    def text(self, node: Element | VectorExpression) -> str:
        if not isinstance(node, Element):
            return vector_text(node, self)
        if node.array in self.local:
            return node.array
        if not node.subscripts:
            own = private_name if node.array in self.copies else shared_name
            own = summed_name if node.array in self.summed else own
            return f"{own(node.array)}[0]"
        return f"{self.array(node)}[{', '.join(self.subscripts(node))}]"

    def array(self, element: Element) -> str:
        """The view through which an element is accessed."""
        if element.array in self.expanded:
            return expanded_name(element.array)
        if element.array in self.summed:
            return summed_name(element.array)
        return private_name(element.array) if element.array in self.copies else element.array

    def subscripts(self, element: Element) -> list[str]:
        return [expression_text(subscript, self.text) for subscript in element.subscripts]


class StatementWriter:
    """Writes the loops and statements of a version.

    Args:
        writer: where to.
        scop: the kernel.
        storage: where its arrays and scalars are.
        copies: the arrays and scalars of which each worker has a copy in memory.
        is_team: whether a team runs the version.
        write_region: writes a region of the version where it is called.
    """

    def __init__(
        self,
        writer: SourceWriter,
        scop: Scop,
        storage: Storage,
        copies: frozenset[str],
        *,
        is_team: bool,
        write_region: Callable[[RegionCall], None],
    ):
        self.writer, self.copies, self.is_team, self.write_region = writer, copies, is_team, write_region
        self.kinds, self.is_strict = array_types(storage, scop), scop.strict
        self.untested: Mapping[
            int, Checked | None
        ] = {}  # what operations are in a loop before which some tests have been made
        self.private = PrivateVariables()
        self.shares_calls = False  # whether workers share a region with calls of the library, which none may just leave

    def region_body(self, body: Node, place: StatementPlace, own: frozenset[str], *, is_shared: bool) -> None:
        """Write the body of a region.

        Args:
            body: its loops and statements.
            place: how they refer to memory.
            own: the scalars that are variables of the region alone.
            is_shared: whether workers share the region.
        """
        self.shares_calls = is_shared and has_library_call(body)
        self.private = private_variables(body, own)
        self.node(body, place)
        self.private = PrivateVariables()
        self.shares_calls = False

    def counts_outside(self, body: Node, own: frozenset[str]) -> bool:
        """Return whether the body of a region has loops that are written in their usual form first.

        Args:
            body: its loops and statements.
            own: the scalars that are variables of the region alone.
        """
        private = private_variables(body, own)
        loops = [node for node in walk_nodes(body) if isinstance(node, For)]
        return any(usual_loop(loop, private, self.usual, strict=self.is_strict) is not None for loop in loops)

    def node(self, node: Node, place: StatementPlace) -> None:
        writer = self.writer
        match node:
            case Block(children):
                self.in_turn(joined_statements(children), lambda child: self.node(child, place))
            case For():
                self.repeated(node, place)
            case If(condition, then, otherwise):
                with writer.indented(f"if {expression_text(condition, place.text)}:"):
                    self.node(then, place)
                if otherwise is not None:
                    with writer.indented("else:"):
                        self.node(otherwise, place)
            case Compute(operations=operations):
                self.operations(operations, place)
            case Let(name, value):
                writer.line(f"{name} = {expression_text(value, place.text)}")
            case Store():
                writer.line(store_text(node, place))
            case Prefetch(element):
                writer.line(prefetch_text(element, place))
            case RegionCall():
                self.write_region(node)
            case _:
                assert_never(node)

    def repeated(self, loop: For, place: StatementPlace) -> None:
        """Write a loop, in its usual form first where it has one.

        Args:
            loop: the loop.
            place: how it refers to memory.
        """
        usual = usual_loop(loop, self.private, self.usual, strict=self.is_strict)
        if usual is None:
            self.iterations(loop, place)
            return
        writer = self.writer
        for name in usual.sums:
            writer.line(f"{before_name(name)} = {name}")
        counting = replace(place, local=place.local | {OUTSIDE})
        # Where a loop was in vain, as subscripts count from the end, those that follow hardly are of use.
        header = f"for {loop.variable} in $range({self.bounds(loop, place)}):"
        with writer.indented(f"if {OUTSIDE} == 0:"), writer.indented(header):
            self.operations(usual.operations, counting)
        with writer.indented(f"if {OUTSIDE} != 0:"):
            for name in usual.sums:
                writer.line(f"{name} = {before_name(name)}")
            for variable in usual.others:  # so that compilers see that the loop has handed nothing on
                writer.line(f"{variable.array} = $np.{variable.dtype}(0)")
            self.iterations(loop, place)

    def bounds(self, loop: For, place: StatementPlace) -> str:
        """The arguments of a loop's range."""
        bounds = [expression_text(loop.start, place.text), expression_text(loop.stop, place.text)]
        if loop.step != 1:
            bounds.append(str(loop.step))
        return ", ".join(bounds)

    def iterations(self, loop: For, place: StatementPlace) -> None:
        """Write a loop with all that its iterations may do.

        Args:
            loop: the loop.
            place: how it refers to memory.
        """
        writer, body = self.writer, loop.body
        with writer.indented(f"for {loop.variable} in $range({self.bounds(loop, place)}):"):
            if self.scatters(loop.variable, body, place):
                writer.line("$one_by_one()")
            if loop.ending is not None:
                with writer.indented(f"if {self.has_ended(loop.ending, place)}:"):
                    writer.line("break")
            if (ending := early_end(body)) is None:
                self.node(body, place)
            else:
                self.node(ending.test, place)
                with writer.indented(f"if not ({expression_text(ending.condition, place.text)}):"):
                    writer.line("break")
                self.node(ending.rest, place)
            self.end_loop(body)

    def has_ended(self, ending: EndTest, place: StatementPlace) -> str:
        """The test whether an iteration comes after the end of its loop.

        Args:
            ending: what says so.
            place: how it refers to memory.
        """
        if ending.flag.array in place.local:
            return expression_text(ending.condition, place.text)
        return f"$has_ended({shared_name(ending.flag.array)}, {expression_text(ending.number, place.text)})"

    def scatters(self, variable: str, body: Node, place: StatementPlace) -> bool:
        """Return whether an innermost loop stores to elements that are not next to one another.

        Args:
            variable: the loop's.
            body: its body.
            place: how that refers to memory.
        """
        parts = list(walk_nodes(body))
        if any(isinstance(part, For) for part in parts):
            return False
        operations = [operation for part in parts if isinstance(part, Compute) for operation in part.operations]
        targets = [operation.target for operation in operations if isinstance(operation, Assign)]
        return any(
            isinstance(leaf, Iterator) and leaf.name == variable
            for target in targets
            if target.array not in place.local
            for subscript in self.far_subscripts(target)
            for leaf in walk(subscript)
        )

    def far_subscripts(self, element: Element) -> tuple[Expression, ...]:
        """The subscripts along which elements do not lie next to one another."""
        own_layout = element.array in self.kinds and element.array not in self.copies
        if own_layout and self.kinds[element.array].layout == "F":
            return element.subscripts[1:]
        return element.subscripts[:-1]

    def operations(self, operations: Sequence[Operation], place: StatementPlace) -> None:
        self.in_turn([*joined(operations, self.usual)], lambda part: self.operation_or_several(part, place))

    def in_turn(self, parts: Sequence[_Part], write: Callable[[_Part], None]) -> None:
        """Write parts one after the other, those that follow a call of the library under the test that it has not
        failed.  (Who does a region alone has left it then.)"""
        with ExitStack() as tests:
            for number, part in enumerate(parts):
                write(part)
                if self.shares_calls and number + 1 < len(parts) and has_library_call(part):
                    tests.enter_context(self.writer.indented("if not $has_failed($context):"))

    def end_loop(self, *body: Node | Operation) -> None:
        """End a loop of a region that is shared out where a call of the library in it has failed: what the call should
        have computed may be what the loop waits for."""
        if self.shares_calls and any(map(has_library_call, body)):
            with self.writer.indented("if $has_failed($context):"):
                self.writer.line("break")

    def operation_or_several(self, part: Operation | JoinedTests, place: StatementPlace) -> None:
        if not isinstance(part, JoinedTests):
            self.operation(part, place)
            return
        if part.violation == Constant(False, "bool"):
            for operation in part.usual:
                self.operation(operation, place)
            return
        with self.writer.indented(f"if not ({expression_text(part.violation, place.text)}):"):
            for operation in part.usual:
                self.operation(operation, place)
        with self.writer.indented("else:"):
            for operation in part.tested:
                if isinstance(operation, Checked):
                    self.tested(operation, place)
                else:
                    self.operation(operation, place)

    def operation(self, operation: Operation, place: StatementPlace) -> None:
        match operation:
            case Assign(target, value):
                self.writer.line(f"{place.text(target)} = {expression_text(value, place.text)}")
            case Branch(condition, then, otherwise):
                with self.writer.indented(f"if {expression_text(condition, place.text)}:"):
                    self.operations(then, place)
                if otherwise:
                    with self.writer.indented("else:"):
                        self.operations(otherwise, place)
            case While(condition, body):
                with self.writer.indented(f"while {expression_text(condition, place.text)}:"):
                    self.operations(body, place)
                    self.end_loop(*body)
            case Loop(counter, start, stop, step, body):
                bounds = ", ".join((*(expression_text(each, place.text) for each in (start, stop)), str(step)))
                with ExitStack() as tests:
                    before = tests_before(operation)
                    if before is not None:
                        with self.writer.indented(f"if not ({expression_text(before.violation, place.text)}):"):
                            self.untested = before.remaining
                            self.loop(counter, bounds, body, place)
                        tests.enter_context(self.writer.indented("else:"))
                        self.untested = dict.fromkeys(before.remaining)  # few loops come here, which need no two forms
                    self.loop(counter, bounds, body, place)
                    self.untested = {}
            case Break():
                self.writer.line("break")
            case Continue():
                self.writer.line("continue")
            case Checked(Constant(False), body=body):
                self.operations(body, place)
            case Checked():
                self.checked(operation, place)
            case LibraryCall(function, results, arguments, report):
                memory = [f"$memory_of({shared_name(report.array)}, (0,), (), ())"]
                memory += [self.part(part, place) for part in (*results, *arguments)]
                self.writer.line(f"$call_library($context, {function!r}, {len(results)}, ({', '.join(memory)},))")
                if not self.shares_calls:
                    with self.writer.indented("if $has_failed($context):"):
                        if self.is_team:
                            self.writer.line("$complete($context)")
                        self.writer.line("return")

    def loop(self, counter: str, bounds: str, body: Sequence[Operation], place: StatementPlace) -> None:
        """Write a loop inside of a statement.

        Args:
            counter: its variable.
            bounds: the text of its bounds.
            body: its body.
            place: how that refers to memory.
        """
        with self.writer.indented(f"for {counter} in $range({bounds}):"):
            self.operations(body, place)
            self.end_loop(*body)

    def usual(self, operation: Checked) -> Checked | None:
        """The form that an operation under a test mostly has, with fewer tests; None where it has none."""
        known = id(operation) in self.untested
        return self.untested[id(operation)] if known else without_negative_subscripts(operation)

    def checked(self, operation: Checked, place: StatementPlace) -> None:
        """Write an operation and the test of its subscripts, first in the form that they mostly have."""
        usual = self.usual(operation)
        if usual is None:
            self.tested(operation, place)
            return
        if usual.violation == Constant(False, "bool"):
            self.operations(usual.body, place)
            return
        violation = fewer_tests(alternatives(usual.violation))
        with self.writer.indented(f"if not ({expression_text(violation, place.text)}):"):
            self.operations(usual.body, place)
        with self.writer.indented("else:"):
            self.tested(operation, place)

    def tested(self, operation: Checked, place: StatementPlace) -> None:
        """Write the test of an operation, and under it the operation."""
        with self.writer.indented(f"if {expression_text(operation.violation, place.text)}:"):
            # The first one is reported, from which others may follow.
            with self.writer.indented(f"if {place.text(operation.report)} == 0:"):
                self.writer.line(f"{place.text(operation.report)} = {operation.site}")
            if operation.leaves:
                self.writer.line("break")
        if operation.body:
            with self.writer.indented("else:"):
                self.operations(operation.body, place)

    def part(self, part: ArrayPart, place: StatementPlace) -> str:
        """Return where a part of an array is, for a call of the library: its first element, the next one along each of
        its dimensions, and its extents."""
        ends = [dict.fromkeys(part.counters, 0)]
        ends += [{counter: int(counter is each) for counter in part.counters} for each in part.counters]
        places = []
        for values in ends:
            element = _with_counters(part.element, {counter.name: value for counter, value in values.items()})
            places.append(f"({', '.join(place.subscripts(element))},)")
        extents = "".join(f"{expression_text(extent, place.text)}, " for extent in part.extents)
        steps = "".join(f"{step}, " for step in places[1:])
        return f"$memory_of({place.array(part.element)}, {places[0]}, ({steps}), ({extents}))"


@dataclass(frozen=True)
class UntestedRest:
    """The body of a loop that ends with the first iteration that does not run.

    Attributes:
        test: what computes whether an iteration runs.
        condition: is true where it does.
        rest: what it does then, without tests of the condition.
    """

    test: Node
    condition: Expression
    rest: Node


def early_end(body: Node) -> UntestedRest | None:
    """The parts of a loop's body by which the loop may end early; None where it may not.

    Args:
        body: the loop's.
    """
    match body:
        case Block((Compute(operations=(Assign(Element(name, ()), value),)) as test, *rest)) if rest:
            pass
        case _:
            return None
    # What it is computed of must be what the rest alone changes, and no loop variable.
    if not _is_of_scalars(value) or name in _scalars(value):
        return None
    conditions = [_condition(operation) for node in rest for operation in _operations(node)]
    condition = conditions[0] if conditions else None
    if condition is None or any(each != condition for each in conditions):
        return None
    if not _is_of_scalars(condition) or _scalars(condition) != {name}:
        return None
    if any(name in arrays_written(operation) for node in rest for operation in _operations(node)):
        return None
    return UntestedRest(test, condition, Block(tuple(map(_untested, rest))))


def _untested(node: Node) -> Node:
    """A node whose operations are all under one condition, without it."""
    if isinstance(node, Compute):
        branches = [operation for operation in node.operations if isinstance(operation, Branch)]
        return replace(node, operations=tuple(operation for branch in branches for operation in branch.then))
    return map_nodes(node, _untested)


def _operations(node: Node) -> list[Operation | None]:
    """The operations of a node; None stands for what is none, but has effects."""
    found: list[Operation | None] = []
    for part in walk_nodes(node):
        match part:
            case Compute(operations=operations):
                found += operations
            case Block() | For() | If():
                pass
            case _:
                found.append(None)
    return found


def _condition(operation: Operation | None) -> Expression | None:
    """The condition that an operation is under; None where there is none."""
    match operation:
        case Branch(condition, _, ()):
            return condition
        case _:
            return None


def _is_of_scalars(expression: Expression) -> bool:
    """Return whether an expression selects and compares scalars and constants, and does nothing else."""
    return all(
        isinstance(leaf, Compare | Logical | Select | Constant) or (isinstance(leaf, Element) and not leaf.subscripts)
        for leaf in walk(expression)
    )


def _scalars(expression: Expression) -> set[str]:
    return {leaf.array for leaf in walk(expression) if isinstance(leaf, Element)}
