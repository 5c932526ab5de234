"""Copies of what index arrays hold, ``u = users[k]`` and then ``p[u, j]``, are read where they are, ``p[users[k], j]``.

In this form it is known where a subscript comes from.  It may be tested before the kernel runs (`prechecked.py`), so
that loops over ``j`` have no test in them, and sums of what indices select, ``counts[u] += 1.0``, are sums.

A variable stands for an element of an argument that nothing writes, from its assignment on to the end of the block that
this is in, or to where it is assigned again: the element has one value all along, so both are the same number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from polytune.frontend.expression import (
    Assign,
    Cast,
    Element,
    Expression,
    arrays_written,
    map_children,
    walk,
)
from polytune.frontend.lowering.frame import KernelWalk
from polytune.frontend.program import ElementLocations, Guard, Node, Perform, RangeLoop
from polytune.frontend.scop import ArrayRole
from polytune.records import dataclass


def with_indices_read_in_place(nodes: Sequence[Node], kernel: KernelWalk) -> tuple[Node, ...]:
    """The program with elements of index arrays in subscripts, in place of variables that they were copied to.

    Args:
        nodes: the program.
        kernel: what has been found of it, its arrays above all.
    """
    written = set(_written(nodes))
    fixed = {
        name
        for name, array in kernel.arrays.items()
        if name not in written and array.role in (ArrayRole.ARGUMENT, ArrayRole.CONSTANT)
    }
    return _in_block(nodes, fixed, kernel.locations)


def _written(nodes: Iterable[Node]) -> Iterable[str]:
    for node in nodes:
        match node:
            case Perform(operations):
                for operation in operations:
                    yield from arrays_written(operation)
            case Guard(_, then, otherwise):
                yield from _written((*then, *otherwise))
            case RangeLoop(body=body):
                yield from _written(body)


def _in_block(nodes: Sequence[Node], fixed: set[str], locations: ElementLocations) -> tuple[Node, ...]:
    known: dict[str, Expression] = {}
    made: list[Node] = []
    for node in nodes:
        assigned = set(_written((node,)))
        # A node that assigns a variable again may do so before it reads it.
        kept = {name: value for name, value in known.items() if name not in assigned}
        known = kept
        made.append(_in_node(node, kept, fixed, locations))
        match node:
            case Perform((Assign(Element(name, ()), value),)) if _is_index(value, fixed):
                known = {**kept, name: value}
    return tuple(made)


def _in_node(node: Node, known: Mapping[str, Expression], fixed: set[str], locations: ElementLocations) -> Node:
    match node:
        case Perform(operations):
            if not known:
                return node
            return replace(node, operations=tuple(map(_Reader(known, locations).operation, operations)))
        case Guard(_, then, otherwise):
            then, otherwise = (
                _in_block(tuple(_in_node(each, known, set(), locations) for each in side), fixed, locations)
                for side in (then, otherwise)
            )
            return replace(node, then=then, otherwise=otherwise)
        case RangeLoop(body=body):
            inside = tuple(_in_node(each, known, set(), locations) for each in body)
            return replace(node, body=_in_block(inside, fixed, locations))


def _is_index(value: Expression, fixed: set[str]) -> bool:
    """Return whether a value is an element of an index array that nothing writes, at a place that no data decide."""
    element = value.operand if isinstance(value, Cast) and value.dtype == "int64" else value
    return (
        isinstance(element, Element)
        and bool(element.subscripts)
        and element.array in fixed
        and element.dtype.startswith(("int", "uint"))
        and not any(isinstance(part, Element) for subscript in element.subscripts for part in walk(subscript))
    )


@dataclass
class _Reader:
    """Puts elements in the place of variables in subscripts.

    References are told apart by which object they are: each of a variable becomes one of an element, which stands
    wherever the former does, as in ``p[u + n if u < 0 else u]``.

    Attributes:
        known: the elements by the names of the variables.
        locations: where references stand in the source.
        made: the references that were made, by the objects that they are in the place of, which are kept beside them.
    """

    known: Mapping[str, Expression]
    locations: ElementLocations
    made: dict[int, tuple[Element, Expression]] = field(default_factory=dict)

    def operation(self, part: Any) -> Any:
        """An operation, or an expression in it."""
        changed = map_children(part, self.operation)
        if not isinstance(changed, Element) or not changed.subscripts:
            return changed
        subscripts = tuple(map(self.subscript, changed.subscripts))
        return (
            changed
            if subscripts == changed.subscripts
            else self.at_place_of(part, replace(changed, subscripts=subscripts))
        )

    def subscript(self, part: Any) -> Any:
        """A subscript, or a part of one."""
        if not isinstance(part, Element) or part.subscripts or part.array not in self.known:
            return map_children(part, self.subscript)
        if id(part) not in self.made:
            value = self.known[part.array]
            element = value.operand if isinstance(value, Cast) else value
            assert isinstance(element, Element)
            own = self.at_place_of(part, replace(element))
            self.made[id(part)] = part, replace(value, operand=own) if isinstance(value, Cast) else own
        return self.made[id(part)][1]

    def at_place_of(self, old: Element, new: Element) -> Element:
        """The new reference, which stands where the old one did."""
        place = self.locations.find(old)
        return new if place is None else self.locations.record(new, place)
