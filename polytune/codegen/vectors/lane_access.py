"""The lanes of a vector: the operations that they have, and where they lie, next to one another or a step apart.

Operations have exactly the meaning that they have for scalars, lane by lane.

Consecutive values of a loop variable mean consecutive elements in ``A[i, v]``; in ``A[i, n - v]`` they go backwards, in
``A[i, 2 * v]`` every second element is one, and in ``A[v, i]`` each lies in another row.  The first two take as many
loads as there are elements between the first and the last lane, in whole vectors; the last one takes a load for each
lane, as scalars do: it pays only in company.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from polytune.codegen.affine_range import coefficient, mentions
from polytune.codegen.vectors.expressions import VECTOR, Apart, LaneSelect, VectorExpression
from polytune.frontend.expression import (
    Assign,
    Binary,
    Call,
    Compare,
    Element,
    Expression,
    Logical,
    Power,
    Select,
    Unary,
    walk,
)


def lane_operands(node: Expression, dtype: str) -> tuple[Expression, ...] | None:
    """Return what an operation computes its lanes from, all of one type; None where vectors of that type have no such
    one.

    Sums, differences and products of integers wrap round in vectors as they do in NumPy; quotients of integers and the
    magnitude of the least of them are left to scalars.  Roots are those that processors compute, rounded as scalars
    are; other functions are left to compilers, which know which of them have vector forms.
    """
    is_float = dtype.startswith("float")
    match node:
        case Binary("+" | "-" | "*" | "min" | "max", left, right, own) if own == dtype:
            return left, right
        case Binary("/", left, right, own) if own == dtype and is_float:
            return left, right
        case Power(operand, _, own) if own == dtype:
            return (operand,)
        case Unary("-", operand, own) if own == dtype:
            return (operand,)
        case Unary("abs", operand, own) if own == dtype and is_float:
            return (operand,)
        case Call("sqrt", (operand,), own) if own == dtype and is_float:
            return (operand,)
        case Select(Compare(_, left, right), then, otherwise, own) if own == dtype:
            return left, right, then, otherwise
        case _:
            return None


def chosen_alike(node: Expression, is_uniform: Callable[[Expression], bool]) -> Select | None:
    """Return a choice that is the same for all lanes, of which both sides may be computed; None for anything else.

    Of what a condition on data guards, calls are checked as if it always held, but not where subscripts are data, too.

    Args:
        node: any expression.
        is_uniform: tells whether an expression is the same for all lanes.
    """
    if not isinstance(node, Select) or not is_uniform(node.condition) or not _is_of_data(node.condition):
        return None
    elements = [part for side in (node.then, node.otherwise) for part in walk(side) if isinstance(part, Element)]
    inside = (part for element in elements for each in element.subscripts for part in walk(each))
    return None if any(isinstance(part, Element) for part in inside) else node


def _is_of_data(condition: Expression) -> bool:
    """Return whether all parts of a condition read memory, so that no check of a call takes note of it."""
    match condition:
        case Unary("not", operand):
            return _is_of_data(operand)
        case Logical(_, operands):
            return all(map(_is_of_data, operands))
        case _:
            return any(isinstance(part, Element) for part in walk(condition))


def in_lanes(node: Expression, operands: Sequence[Any]) -> VectorExpression:
    """The operation on vectors, given what ``lane_operands`` names as vectors."""
    match node:
        case Binary(operator):
            return Binary(operator, operands[0], operands[1], VECTOR)
        case Power(_, exponent):
            return Power(operands[0], exponent, VECTOR)
        case Unary(operator):
            return Unary(operator, operands[0], VECTOR)
        case Call(function):
            return Call(function, (operands[0],), VECTOR)
        case Select(Compare(operator)):
            left, right, then, otherwise = operands
            return LaneSelect(Compare(operator, left, right), then, otherwise)
        case _:
            raise AssertionError(f"no operation of vectors: {node!r}")


ContiguousAxis = Callable[[Element], int | None]
"""The position of the subscript that walks through neighbours in memory; None where there is none."""

NEAR = 4
"""Up to how many elements apart lanes are loaded in whole vectors
(``polytune.runtime.intrinsics.vectors_apart.NEAR``)."""

WORTH = 6
"""The least number of operations and other accesses for each one that takes a load for each lane, unless several rows
share it."""


def is_consecutive(element: Element, variable: str, contiguous: ContiguousAxis) -> bool:
    """Return whether consecutive values of a loop variable mean elements next to one another.

    Args:
        element: the element of an iteration.
        variable: the loop's.
        contiguous: tells how arrays lie in memory.
    """
    axis = contiguous(element)
    return axis is not None and moves(element, variable) == (axis, 1)


def apart_of(element: Element, variable: str, contiguous: ContiguousAxis) -> Apart | None:
    """Return how far lanes along a loop variable are apart; None where they are consecutive.

    Args:
        element: the element of an iteration.
        variable: the loop's.
        contiguous: tells how arrays lie in memory.

    Raises:
        ValueError: they are nothing that vectors can do.
    """
    moving = moves(element, variable)
    if moving is None:
        raise ValueError(f"the lanes of {element} along {variable} do not lie at equal distances")
    return None if is_consecutive(element, variable, contiguous) else Apart(*moving)


def may_be_loaded(element: Element, variable: str, contiguous: ContiguousAxis) -> bool:
    """Return whether lanes along a loop variable can be loaded, however far they are apart along one axis of an array
    of known layout.

    Args:
        element: the element of an iteration.
        variable: the loop's.
        contiguous: tells how arrays lie in memory.
    """
    return contiguous(element) is not None and moves(element, variable) is not None


def is_near(element: Element, variable: str, contiguous: ContiguousAxis) -> bool:
    """Return whether lanes along a loop variable can be loaded, and stored, in whole vectors.

    Args:
        element: the element of an iteration.
        variable: the loop's.
        contiguous: tells how arrays lie in memory.
    """
    moving = moves(element, variable)
    return moving is not None and moving[0] == contiguous(element) and abs(moving[1]) <= NEAR


def pays(
    assignments: Sequence[Assign],
    variable: str,
    contiguous: ContiguousAxis,
    dtype: str,
    rows: str | None = None,
    inside: Collection[str] | None = None,
    strips: Collection[str] = (),
) -> bool:
    """Return whether lanes along a loop variable save more than the loads cost that vectors cannot do.

    Args:
        assignments: what an iteration does.
        variable: the loop's.
        contiguous: tells how arrays lie in memory.
        dtype: the type of the lanes.
        rows: the variable of a loop several iterations of which share what is loaded for all of them; None where there
            is none.
        inside: the variables of loops inside that the assignments are in: what none of them changes is loaded before
            these loops, once; None where there are none.
        strips: arrays of which strips hold what lies across their rows.
    """
    values = {node for each in assignments for node in _in_lanes(each.value, variable, dtype)}
    nodes = values | {each.target for each in assignments if mentions(each.target, variable)}
    elements = (node for node in nodes if isinstance(node, Element) and node.array not in strips)
    far = (node for node in elements if not is_near(node, variable, contiguous))
    gathered = [node for node in far if inside is None or any(mentions(node, each) for each in inside)]
    cost = sum(1 if rows is not None and not mentions(node, rows) else WORTH for node in gathered)
    return cost <= len(nodes) - len(gathered)


def _in_lanes(node: Expression, variable: str, dtype: str) -> Iterator[Expression]:
    """The parts of a value that differ from lane to lane."""
    if mentions(node, variable):
        yield node
        if not isinstance(node, Element):
            alike = chosen_alike(node, lambda part: not mentions(part, variable))
            operands = lane_operands(node, dtype) or () if alike is None else (alike.then, alike.otherwise)
            for operand in operands:
                yield from _in_lanes(operand, variable, dtype)


def moves(element: Element, variable: str) -> tuple[int, int] | None:
    """The one axis along which a loop variable moves an element, and by how much; None where there is no such one."""
    axes = [axis for axis, subscript in enumerate(element.subscripts) if mentions(subscript, variable)]
    step = coefficient(element.subscripts[axes[0]], variable) if len(axes) == 1 else None
    return (axes[0], step) if step else None
