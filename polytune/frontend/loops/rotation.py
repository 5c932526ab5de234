"""Loops that end in the middle of an iteration, rotated: an iteration ends with the beginning of the next one.

The code of versions asks at the beginning of an iteration whether the loop has ended before.  What follows a ``break``
would have to ask once more, each statement for itself, so that none is an accumulation, nor anything else that has an
order or a form of its own.  So ``for i in range(a, b): first; if done: break; rest`` becomes

    for i in range(a - 1, b):
        if i >= a: rest of i
        if i + 1 < b: first of i + 1; if done: end the loop

which does the same in the same order: ``rest`` happens in those iterations that the loop has not ended before.  One
iteration more at the end, in place of the beginning, might be beyond the numbers that there are.
"""

from __future__ import annotations

from collections.abc import Iterator as Iteration
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from polytune.frontend.expression import (
    Assign,
    Binary,
    Branch,
    Compare,
    Constant,
    Element,
    Expression,
    Iterator,
    Operation,
    Unary,
    arrays_written,
    map_children,
    walk,
)
from polytune.frontend.lowering.frame import KernelWalk
from polytune.frontend.program import Guard, Node, Perform, RangeLoop
from polytune.records import dataclass

__all__ = ["rotated"]

Conditions = tuple[Expression, ...]


def rotated(loop: RangeLoop, flag: str, kernel: KernelWalk) -> RangeLoop:
    """The loop with what comes up to its end moved to the iteration before; as it is where no loops follow, or where
    more than the end decides whether they happen.

    Args:
        loop: one that assigns 1 to a flag where it ends.
        flag: the flag, which is 0 where an iteration begins.
        kernel: what the walk over the source has found; arrays that both parts use are no longer made anew.
    """
    places = [place for place, node in enumerate(loop.body) if flag in arrays_written(node)]
    if not places or _depends_on_iterator(loop.iterator, kernel):
        return loop
    first, rest = loop.body[: places[-1] + 1], loop.body[places[-1] + 1 :]
    if not any(_has_loops(node) for node in rest):
        return loop
    certain = _certain(loop.body, len(first), flag)
    following = [_without(node, certain) for node in rest]
    kept = tuple(node for node in following if node is not None)
    if len(kept) != len(rest):
        return loop
    for name in _names(first) & _names(rest):
        array = kernel.arrays.get(name)
        if array is not None and loop.iterator in array.renewed:
            kernel.arrays[name] = replace(array, renewed=())
    is_up, variable = loop.step > 0, Iterator(loop.iterator)
    moved = tuple(_in_next(node, loop, kernel) for node in first)
    begun = Compare(">=" if is_up else "<=", variable, loop.start)
    going = Compare("<" if is_up else ">", _plus(variable, loop.step), loop.stop)
    body = Guard(begun, kept, (), loop.location), Guard(going, moved, (), loop.location)
    return replace(loop, start=_plus(loop.start, -loop.step), body=body)


def _plus(number: Expression, amount: int) -> Expression:
    if isinstance(number, Constant):
        return Constant(number.value + amount, "int64")
    return Binary("+" if amount > 0 else "-", number, Constant(abs(amount), "int64"), "int64")


def _depends_on_iterator(iterator: str, kernel: KernelWalk) -> bool:
    """Return whether shapes depend on a loop's iterator, which has other values in a part that moves."""
    shapes = [each for array in kernel.arrays.values() for each in array.shape]
    shapes += [extent.expression for extent in kernel.extents.values()]
    return any(isinstance(each, Iterator) and each.name == iterator for shape in shapes for each in walk(shape))


def _has_loops(node: Node) -> bool:
    return any(isinstance(each, RangeLoop) for each in walk(node))


def _names(nodes: Sequence[Node]) -> set[str]:
    """Return the arrays and variables that nodes have in them."""
    written = {name for node in nodes for name in arrays_written(node)}
    return written | {each.array for node in nodes for each in walk(node) if isinstance(each, Element)}


@dataclass(frozen=True)
class _Assignment:
    """An assignment to a variable in an iteration.

    Attributes:
        place: of the node of the loop's body that it is in.
        conditions: those that it is under, of branches and guards, the outermost one first.
        value: what is assigned; None where that is not plain, or happens in a loop.
    """

    place: int
    conditions: Conditions
    value: Expression | None


