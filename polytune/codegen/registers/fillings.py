"""Rows of arrays that points read again and again, in strips that are filled at the beginning of each block of points.

In ``for v: for j: for k: t += x[v, j] * a[j, k] * x[v, k]`` points lie across the rows of x: a vector of x[v, k] takes
a load for each lane, and that for all j.  A strip has them next to one another: for each k, the lanes of a block.

Why that is right: nothing in the region writes the array, so that what a strip holds is what the array holds.  It is
filled where the loops around all reads have iterations, with subscripts from 0 up to those that these loops come to:
the calls of the kernel have been checked for all of them.  Rows that are too long for the caches stay where they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from polytune.codegen.affine_range import mentions
from polytune.codegen.ast_conversion import integer
from polytune.codegen.loops import Compute, For, Node, children_of
from polytune.codegen.registers.blocks import all_of, maximum, minimum
from polytune.codegen.vectors.expressions import Apart
from polytune.codegen.vectors.lane_access import ContiguousAxis, is_near, moves
from polytune.frontend.expression import Compare, Constant, Element, Expression, walk
from polytune.frontend.expression import Iterator as Index
from polytune.records import dataclass

__all__ = ["Filling", "fillings_of"]


MOST_ELEMENTS = 4096
"""The most elements of a row that a strip holds, a megabyte for 32 points: what longer rows hold would come from
farther away than the rows themselves, and take memory of any size."""


@dataclass(frozen=True)
class Filling:
    """The part of an array's rows that a strip holds.

    Attributes:
        element: an element of the array, with the subscript of a point along the axis that goes from point to point.
        apart: that axis, and by how much its subscript grows from one point to the next.
        extents: for each other axis, up to which subscript the rows are read.
        condition: under which they are read at all.
    """

    element: Element
    apart: Apart
    extents: tuple[Expression, ...]
    condition: Expression

    @property
    def _most(self) -> Expression:
        return integer(int(MOST_ELEMENTS ** (1 / max(1, len(self.extents)))))

    @property
    def fits(self) -> tuple[Expression, ...]:
        """Return the conditions under which a strip holds all that is read."""
        return tuple(Compare("<=", extent, self._most) for extent in self.extents)

    @property
    def room(self) -> tuple[Expression, ...]:
        """Return the extents of a strip but for that of its points."""
        return tuple(minimum(extent, self._most) for extent in self.extents)


def fillings_of(
    parts: Sequence[Compute | For],
    column: str,
    constant: Collection[str],
    sizes: Collection[str],
    contiguous: ContiguousAxis,
) -> dict[str, Filling]:
    """Return what is worth to be in strips, by array: rows that loops read several times for each point.

    Args:
        parts: the statements and loops of a point.
        column: the variable of the loop over points.
        constant: arrays that nothing in the region writes.
        sizes: the parameters of the kernel, which are known when the memory of strips is made.
        contiguous: tells how arrays lie in memory.
    """
    reads: dict[str, dict[tuple[Element, tuple[For, ...]], None]] = {}
    for element, loops in _reads(parts, ()):
        if element.array in constant and mentions(element, column):
            reads.setdefault(element.array, {})[element, loops] = None
    found = {}
    for array, places in reads.items():
        if not any(is_near(element, column, contiguous) for element, _ in places):
            filling = _filling(list(places), column, sizes)
            if filling is not None:
                found[array] = filling
    return found


def _reads(nodes: Sequence[Node], around: tuple[For, ...]) -> Iterator[tuple[Element, tuple[For, ...]]]:
    """The elements that statements mention, each with the loops around it."""
    for node in nodes:
        if isinstance(node, For):
            yield from _reads(children_of(node.body), (*around, node))
        elif isinstance(node, Compute):
            yield from ((part, around) for part in walk(node) if isinstance(part, Element))


def _filling(places: Sequence[tuple[Element, tuple[For, ...]]], column: str, sizes: Collection[str]) -> Filling | None:
    first, loops = places[0]
    moving = moves(first, column)
    if moving is None or moving[1] != 1:
        return None
    axis = moving[0]
    if any(element.subscripts[axis] != first.subscripts[axis] for element, _ in places):
        return None
    if any(moves(element, column) != moving for element, _ in places):
        return None
    bounds = {frozenset((loop.start, loop.stop) for loop in around) for _, around in places}
    if len(bounds) > 1 or not all(_is_of_sizes(end, sizes) for loop in loops for end in (loop.start, loop.stop)):
        return None
    if not any(_is_read_again(element, around) for element, around in places):
        return None
    extents = []
    for other in range(len(first.subscripts)):
        if other != axis:
            ends = dict.fromkeys(_end(element.subscripts[other], around) for element, around in places)
            if None in ends:
                return None
            extents.append(maximum(*(end for end in ends if end is not None)))
    condition = all_of([Compare("<", loop.start, loop.stop) for loop in loops])
    return Filling(first, Apart(*moving), tuple(extents), condition)


def _is_read_again(element: Element, around: Sequence[For]) -> bool:
    """Return whether a loop around a read does not change which element it is of a point's row."""
    return any(not mentions(element, loop.variable) for loop in around)


def _is_of_sizes(end: Expression, sizes: Collection[str]) -> bool:
    """Return whether a bound is known before a region begins."""
    return all(part.name in sizes for part in walk(end) if isinstance(part, Index))


def _end(subscript: Expression, around: Sequence[For]) -> Expression | None:
    """Return the end of the loop from 0 on whose variable a subscript is."""
    for loop in around:
        if subscript == Index(loop.variable) and loop.start == Constant(0, "int64") and loop.step == 1:
            return loop.stop
    return None
