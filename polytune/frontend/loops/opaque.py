"""Control that depends on data, inside statements.

A branch on data around single assignments becomes one statement, whose accesses are over-approximated.  Around loops it
moves into their statements, if nothing in the loops can change its outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from polytune.errors import SourceLocation
from polytune.frontend.expression import (
    Assign,
    Binary,
    Branch,
    Call,
    Compare,
    Constant,
    Element,
    Expression,
    Logical,
    Operation,
    Power,
    Select,
    Unary,
    arrays_written,
    children,
    walk,
)
from polytune.frontend.program import Guard, Node, Perform, RangeLoop


def operations_of(nodes: Iterable[Node]) -> tuple[Operation, ...]:
    """Nodes without loops as operations of one statement."""
    operations: list[Operation] = []
    for node in nodes:
        if isinstance(node, Perform):
            operations.extend(node.operations)
        elif isinstance(node, Guard):
            operations.append(Branch(node.condition, operations_of(node.then), operations_of(node.otherwise)))
    return tuple(operations)


def branch_on_data(
    condition: Expression,
    then: Sequence[Node],
    otherwise: Sequence[Node],
    location: SourceLocation,
    text: str,
) -> list[Node]:
    """``if condition: then else: otherwise`` for a condition that is not affine, and that loops in the branches do not
    change.

    Args:
        condition: not affine.
        then, otherwise: the branches, whose loops do not change the outcome of the condition.
        location: where it stands.
        text: as it is written.
    """
    if _contains_loop((*then, *otherwise)):
        negated = Unary("not", condition, "bool")
        return [*(_under(condition, node) for node in then), *(_under(negated, node) for node in otherwise)]
    operation = _branch(condition, operations_of(then), operations_of(otherwise))
    return [] if operation is None else [Perform((operation,), location, text)]


def _branch(condition: Expression, then: tuple[Operation, ...], otherwise: tuple[Operation, ...]) -> Operation | None:
    """A branch; where both sides assign one and the same element, a single assignment of a choice, where it keeps
    the lesser or the greater of two numbers, an assignment of ``min`` or ``max``, and where it adds to a scalar, an
    assignment that adds nothing where the condition does not hold."""
    match then, otherwise:
        case (Assign(target, left),), (Assign(other, right),) if target == other:
            return Assign(target, Select(condition, left, right, target.dtype))
        case (Assign(target, value),), ():
            extremum = _extremum(condition, target, value)
            if extremum is not None:
                return Assign(target, extremum)
            update = _update(condition, target, value)
            if update is not None:
                return Assign(target, update)
        case (), ():
            return None
        case (), _:
            return Branch(Unary("not", condition, "bool"), otherwise)
    return Branch(condition, then, otherwise)


def _extremum(condition: Expression, target: Element, value: Expression) -> Binary | None:
    """``if value < target: target = value`` as ``min(target, value)``, and its like; None for any other branch.

    They agree for NaN too: Python's ``min(x, y)`` is ``y if y < x else x``.
    """
    if not isinstance(condition, Compare) or condition.operator not in ("<", ">"):
        return None
    less, more = condition.left, condition.right
    if condition.operator == ">":
        less, more = more, less
    if (less, more) == (value, target):
        return Binary("min", more, value, target.dtype)
    if (less, more) == (target, value):
        return Binary("max", less, value, target.dtype)
    return None


_NEUTRAL = {"+": -0.0, "-": 0.0, "*": 1.0}
"""The number by operator that leaves every other one as it is as the right operand; ``-0.0 + 0.0`` would be ``0.0``."""


def _update(condition: Expression, target: Element, value: Expression) -> Binary | None:
    """``if condition: target += amount`` as ``target += amount if condition else 0``, and its like for ``-`` and ``*``;
    None for any other branch, and where the amount cannot be computed whatever the condition says.

    Bit for bit it is the same number.  The statement then is an accumulation, in an order that may be chosen, and
    needs no jump.
    """
    if target.subscripts or not isinstance(value, Binary) or value.operator not in _NEUTRAL:
        return None
    amount = value.right
    if value.left != target:
        if value.right != target or value.operator == "-":
            return None
        amount = value.left
    if not target.dtype.startswith(("float", "int")) or not _is_harmless(amount, condition) or target in walk(amount):
        return None
    neutral = _NEUTRAL[value.operator]
    nothing = Constant(neutral if target.dtype.startswith("float") else int(neutral), target.dtype)
    return Binary(value.operator, target, Select(condition, amount, nothing, target.dtype), target.dtype)


def _is_harmless(amount: Expression, condition: Expression) -> bool:
    """Return whether a value can be computed whether a condition holds or not: it takes no long time, raises nothing,
    and accesses no element that the condition does not."""
    accessed = _always_accessed(condition)
    for part in walk(amount):
        match part:
            case Element(subscripts=subscripts) if subscripts and part not in accessed:
                return False
            case Binary(operator, dtype=dtype) if operator in ("**", "//", "%") or (
                operator == "/" and not dtype.startswith("float")
            ):
                return False
            case Call() | Power() | Select():
                return False
    return True


def _always_accessed(condition: Expression) -> list[Element]:
    """The elements that a condition accesses however it comes out."""
    match condition:
        case Element(subscripts=subscripts):
            return [condition, *(found for each in subscripts for found in _always_accessed(each))]
        case Logical(operands=(first, *_)):
            return _always_accessed(first)
        case Select(test):
            return _always_accessed(test)
    return [found for each in children(condition) for found in _always_accessed(each)]


def _contains_loop(nodes: Iterable[Node]) -> bool:
    return any(
        isinstance(node, RangeLoop) or (isinstance(node, Guard) and _contains_loop((*node.then, *node.otherwise)))
        for node in nodes
    )


def performed(nodes: Iterable[Node]) -> Iterable[Perform]:
    """All statements in the nodes."""
    for node in nodes:
        match node:
            case Perform():
                yield node
            case Guard(_, then, otherwise):
                yield from performed((*then, *otherwise))
            case RangeLoop():
                yield from performed(node.body)


def may_change_outcome(condition: Expression, nodes: Sequence[Node]) -> bool:
    """Return whether there are loops in the nodes, and what they write may change the outcome of a condition."""
    if not _contains_loop(nodes):
        return False
    read = {node.array for node in walk(condition) if isinstance(node, Element)}
    return any(
        array in read
        for perform in performed(nodes)
        for operation in perform.operations
        for array in arrays_written(operation)
    )


def _under(condition: Expression, node: Node) -> Node:
    """The node with every statement in it under a condition."""
    match node:
        case Perform(operations, location, text):
            return Perform((Branch(condition, operations),), location, text)
        case Guard(test, then, otherwise, location):
            return Guard(
                test,
                tuple(_under(condition, child) for child in then),
                tuple(_under(condition, child) for child in otherwise),
                location,
            )
        case RangeLoop(variable, iterator, start, stop, step, body, location):
            inner = tuple(_under(condition, child) for child in body)
            return RangeLoop(variable, iterator, start, stop, step, inner, location)
