"""Which elements a program touches: its loops are walked with numbers for the parameters, nothing is computed.

Affine control is followed exactly, of control that depends on data both ways are taken.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.fuzz.syntax import (
    Application,
    Assignment,
    Conditional,
    DataComparison,
    Expression,
    Guard,
    Loop,
    Node,
    Operation,
    Reference,
    Tree,
    Variable,
)


class TooManyInstances(Exception):
    """The program runs more assignments than wanted."""


@dataclass
class Ranges:
    """Per array and dimension the least and the largest subscript, and the number of assignments run."""

    limit: int
    instances: int = 0
    subscripts: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def note(self, reference: Reference, names: dict[str, int]) -> None:
        values = [subscript.value(names) for subscript in reference.subscripts]
        known = self.subscripts.get(reference.array)
        if known is None:
            self.subscripts[reference.array] = [(value, value) for value in values]
        else:
            self.subscripts[reference.array] = [
                (min(low, value), max(high, value)) for (low, high), value in zip(known, values, strict=True)
            ]

    def count(self) -> None:
        self.instances += 1
        if self.instances > self.limit:
            raise TooManyInstances


def touched(tree: Tree, parameters: dict[str, int], limit: int) -> Ranges:
    """The subscripts that occur when the program runs with these parameters.

    Raises:
        TooManyInstances: it runs more than ``limit`` assignments and loop iterations.
    """
    ranges = Ranges(limit)
    for node in tree.body:
        _run(node, dict(parameters), ranges)
    return ranges


def _run(node: Node, names: dict[str, int], ranges: Ranges) -> None:
    if isinstance(node, Loop):
        for value in range(node.start.value(names), node.stop.value(names), node.step):
            ranges.count()
            inner = {**names, node.variable: value}
            for child in node.body:
                _run(child, inner, ranges)
    elif isinstance(node, Guard):
        branches = [node.then, node.otherwise]
        if isinstance(node.condition, DataComparison):
            _read(node.condition.left, names, ranges)
            _read(node.condition.right, names, ranges)
        else:
            branches = [node.then if node.condition.holds(names) else node.otherwise]
        for branch in branches:
            for child in branch:
                _run(child, names, ranges)
    elif isinstance(node, Assignment):
        ranges.count()
        _read(node.value, names, ranges)
        if not isinstance(node.target, Variable):
            ranges.note(node.target, names)


def _read(expression: Expression, names: dict[str, int], ranges: Ranges) -> None:
    match expression:
        case Reference():
            ranges.note(expression, names)
        case Operation(_, left, right):
            _read(left, names, ranges)
            _read(right, names, ranges)
        case Application(_, arguments):
            for argument in arguments:
                _read(argument, names, ranges)
        case Conditional(condition, then, otherwise):
            if not isinstance(condition, DataComparison):
                _read(then if condition.holds(names) else otherwise, names, ranges)
                return
            for part in (condition.left, condition.right, then, otherwise):
                _read(part, names, ranges)
