"""Loops of versions that end where the source has ended them.

A SCoP has all instances of a loop that may end early, ``early_ends``, as if all of them happened.  They do, in order,
up to the iteration that sets the flag, and those after it do not, where

- each loop of the version around such instances has those of one iteration of the source's in each of its own;
- in the order of the version all that may set the flag in earlier iterations comes before an iteration's instances,
  which dependences say (``polytune.schedule.analysis.dependences``);
- an iteration that begins asks whether the flag has been set by an earlier one.

What sets the flag later than an iteration begins makes no difference to it: the flag tells which one has ended the
loop.  Workers that share the version read it outside of regions, when all regions of the iteration before are complete.
One that comes late may find the flag set by the very iteration that it is about to begin with the others, and goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from polytune.codegen.ast_conversion import substitute
from polytune.codegen.loops import (
    Compute,
    EndTest,
    For,
    If,
    Node,
    Program,
    RegionCall,
    RegionCode,
    map_nodes,
    nodes_below,
)
from polytune.errors import UnprovenError
from polytune.frontend.expression import Binary, Compare, Constant, Element, Expression, Iterator, Logical, walk
from polytune.frontend.scop import EarlyEnd, Scop
from polytune.schedule.regions import RegionKind


def with_early_ends(program: Program, scop: Scop) -> Program:
    """The program with its loops ended where the source has ended them.

    Args:
        program: a version, before transforms of its loops.
        scop: its kernel.

    Raises:
        UnprovenError: some instances are not in loops that can be ended so.
    """
    for end in scop.early_ends:
        program = _Ender(program, scop, end).ended()
    return program


def ends_early(program: Program, scop: Scop) -> bool:
    """Return whether a program has tests for all of a kernel's loops that may end early."""
    return program.flags >= {end.flag for end in scop.early_ends}


class _Ender:
    """Puts the tests of one loop of the source into a program."""

    def __init__(self, program: Program, scop: Scop, end: EarlyEnd):
        self._program, self._end = program, end
        self._depth = {
            statement.name: statement.iterators.index(end.iterator)
            for statement in scop.statements
            if end.iterator in statement.iterators
        }
        self._changed: dict[int, RegionCode] = {}

    def ended(self) -> Program:
        """Return the program with the tests."""
        skeleton = self._node(self._program.skeleton, {})
        regions = tuple(self._changed.get(region.index, region) for region in self._program.regions)
        return replace(self._program, skeleton=skeleton, regions=regions)

    def _node(self, node: Node, around: Mapping[str, Expression]) -> Node:
        """A node outside of loops with such tests.

        Args:
            node: the node.
            around: the values of the variables that stand for loops around its region.
        """
        values = set(self._values(node, around, node.variable if isinstance(node, For) else ""))
        if values <= {None}:
            return node
        if isinstance(node, RegionCall):
            return self._call(node)
        if isinstance(node, For) and len(values) == 1:
            value = next(iter(values))
            assert value is not None
            names = {each.name for each in walk(value) if isinstance(each, Iterator)}
            if names == {node.variable}:
                return self._tested(node, value)
            if node.variable not in names:
                # It goes through iterations in parts, as rows that are as long as a remainder is large.
                return map_nodes(node, lambda child: self._node(child, around))
        if isinstance(node, Compute | For):
            raise UnprovenError("a loop that may end early is not one of its own")
        return map_nodes(node, lambda child: self._node(child, around))

    def _call(self, call: RegionCall) -> RegionCall:
        """The call of a region that has all of the loop."""
        code = self._program.regions[call.region]
        if code.kind is not RegionKind.SERIAL or call.prefix:
            raise UnprovenError("workers share iterations of a loop that may end early")
        self._changed[code.index] = replace(code, body=self._node(code.body, {}))
        return call

    def _tested(self, loop: For, value: Expression) -> For:
        """The loop with the test."""
        end = self._end
        low, high = (end.start, value) if end.is_up else (value, end.start)
        number = high if low == Constant(0, "int64") else Binary("-", high, low, "int64")
        return replace(loop, ending=EndTest(Element(end.flag, (), "int64"), number))

    def _values(self, node: Node, values: Mapping[str, Expression], variable: str = "") -> Sequence[Expression | None]:
        """The values of the iterator for all instances in a node; None for those of statements outside of the loop.

        Args:
            node: the node.
            values: those of variables that stand for loops around its region.
            variable: that of a loop, which stands for what equals it under the conditions around an instance.
        """
        match node:
            case Compute(statement=name, instance=instance):
                return [substitute(instance[self._depth[name]], values) if name in self._depth else None]
            case RegionCall(region, prefix):
                code = self._program.regions[region]
                return self._values(code.body, {**values, **dict(zip(code.outer, prefix, strict=True))}, variable)
            case If(condition, then, otherwise):
                equal = _equal_to(variable, substitute(condition, values))
                found = self._values(then, values, variable)
                others = [] if otherwise is None else self._values(otherwise, values, variable)
                return [*(Iterator(variable) if each in equal else each for each in found), *others]
            case _:
                pass
        return [value for child in nodes_below(node) for value in self._values(child, values, variable)]


def _equal_to(variable: str, condition: Expression) -> Sequence[Expression]:
    """The expressions that equal a variable where a condition holds."""
    match condition:
        case Logical("and", operands):
            return [found for each in operands for found in _equal_to(variable, each)]
        case Compare("==", Iterator(name), other) | Compare("==", other, Iterator(name)) if name == variable:
            return [other]
    return []
