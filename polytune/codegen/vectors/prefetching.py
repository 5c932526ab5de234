"""Prefetching: rows of arrays that vectors walk down are brought into the first cache some iterations early.

In an innermost loop such as that of a register tile of a product,

    for k: s += splat(A[i, k]) * load(B, (k, j))

each iteration loads from another row of B, often from another page of memory: processors foresee which lines follow one
another, but not across pages.  The code asks for the lines that iterations some way ahead will load.

Why that is right: a prefetch is a hint, which reads nothing and fails nowhere, whatever the address.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from polytune.codegen.affine_range import mentions
from polytune.codegen.ast_conversion import add_constant, substitute
from polytune.codegen.loops import (
    For,
    Let,
    Node,
    Prefetch,
    Program,
    RegionCode,
    block,
    is_innermost,
    map_nodes,
    walk_nodes,
)
from polytune.codegen.registers.tiles import POINTS, REGISTERS
from polytune.codegen.storage import contiguous_axis
from polytune.codegen.transform import VECTOR_TYPES, LoopTransform, Target
from polytune.codegen.vectors.expressions import Lanes
from polytune.codegen.vectors.lane_access import ContiguousAxis
from polytune.frontend.expression import Element, Iterator, walk
from polytune.frontend.scop import Scop

AHEAD = 8
"""The distance in iterations.  An iteration of a register tile has some 20 vectors to work on, 10 cycles or more; a
line from the second cache takes some 15, one from the last cache some 70 to 100."""


def prefetch_rows(program: Program, scop: Scop, target: Target) -> Program:
    """The program with prefetches in innermost loops that walk down rows of arrays, a vector of each at a time.

    Args:
        program: a version with vectors.
        scop: its kernel.
        target: the processor; the same on all.
    """
    return replace(program, regions=tuple(_in_region(region, scop) for region in program.regions))


PREFETCHED = LoopTransform(
    name="prefetched",
    meaning="rows of arrays brought into the first cache some iterations early",
    rewrite=prefetch_rows,
    needs=(VECTOR_TYPES,),
    after=(REGISTERS, POINTS),
    is_for_first=True,
)


def _in_region(region: RegionCode, scop: Scop) -> RegionCode:
    contiguous = contiguous_axis(scop, region.copies)
    # A worker's own memory is small, and in a cache already.
    shared = frozenset(array.name for array in scop.arrays) - region.copies

    def visit(node: Node) -> Node:
        if isinstance(node, For) and is_innermost(node):
            return _with_prefetches(node, shared, contiguous)
        return map_nodes(node, visit)

    return replace(region, body=visit(region.body))


def _with_prefetches(loop: For, arrays: Set[str], contiguous: ContiguousAxis) -> For:
    """An innermost loop that begins each iteration with prefetches of the rows of some arrays that a later one loads
    from."""
    loads = [
        part.element
        for node in walk_nodes(loop.body)
        if isinstance(node, Let)
        for part in walk(node.value)
        if isinstance(part, Lanes) and part.mask is None and part.apart is None
    ]
    ahead = {loop.variable: add_constant(Iterator(loop.variable), AHEAD * loop.step)}
    rows = [
        element
        for element in dict.fromkeys(loads)
        if element.array in arrays and _walks_down(element, loop.variable, contiguous)
    ]
    return replace(loop, body=block(*(Prefetch(substitute(element, ahead)) for element in rows), loop.body))


def _walks_down(element: Element, variable: str, contiguous: ContiguousAxis) -> bool:
    """Return whether the variable chooses the row of an element, and not its place in there."""
    axis = contiguous(element)
    moving = [place for place, subscript in enumerate(element.subscripts) if mentions(subscript, variable)]
    return axis is not None and bool(moving) and axis not in moving
