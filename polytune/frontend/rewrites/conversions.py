"""Conversions of floats to integers, in kernels with ``fastmath``.

Such integers become subscripts and sizes, and tests of them keep a kernel within its arrays.  A test and the use behind
it may each have a conversion of their own, so both have to see one number; and under ``nnan`` or ``ninf`` LLVM may take
the result of an operation that is NaN or infinite for any number, for another one in each place.  So what is converted
is computed as without ``fastmath``, and frozen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from polytune.frontend.expression import Cast, Element, map_children
from polytune.frontend.program import ElementLocations, Guard, Node, Perform, RangeLoop
from polytune.signature import FLOAT_TYPES, SIGNED_TYPES, UNSIGNED_TYPES

__all__ = ["with_frozen_conversions"]


def with_frozen_conversions(nodes: Sequence[Node], locations: ElementLocations) -> tuple[Node, ...]:
    """The nodes with the operands of all conversions of floats to integers frozen.

    Args:
        nodes: neighbours in a block.
        locations: the places of references in the source, to which those are added that are changed.
    """

    def frozen(node: Any) -> Any:
        changed = map_children(node, frozen)
        if isinstance(changed, Cast) and changed.dtype in _INTEGERS and changed.operand.dtype in FLOAT_TYPES:
            return replace(changed, is_frozen=True)
        if isinstance(changed, Element) and changed is not node and (location := locations.find(node)) is not None:
            return locations.record(changed, location)
        return changed

    def in_node(node: Node) -> Node:
        match node:
            case Perform(operations):
                return replace(node, operations=tuple(map(frozen, operations)))
            case Guard(_, then, otherwise):
                return replace(node, then=tuple(map(in_node, then)), otherwise=tuple(map(in_node, otherwise)))
            case RangeLoop(body=body):
                return replace(node, body=tuple(map(in_node, body)))

    return tuple(map(in_node, nodes))


_INTEGERS = frozenset((*SIGNED_TYPES, *UNSIGNED_TYPES))
