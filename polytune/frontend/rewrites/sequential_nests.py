"""The order of loops inside of opaque statements: along the rows of arrays where elements are accumulated.

Loops in a statement are not the scheduler's: code generation prints them as they stand.  ``v @ A`` adds up a column of
``A`` for each element of the result, and columns of matrices are slow to go along, one element of each line of the
cache.  So the loop over elements goes inside the loop over what is added up::

    for i: t[i] = 0; for k: t[i] += v[k] * A[k, i]  ->  for i: t[i] = 0
                                                        for k: for i: t[i] += v[k] * A[k, i]

That is legal where the nest writes nothing but elements of one array, a different one in each iteration of the loop
that moves, and reads no other elements of that array: iterations of that loop then have nothing in common.  What each
element accumulates comes in the same order as before, so that results are the same bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from polytune.frontend.expression import Assign, Counter, Element, Loop, Operation, walk
from polytune.frontend.program import Guard, Node, Perform, RangeLoop

__all__ = ["along_rows"]

Layouts = Mapping[str, str]


def along_rows(node: Node, layouts: Layouts) -> Node:
    """The node with the loops inside of its statements in the order in which arrays are gone along.

    Args:
        node: a node of the program, with subscripts already under their tests.
        layouts: the layouts of arguments by name, as `ArrayType` has them; other arrays lie in C order.
    """
    match node:
        case Perform(operations):
            return replace(node, operations=_block(operations, layouts))
        case Guard(then=then, otherwise=otherwise):
            sides = [tuple(along_rows(child, layouts) for child in side) for side in (then, otherwise)]
            return replace(node, then=sides[0], otherwise=sides[1])
        case RangeLoop(body=body):
            return replace(node, body=tuple(along_rows(child, layouts) for child in body))


def _block(operations: Sequence[Operation], layouts: Layouts) -> tuple[Operation, ...]:
    return tuple(part for operation in operations for part in _operation(operation, layouts))


def _operation(operation: Any, layouts: Layouts) -> tuple[Operation, ...]:
    """The operations in place of one, those in it first: an inner nest is nearer to the elements."""
    match operation:
        case Loop(body=body):
            loop = replace(operation, body=_block(body, layouts))
            return _moved_inside(loop, layouts) or (loop,)
    if any(isinstance(part, Loop) for part in walk(operation)):
        for name in ("body", "then", "otherwise"):
            if hasattr(operation, name):
                operation = replace(operation, **{name: _block(getattr(operation, name), layouts)})
    return (operation,)


def _moved_inside(loop: Loop, layouts: Layouts) -> tuple[Operation, ...] | None:
    """Return the loop's parts, each with the loop innermost; None where that is not legal or not better."""
    nests = [nest for nest in loop.body if isinstance(nest, Loop)]
    if not nests or not _is_independent(loop):
        return None
    inner = [_innermost(nest) for nest in nests]
    if any(found is None for found in inner):
        return None
    before = after = 0
    for found in inner:
        assert found is not None
        counter, assign = found
        before += _far(assign, counter, layouts)
        after += _far(assign, loop.counter, layouts)
    if after >= before:
        return None
    return tuple(_around(part, loop) for part in loop.body)


def _innermost(nest: Loop) -> tuple[str, Assign] | None:
    """The counter of the innermost loop of a perfect nest, and the one assignment in it."""
    match nest.body:
        case (Loop() as further,):
            return _innermost(further)
        case (Assign() as assign,):
            return nest.counter, assign
    return None


def _is_independent(loop: Loop) -> bool:
    """Return whether iterations of a loop have nothing in common but what nothing in it writes."""
    counter = Counter(loop.counter)
    targets = {assign.target for assign in walk(loop) if isinstance(assign, Assign)}
    if len(targets) != 1:
        return False
    (target,) = targets
    if counter not in target.subscripts:
        return False
    for part in walk(loop):
        match part:
            case Loop(start=start, stop=stop) if part is not loop:
                if any(each == counter or isinstance(each, Element) for end in (start, stop) for each in walk(end)):
                    return False
            case Element(array=array) if array == target.array and part != target:
                return False
            case Loop() | Assign():
                pass
            case _ if isinstance(part, Operation):
                return False
    inside = {part.counter for part in walk(loop) if isinstance(part, Loop)} - {loop.counter}
    return not any(
        isinstance(part, Element) or (isinstance(part, Counter) and part.name in inside)
        for subscript in target.subscripts
        for part in walk(subscript)
    )


def _far(assign: Assign, counter: str, layouts: Layouts) -> int:
    """Return how many references of an assignment go from line to line of the cache with a counter."""
    elements = (part for part in walk(assign) if isinstance(part, Element))
    return sum(_is_far(element, counter, layouts) for element in elements)


def _is_far(element: Element, counter: str, layouts: Layouts) -> bool:
    along = [Counter(counter) in walk(subscript) for subscript in element.subscripts]
    if layouts.get(element.array) == "F":
        along.reverse()
    return any(along[:-1])


def _around(operation: Operation, loop: Loop) -> Operation:
    """The operation with the loop around what its own nest has innermost."""
    if isinstance(operation, Loop):
        return replace(operation, body=tuple(_around(part, loop) for part in operation.body))
    return replace(loop, body=(operation,))
