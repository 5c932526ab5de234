"""Updates of variables in the midst of control that depends on data, as reductions of what single iterations add.

``for u in prange(n): while b < e: ...; total += 1`` has one opaque statement, which reads and writes ``total``, and
whose instances therefore wait for one another.  It becomes ``part = 0; while b < e: ...; part += 1`` and
``total += part``: the second statement is a reduction, the first one has a variable of its own iteration.

The order of a sum is another one then, so that strict kernels keep theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from polytune.frontend.expression import Assign, Binary, Constant, Element, Operation, map_children, walk
from polytune.frontend.lowering.frame import KernelWalk
from polytune.frontend.polyhedral.reductions import neutral_element
from polytune.frontend.program import Guard, Node, Perform, RangeLoop
from polytune.frontend.rewrites.forwarding import mentioned
from polytune.frontend.rewrites.guarded_updates import assigned_under_conditions, update_operator
from polytune.frontend.scop import Array, ArrayRole

__all__ = ["with_partial_reductions"]


def with_partial_reductions(nodes: Sequence[Node], kernel: KernelWalk) -> tuple[Node, ...]:
    """Return the program with opaque statements that update variables of their own, and statements that add these up.

    Args:
        nodes: the program.
        kernel: what the walk over the source has found; it gets the new variables.
    """
    unsure = frozenset(assigned_under_conditions(nodes))
    return tuple(_rewritten(node, None, kernel, unsure) for node in nodes)


def _rewritten(node: Node, loop: RangeLoop | None, kernel: KernelWalk, unsure: frozenset[str]) -> Node:
    """Rewrite what a node contains.

    Args:
        node: any node.
        loop: the innermost loop around it.
        kernel: as for `with_partial_reductions`.
        unsure: the variables that are assigned under conditions: that what is under the same one alone reads them is
            seen of branches, not of the statements that are made here.
    """
    match node:
        case RangeLoop(iterator=iterator, body=body):
            if iterator in kernel.endings:
                return node  # what stands outside of its test would run after its end
            return replace(node, body=_block(body, node, kernel, unsure))
        case Guard(then=then, otherwise=otherwise):
            then, otherwise = (_block(side, loop, kernel, unsure) for side in (then, otherwise))
            return replace(node, then=then, otherwise=otherwise)
    return node


def _block(
    nodes: Sequence[Node], loop: RangeLoop | None, kernel: KernelWalk, unsure: frozenset[str]
) -> tuple[Node, ...]:
    inside = (_rewritten(node, loop, kernel, unsure) for node in nodes)
    return tuple(made for node in inside for made in _statements(node, loop, kernel, unsure))


def _statements(node: Node, loop: RangeLoop | None, kernel: KernelWalk, unsure: frozenset[str]) -> Iterator[Node]:
    """Give a node, and in place of an opaque statement in a loop itself and the reductions of what it adds."""
    if not isinstance(node, Perform) or loop is None or _is_assignment(node):
        yield node
        return
    groups = {} if _reads(node) & unsure else _reductions(node, loop, kernel)
    groups = {target: operator for target, operator in groups.items() if target.array not in unsure}
    parts = {}
    for target in groups:
        name = kernel.fresh(target.array)
        kernel.arrays[name] = Array(name, target.dtype, ArrayRole.SCALAR)
        parts[target] = Element(name, (), target.dtype)
    begun = tuple(
        Assign(part, Constant(neutral_element(groups[target], target.dtype), target.dtype))
        for target, part in parts.items()
    )
    changed: tuple[Operation, ...] = tuple(_with_parts(operation, parts) for operation in node.operations)
    yield replace(node, operations=(*begun, *changed))
    for target, part in parts.items():
        update = Assign(target, Binary(groups[target], target, part, target.dtype))
        yield Perform((update,), node.location, node.text)


def _reads(node: Perform) -> frozenset[str]:
    """The names of what a statement reads and does not assign."""
    assigned = {part.target.array for part in _assignments(node.operations)}
    return frozenset(mentioned(node.operations).keys() - assigned)


def _is_assignment(node: Perform) -> bool:
    return len(node.operations) == 1 and isinstance(node.operations[0], Assign)


def _reductions(node: Perform, loop: RangeLoop, kernel: KernelWalk) -> dict[Element, str]:
    """Return the variables that an opaque statement only updates, as does all else in the loop around it, and by which
    operator."""
    assigned = [part for part in _assignments(node.operations) if not part.target.subscripts]
    everywhere = list(_assignments(loop.body))
    mentions = mentioned(loop.body)
    found = {}
    for target in dict.fromkeys(each.target for each in assigned):
        array = kernel.arrays[target.array]
        own = [each for each in everywhere if each.target == target]
        operators = {update_operator(each) for each in own}
        # Each update mentions its target twice, and nothing else does.
        if array.role is ArrayRole.SCALAR and len(operators) == 1 and mentions[target.array] == 2 * len(own):
            operator = operators.pop()
            if operator is not None:
                found[target] = operator
    return found


def _assignments(nodes: Sequence[Any]) -> Iterator[Assign]:
    return (part for node in nodes for part in walk(node) if isinstance(part, Assign))


def _with_parts(node: Any, parts: dict[Element, Element]) -> Any:
    """An operation with the variables of its own iteration in place of those that it updates."""
    if isinstance(node, Element) and node in parts:
        return parts[node]
    return map_children(node, lambda child: _with_parts(child, parts))
