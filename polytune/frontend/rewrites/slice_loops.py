"""Loops over parts of arrays that begin further on in each iteration of a loop around count from where these begin.

``C[i, i + 1 : n] = x[i] * B[i + 1 : n]`` is a loop over as many elements as there are, and its subscripts are sums of
two loop variables::

    for i: for j in range(n - i - 1): C[i, i + 1 + j] = x[i] * B[i + 1 + j]

    for i: for j in range(i + 1, n): C[i, j] = x[i] * B[j]

In the second form iterations of the loop around have the same elements at the same j, as they have in loops that people
write: so rows share what they load, and products of triangles of matrices are seen to be such.

A loop is changed where its variable is nowhere but in subscripts, with the same sum of the variables of loops around in
all of them, and the end no longer depends on these then: so that of windows, ``A[i : i + 3]``, stays as it is.  The
iterations are the same, in the same order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from polytune.frontend.array_expressions.affine_arithmetic import ZERO, add, coefficients, integer, minimum
from polytune.frontend.expression import Binary, Constant, Element, Expression, map_children, walk
from polytune.frontend.expression import Iterator as LoopVariable
from polytune.frontend.lowering.frame import KernelWalk
from polytune.frontend.program import ElementLocations, Guard, Node, Perform, RangeLoop

__all__ = ["with_slices_from_their_beginnings"]


def with_slices_from_their_beginnings(nodes: Sequence[Node], kernel: KernelWalk) -> tuple[Node, ...]:
    """The program with loops over parts of arrays that count from where these begin.

    Args:
        nodes: the program.
        kernel: what has been found of it, above all which loops may end early.
    """
    return tuple(_in_node(node, kernel.endings, kernel.locations) for node in nodes)


def _in_node(node: Node, endings: Collection[str], locations: ElementLocations) -> Node:
    match node:
        case Perform():
            return node
        case Guard(_, then, otherwise):
            sides = [tuple(_in_node(each, endings, locations) for each in side) for side in (then, otherwise)]
            return replace(node, then=sides[0], otherwise=sides[1])
        case RangeLoop(iterator=iterator, body=body):
            loop = replace(node, body=tuple(_in_node(each, endings, locations) for each in body))
            return loop if iterator in endings else _from_beginning(loop, locations)


def _from_beginning(loop: RangeLoop, locations: ElementLocations) -> RangeLoop:
    """The loop, counted from where the parts begin that it goes over; as it is where that is nothing simpler."""
    if loop.step != 1 or loop.start != ZERO:
        return loop
    beginning = _beginning(loop)
    if beginning is None:
        return loop
    stop = _moved_end(loop.stop, beginning)
    if stop is None:
        return loop
    mover = _Mover(LoopVariable(loop.iterator), beginning, locations)
    return replace(loop, start=beginning, stop=stop, body=tuple(map(mover.node, loop.body)))


def _beginning(loop: RangeLoop) -> Expression | None:
    """The sum added to a loop's variable in all subscripts with it, the same variables of loops around and a number;
    None where it stands anywhere else."""
    variable = LoopVariable(loop.iterator)
    if not all(_is_in_subscripts_alone(part, variable) for part in _expressions(loop.body)):
        return None
    found: dict[Expression, int] | None = None
    number = 0
    for subscript in _subscripts(loop.body, variable):
        terms, constant = coefficients(subscript)
        if terms.pop(variable, 0) != 1 or any(_depends(leaf, {variable}) for leaf in terms):
            return None
        around: dict[Expression, int] = {
            leaf: each for leaf, each in terms.items() if each and isinstance(leaf, LoopVariable)
        }
        if found is None:
            found, number = around, constant
        if not around or around != found or min(around.values()) < 0:
            return None
    if found is None:
        return None
    beginning: Expression = integer(number)
    for leaf, each in found.items():
        beginning = add(beginning, leaf, each)
    return beginning


def _moved_end(end: Expression, beginning: Expression) -> Expression | None:
    """The end of a loop from zero, moved to where parts begin; None where it still depends on what that depends on."""
    match end:
        case Binary("max", Constant(0), other) | Binary("max", other, Constant(0)):
            return _moved_end(other, beginning)  # no iteration follows from either
        case Binary("min", left, right):
            first, second = _moved_end(left, beginning), _moved_end(right, beginning)
            return None if first is None or second is None else minimum(first, second)
    moved = add(end, beginning)
    variables = {part for part in walk(beginning) if isinstance(part, LoopVariable)}
    return None if _depends(moved, variables) else moved


def _depends(expression: Expression, variables: Collection[Expression]) -> bool:
    return any(part in variables for part in walk(expression) if isinstance(part, LoopVariable))


def _is_in_subscripts_alone(part: Any, variable: LoopVariable) -> bool:
    """Return whether a loop's variable stands in no part of an operation but subscripts of elements."""
    if isinstance(part, Element):
        return True
    return part != variable and all(_is_in_subscripts_alone(child, variable) for child in _below(part))


def _below(part: Any) -> list[Any]:
    """The expressions and operations directly below one."""
    found: list[Any] = []

    def keep(child: Any) -> Any:
        found.append(child)
        return child

    map_children(part, keep)
    return found


def _expressions(nodes: Sequence[Node]) -> Iterator[Any]:
    """The operations, conditions and bounds of nodes."""
    for node in nodes:
        match node:
            case Perform(operations):
                yield from operations
            case Guard(condition, then, otherwise):
                yield condition
                yield from _expressions((*then, *otherwise))
            case RangeLoop(start=start, stop=stop, body=body):
                yield from (start, stop)
                yield from _expressions(body)


def _subscripts(nodes: Sequence[Node], variable: LoopVariable) -> Iterator[Expression]:
    """The subscripts that a loop's variable stands in."""
    for expression in _expressions(nodes):
        for part in walk(expression):
            if isinstance(part, Element):
                yield from (each for each in part.subscripts if _depends(each, {variable}))


class _Mover:
    """Takes what a loop now begins with from the subscripts that it was added in.

    Args:
        variable: the loop's.
        beginning: what it begins with.
        locations: where references stand in the source.
    """

    def __init__(self, variable: LoopVariable, beginning: Expression, locations: ElementLocations):
        self._variable, self._beginning, self._locations = variable, beginning, locations

    def node(self, node: Node) -> Node:
        match node:
            case Perform(operations):
                return replace(node, operations=tuple(map(self.part, operations)))
            case Guard(condition, then, otherwise):
                sides = [tuple(map(self.node, side)) for side in (then, otherwise)]
                return replace(node, condition=self.part(condition), then=sides[0], otherwise=sides[1])
            case RangeLoop(start=start, stop=stop, body=body):
                start, stop = self.part(start), self.part(stop)
                return replace(node, start=start, stop=stop, body=tuple(map(self.node, body)))

    def part(self, part: Any) -> Any:
        """An operation or expression of which the loop's variable has another value."""
        changed = map_children(part, self.part)
        if not isinstance(changed, Element) or not any(_depends(each, {self._variable}) for each in changed.subscripts):
            return changed
        moved = tuple(
            add(each, self._beginning, -1) if _depends(each, {self._variable}) else each for each in changed.subscripts
        )
        made = replace(changed, subscripts=moved)
        place = self._locations.find(part)
        return made if place is None else self._locations.record(made, place)
