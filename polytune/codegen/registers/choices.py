"""Branches on data that assign variables, as choices: what lanes of a vector compute side by side.

``if total < least: least = total; where = c`` becomes ``where = c if total < least else where`` and then ``least =
total if total < least else least``.

Why that is right: the condition is one comparison, and what it reads is assigned last; values read no other variable
that the branch assigns, and no element of an array, so that computing them where they are not needed changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TypeVar

from polytune.codegen.loops import Block, Compute, For, Node
from polytune.frontend.expression import Assign, Branch, Compare, Element, Expression, Operation, Select, walk

__all__ = ["in_choices"]


Part = TypeVar("Part", bound=Node)


def in_choices(node: Part, own: Collection[str]) -> Part:
    """Return statements, and loops over such, with choices in place of the branches that allow it.

    Args:
        node: a statement, a loop or several of them.
        own: the variables that each point has for itself.
    """
    if isinstance(node, Block):
        return replace(node, children=tuple(in_choices(child, own) for child in node.children))
    if isinstance(node, For):
        return replace(node, body=in_choices(node.body, own))
    if isinstance(node, Compute):
        made = tuple(each for operation in node.operations for each in _choices(operation, own) or (operation,))
        return replace(node, operations=made)
    return node


def _choices(operation: Operation, own: Collection[str]) -> list[Assign] | None:
    """The choices that a branch comes to; None where it is none that may become such."""
    if not isinstance(operation, Branch) or not isinstance(operation.condition, Compare):
        return None
    then, otherwise = _values(operation.then, own), _values(operation.otherwise, own)
    if then is None or otherwise is None:
        return None
    targets = list(dict.fromkeys((*then, *otherwise)))
    for target, value in (*then.items(), *otherwise.items()):
        read = {part for part in walk(value) if isinstance(part, Element)}
        if any(part.array not in own for part in read) or not read.isdisjoint({*targets} - {target}):
            return None
    tested = {part for part in walk(operation.condition) if isinstance(part, Element)}
    last = [target for target in targets if target in tested]
    if len(last) > 1:
        return None
    found = []
    for target in (*(each for each in targets if each not in tested), *last):
        one, other = then.get(target, target), otherwise.get(target, target)
        found.append(Assign(target, Select(operation.condition, one, other, target.dtype)))
    return found or None


def _values(operations: Sequence[Operation], own: Collection[str]) -> dict[Element, Expression] | None:
    """The values that a side of a branch assigns, by variable; None where it does anything else."""
    found: dict[Element, Expression] = {}
    for operation in operations:
        match operation:
            case Assign(Element(array, ()) as target, value) if array in own and target not in found:
                found[target] = value
            case _:
                return None
    return found
