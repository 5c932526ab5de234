"""Unroll-and-jam: several iterations of an outer loop in one iteration of the loops inside it.

What the iterations have in common is then loaded once, and what they all update stays in a register: in
``C[i, j] += A[i, k] * B[k, j]`` with j innermost, four iterations of k load and store C once, and two of i load B once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

from polytune.codegen.affine_range import terms_of
from polytune.codegen.ast_conversion import add_constant, integer, substitute
from polytune.codegen.loops import (
    Block,
    Compute,
    For,
    Node,
    Program,
    RegionCode,
    block,
    map_nodes,
    perfect_nest,
    walk_nodes,
)
from polytune.codegen.short_loops import with_short_loops_written_out
from polytune.codegen.tiles.windows import WindowNames
from polytune.codegen.transform import LoopTransform, Target
from polytune.frontend.expression import Binary, Element, Expression, Iterator, map_children, walk
from polytune.frontend.scop import Scop
from polytune.schedule.orders.summed import SUMMED
from polytune.schedule.plan_transform import ACCUMULATED, EARLY, EXPANDED

FACTORS = (4, 4)
"""The most iterations of the last loops but one, and but two, that are jammed: the latter first."""

MOST_STREAMS = 16
"""The most rows of arrays that an innermost loop may run along when it is jammed.  With more, their addresses take all
general registers, and a compiler takes seconds."""


def jam_program(program: Program, scop: Scop, target: Target) -> Program:
    """The program with the loops of its tiled bands jammed.

    Only loops over members of one tiled band are jammed with one another: the band is permutable, so that the points of
    a tile may run in any order in which no member goes backwards.  Here the points of some iterations of one loop move
    inside the loops in it, each statement after the same statement of an earlier iteration.

    Args:
        program: a version.
        scop: its kernel.
        target: the processor; the same loops are jammed on all.
    """
    names = WindowNames()
    return replace(program, regions=tuple(_jam_region(region, names) for region in program.regions))


JAMMED = LoopTransform(
    name="jammed",
    meaning="several iterations of the loops around innermost ones at a time",
    rewrite=jam_program,
    never_after=(ACCUMULATED, SUMMED, EXPANDED, EARLY),
)


def _jam_region(region: RegionCode, names: WindowNames) -> RegionCode:
    first = len(region.outer)
    band = frozenset(names.loop(first + member) for member in range(len(region.members)))
    return replace(region, body=_jam_nests(region.body, band))


def _jam_nests(node: Node, band: frozenset[str]) -> Node:
    """The node with every perfect nest of loops of the band, down to innermost loops, jammed; short loops in these are
    written out."""
    nest = perfect_nest(node, band) or perfect_nest(with_short_loops_written_out(node, band), band)
    if len(nest) >= 2:
        return _jam_nest(nest[-3:], nest[0])
    return map_nodes(node, lambda part: _jam_nests(part, band))


def _jam_nest(nest: list[For], outermost: For) -> Node:
    """The nest with its last loops jammed, the loops around them as they are."""
    if outermost is not nest[0]:
        return replace(outermost, body=_jam_nest(nest, outermost.body))  # type: ignore[arg-type]
    jammed: Node = outermost
    factors = _factors(nest)
    # The inner loop first: then all updates of one element stand together, and a compiler need not ask whether what
    # lies between them is the same element.
    for loop, factor in zip(reversed(nest[:-1]), reversed(factors), strict=True):
        jammed = _at_loop(jammed, loop.variable, partial(_jam, factor))
    return jammed


def _factors(nest: list[For]) -> tuple[int, ...]:
    """Return how many iterations of each loop but the innermost are jammed: what FACTORS says, halved from the
    outermost loop on as long as there are too many streams."""
    factors = list(FACTORS[len(FACTORS) + 1 - len(nest) :])
    while _streams(nest, factors) > MOST_STREAMS and max(factors) > 1:
        factors[factors.index(max(factors))] //= 2
    return tuple(factors)


def _streams(nest: list[For], factors: Sequence[int]) -> int:
    """Return how many rows of arrays the innermost loop runs along when so many iterations of each other one are
    jammed."""
    *outer, inner = nest
    operations = [part for part in walk_nodes(inner.body) if isinstance(part, Compute)]
    elements = {part for operation in operations for part in walk(operation) if isinstance(part, Element)}
    rows: set[tuple[Any, ...]] = set()
    for offsets in product(*map(range, factors)):
        moved = {
            loop.variable: add_constant(Iterator(loop.variable), offset)
            for loop, offset in zip(outer, offsets, strict=True)
        }
        for element in elements:
            if _mentions(element, inner.variable):
                fixed = [part for part in element.subscripts if not _mentions(part, inner.variable)]
                places = [frozenset(terms_of(substitute(part, moved)).items()) for part in fixed]
                rows.add((element.array, *places))
    return len(rows)


def _at_loop(node: Node, variable: str, change: Callable[[For], Node]) -> Node:
    """The node with its loops over a variable changed."""
    if isinstance(node, For) and node.variable == variable:
        return change(node)
    return map_nodes(node, lambda part: _at_loop(part, variable, change))


def _jam(factor: int, loop: For) -> Node:
    """A loop by ``factor`` iterations at a time, and then the rest; as it is where the loops inside depend on it."""
    inner = [part for part in walk_nodes(loop.body) if isinstance(part, For)]
    if (
        factor == 1
        or loop.step != 1
        or any(_mentions(bound, loop.variable) for part in inner for bound in (part.start, part.stop))
    ):
        return loop
    whole = For(
        loop.variable,
        loop.start,
        add_constant(loop.stop, 1 - factor),
        factor,
        _repeat_innermost(loop.body, loop.variable, factor),
    )
    extent = Binary("max", integer(0), Binary("-", loop.stop, loop.start, "int64"), "int64")
    done = Binary("*", Binary("//", extent, integer(factor), "int64"), integer(factor), "int64")
    return Block((whole, replace(loop, start=Binary("+", loop.start, done, "int64"))))


def _repeat_innermost(node: Node, variable: str, factor: int) -> Node:
    """The loops of a nest with the work inside for several values of a variable, one after another."""
    if any(isinstance(part, For) for part in walk_nodes(node)):
        return map_nodes(node, lambda part: _repeat_innermost(part, variable, factor))
    return block(*(_shift(node, variable, offset) for offset in range(factor)))


def _shift(node: Node, variable: str, offset: int) -> Node:
    """The node with ``variable + offset`` for a variable."""

    def change(part: Any) -> Any:
        if isinstance(part, Iterator) and part.name == variable:
            return add_constant(part, offset)
        return map_children(part, change)

    shifted: Node = node if offset == 0 else change(node)
    return shifted


def _mentions(expression: Expression, variable: str) -> bool:
    return any(isinstance(part, Iterator) and part.name == variable for part in walk(expression))