def _certain(body: Sequence[Node], length: int, flag: str) -> set[Expression]:
    """Return conditions that hold, and do not change, after the first nodes of an iteration that do not end the loop.

    Args:
        body: what an iteration does.
        length: how many nodes come first.
        flag: that of the loop.
    """
    first = body[:length]
    found: dict[Expression, int] = {}
    ends = [each for each in _assignments(first, flag) if each.value == Constant(1, "int64")]
    for end in ends:
        *around, last = end.conditions or (None,)
        if last is not None and all(each in found for each in around):
            found.setdefault(_negated(last), end.place)
    # A variable that says that what follows in the iteration is skipped, and is set with the flag alone.
    for name in {each.target.array for node in first for each in walk(node) if isinstance(each, Assign)} - {flag}:
        before, *others = _assignments(first, name)
        if before.conditions or before.value != Constant(0, "int64") or not others:
            continue
        skips = [
            min((end.place for end in ends if end.conditions == each.conditions), default=None)
            for each in others
            if each.value == Constant(1, "int64")
        ]
        if len(skips) == len(others) and None not in skips:
            earliest = min(place for place in skips if place is not None)
            conditions = {part for each in others for part in each.conditions}
            if _are_constant(conditions, first[earliest:]):
                found[Compare("==", Element(name, (), "int64"), Constant(0, "int64"))] = length
    return {condition for condition, place in found.items() if _are_constant({condition}, body[place:])}


def _are_constant(conditions: set[Expression], nodes: Sequence[Node]) -> bool:
    """Return whether nodes write to nothing that conditions read."""
    read = {each.array for part in conditions for each in walk(part) if isinstance(each, Element)}
    return not any(name in read for node in nodes for name in arrays_written(node))


def _assignments(nodes: Sequence[Node], name: str) -> Sequence[_Assignment]:
    return [found for place, node in enumerate(nodes) for found in _inside(node, name, place, ())]


def _inside(node: Node | Operation, name: str, place: int, around: Conditions) -> Iteration[_Assignment]:
    """The assignments to a variable in a node."""
    match node:
        case Perform(operations=operations):
            for each in operations:
                yield from _inside(each, name, place, around)
        case Guard(condition, then, otherwise) | Branch(condition, then, otherwise):
            condition = _plain(condition)
            for side, holds in ((then, condition), (otherwise, _negated(condition))):
                for child in side:
                    yield from _inside(child, name, place, (*around, holds))
        case Assign(Element(array, ()), value):
            if array == name:
                yield _Assignment(place, around, value)
        case _:
            if name in arrays_written(node):
                yield _Assignment(place, around, None)


def _plain(condition: Expression) -> Expression:
    """The condition with no ``not`` around a comparison for equality of an integer."""
    if isinstance(condition, Unary) and condition.operator == "not":
        return _negated(_plain(condition.operand))
    return condition


def _negated(condition: Expression) -> Expression:
    """The opposite of a condition that is as `_plain` makes it."""
    match condition:
        case Unary("not", operand):
            return operand
        case Compare("==" | "!=" as operator, Element(dtype="int64"), Constant(dtype="int64")):
            return replace(condition, operator="!=" if operator == "==" else "==")
    return Unary("not", condition, "bool")


def _without(node: Node, certain: set[Expression]) -> Node | None:
    """A node without conditions that hold; None where some of it happens whether they do or not."""
    match node:
        case Perform((Branch(condition, then, ()),)) if _plain(condition) in certain:
            inner = replace(node, operations=then)
            return _without(inner, certain) or inner
        case Perform():
            return None
        case RangeLoop(body=body):
            inside = [_without(each, certain) for each in body]
            made = tuple(each for each in inside if each is not None)
            return replace(node, body=made) if len(made) == len(inside) else None
        case Guard(then=then, otherwise=otherwise):
            sides = [[_without(each, certain) for each in side] for side in (then, otherwise)]
            if any(each is None for side in sides for each in side):
                return None
            then, otherwise = (tuple(each for each in side if each is not None) for side in sides)
            return replace(node, then=then, otherwise=otherwise)


def _in_next(part: Any, loop: RangeLoop, kernel: KernelWalk) -> Any:
    """A part of the program as it is in the iteration after."""
    if isinstance(part, Iterator) and part.name == loop.iterator:
        return _plus(part, loop.step)
    changed = map_children(part, lambda child: _in_next(child, loop, kernel))
    if isinstance(part, Element) and changed is not part:
        location = kernel.locations.find(part)
        if location is not None:
            kernel.locations.record(changed, location)
    return changed
