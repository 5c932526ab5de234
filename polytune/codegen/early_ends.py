"""Loops in which nothing happens any more after some iteration: those that their source leaves by ``break``.

Such a loop is modelled with all of its iterations, each of which first computes whether it still runs, as in

    runs = 1 if ended == 0 else 0
    if runs != 0: ...

An iteration that does not run changes nothing but ``runs``.  As the value of that is computed of scalars alone, which
are what they were, the next iteration does not run either, nor does any later one: the loop may end there.  What comes
after the end needs no test any more, which would keep compilers from making vectors of the loops in it.
"""

from __future__ import annotations

from dataclasses import replace

from polytune.codegen.loops import Block, Compute, For, If, Node, map_nodes, walk_nodes
from polytune.frontend.expression import (
    Assign,
    Branch,
    Compare,
    Constant,
    Element,
    Expression,
    Logical,
    Operation,
    Select,
    arrays_written,
    walk,
)
from polytune.records import dataclass

__all__ = ["EarlyEnd", "early_end"]


@dataclass(frozen=True)
class EarlyEnd:
    """The body of a loop that ends with the first iteration that does not run.

    Attributes:
        test: what computes whether an iteration runs.
        condition: is true where it does.
        rest: what it does then, without tests of the condition.
    """

    test: Node
    condition: Expression
    rest: Node


def early_end(body: Node) -> EarlyEnd | None:
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
    return EarlyEnd(test, condition, Block(tuple(map(_untested, rest))))


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
