"""Innermost loops of a few iterations, whose number is known, written out in the loops around them.

``for a in range(-1, 2): most = max(most, A[i + a, j])`` then is three statements of one iteration of j, which makes j
the innermost loop: what transforms that need one do for a point's own statements, they do for these, too.
"""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import replace
from typing import Any

from polytune.codegen.ast_conversion import integer, substitute
from polytune.codegen.loops import Block, Compute, For, Node, block, map_nodes, walk_nodes
from polytune.frontend.expression import Constant

__all__ = ["with_short_loops_written_out"]

MOST_STATEMENTS = 16
"""The most statements that an iteration has once its loops are written out: with more, four iterations at a time have
more values than there are registers."""


def with_short_loops_written_out(node: Node, band: Set[str]) -> Node:
    """The node, with the loops written out that stand in the last one of a perfect nest, in the same order, where they
    are few iterations of statements; else as it is.

    Args:
        node: where the nest begins.
        band: the variables of the nest's loops.
    """
    if isinstance(node, For) and node.variable in band:
        return replace(node, body=with_short_loops_written_out(node.body, band))
    is_plain = all(isinstance(part, For | Block | Compute) for part in walk_nodes(node))
    return _written_out(node) if is_plain and _statements(node) <= MOST_STATEMENTS else node


def _values(loop: For) -> range | None:
    """Return the values of a loop's variable; None where they are not known, or the loop may end early."""
    start, stop = loop.start, loop.stop
    if loop.ending is not None or not isinstance(start, Constant) or not isinstance(stop, Constant):
        return None
    return range(int(start.value), int(stop.value), loop.step)


def _statements(node: Node) -> float:
    """Return how many statements a node executes; infinity where that is not known."""
    match node:
        case Block(children):
            return sum(map(_statements, children))
        case For(body=body):
            values = _values(node)
            return math.inf if values is None else len(values) * _statements(body)
        case _:
            return 1


def _written_out(node: Node) -> Node:
    """The node with the iterations of its loops one after the other."""
    if not isinstance(node, For):
        return map_nodes(node, _written_out)
    body = _written_out(node.body)
    copies: list[Any] = [substitute(body, {node.variable: integer(value)}) for value in _values(node) or ()]
    return block(*copies)
