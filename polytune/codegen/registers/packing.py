"""Packing: what all rows of a tile share is copied into a buffer first, in the order in which it is used.

In a tile of ``C[u, v] += A[u, k] * B[v, k]`` the elements of B are used again for every u.  Where they lie, rows of B
are far apart: they fall into few sets of the first cache and into many pages, and of consecutive v no two are
neighbours.  In a buffer ``P[k, v] = B[v, k]`` they are, so that vectors of columns need no sums over their lanes.

Why that is right: nothing in the region writes to what is copied, and what is copied is what some point of the tile
reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from polytune.codegen.affine_range import Range, coefficient, greatest, least, mentions
from polytune.codegen.ast_conversion import add_constant, substitute
from polytune.codegen.loops import Buffer, Compute, For, If, Node, Store, block, children_of
from polytune.codegen.registers.accumulation import assignments_of
from polytune.codegen.registers.blocks import after_whole
from polytune.codegen.vectors.lane_access import ContiguousAxis
from polytune.frontend.expression import Binary, Compare, Element, Expression, Iterator, map_children, walk
from polytune.frontend.generated_names import generated
from polytune.records import dataclass

TOGETHER = 8
"""The number of columns that are copied at once where neighbours in memory are not in one row of the buffer."""


@dataclass(frozen=True)
class Packed:
    """The copies into buffers that are made first, the nest that reads from them, and the buffers."""

    copies: Node
    nest: tuple[For, ...]
    buffers: tuple[Buffer, ...]


def pack(
    nest: Sequence[For],
    windows: Sequence[tuple[str, str]],
    written: frozenset[str],
    contiguous: ContiguousAxis,
    prefix: str,
    first: int,
) -> Packed | None:
    """The last three loops of a perfect nest with what the first one does not change read from buffers; None
    where there is no such thing, or it cannot be told what of it is read.

    Args:
        nest: loops of one permutable band, the innermost last.
        windows: names of the lower and upper bound of a tile along each member of the band.
        written: the arrays that are written anywhere in the region.
        contiguous: tells how arrays lie in memory.
        prefix: what the names of the buffers begin with.
        first: the number of the first buffer.
    """
    if len(nest) < 3 or assignments_of(nest[-1].body) is None:
        return None
    rows, columns, inner = nest[-3:]
    members = _member(inner, windows), _member(columns, windows)
    bounds = _shared_columns(rows, columns)
    fixed = not mentions(inner.start, rows.variable, columns.variable)
    fixed = fixed and not mentions(inner.stop, rows.variable, columns.variable)
    if members[0] is None or members[1] is None or bounds is None or not fixed:
        return None
    elements = [
        part
        for part in dict.fromkeys(walk_elements(inner.body))
        if mentions(part, inner.variable)
        and mentions(part, columns.variable)
        and not mentions(part, rows.variable)
        and part.array not in written
    ]
    if not elements:
        return None
    place = tuple(
        Binary("-", Iterator(loop.variable), Iterator(windows[member][0]), "int64")
        for loop, member in ((inner, members[0]), (columns, members[1]))
    )
    buffers: dict[Element, Buffer] = {}
    for element in elements:
        buffers[element] = Buffer(f"{prefix}{first + len(buffers)}", element.dtype, (members[0], members[1]))
    packed = {element: Element(buffer.name, place, element.dtype) for element, buffer in buffers.items()}

    def change(part: Any) -> Any:
        return packed[part] if part in packed else map_children(part, change)

    across, along = replace(columns, start=bounds[0], stop=bounds[1]), inner
    copies = [_copy(element, packed[element], across, along, contiguous) for element in elements]
    inner = replace(inner, body=_changed(inner.body, change))
    columns = replace(columns, body=inner)
    rows = replace(rows, body=columns)
    anything = If(Compare("<", rows.start, rows.stop), block(*copies))
    return Packed(anything, (*nest[:-3], rows, columns, inner), tuple(buffers.values()))


def walk_elements(body: Node) -> list[Element]:
    """Return what the statements of an innermost loop read from or write to."""
    assignments = assignments_of(body) or ()
    return [part for assignment in assignments for part in walk(assignment) if isinstance(part, Element)]


def _changed(body: Node, change: Callable[[Any], Any]) -> Node:
    children = children_of(body)
    return block(
        *(
            replace(child, operations=tuple(change(operation) for operation in child.operations))
            for child in children
            if isinstance(child, Compute)
        )
    )


def _member(loop: For, windows: Sequence[tuple[str, str]]) -> int | None:
    """The member of the band between the bounds of whose window a loop runs."""
    for member, (low, high) in enumerate(windows):
        if Iterator(low) in _operands("max", loop.start) and Iterator(high) in _operands("min", loop.stop):
            return member
    return None


def _operands(operator: str, expression: Expression) -> list[Expression]:
    """The operands of a minimum or maximum of any number of them."""
    match expression:
        case Binary(own, left, right) if own == operator:
            return _operands(operator, left) + _operands(operator, right)
    return [expression]


def _shared_columns(rows: For, columns: For) -> tuple[Expression, Expression] | None:
    """The columns that any row has, if one row has them all: the first or the last one, as only one end moves, and it
    moves in one direction; else None."""
    around = {rows.variable: Range(rows.start, add_constant(rows.stop, -1))}
    ends = [*_operands("max", columns.start), *_operands("min", columns.stop)]
    steps = [coefficient(end, rows.variable) for end in ends]
    if None in steps or (mentions(columns.start, rows.variable) and mentions(columns.stop, rows.variable)):
        return None
    if any(step > 0 for step in steps if step) and any(step < 0 for step in steps if step):
        return None
    first, last = least(columns.start, around), greatest(columns.stop, around)
    return None if first is None or last is None else (first, last)


def _copy(source: Element, target: Element, columns: For, inner: For, contiguous: ContiguousAxis) -> Node:
    """Copy what an element is for all of two loops."""
    axis = contiguous(source)
    if axis is not None and mentions(source.subscripts[axis], columns.variable):
        return replace(inner, body=replace(columns, body=Store(target, source)))

    def copied(ahead: int) -> Node:
        column: dict[str, Expression] = {columns.variable: add_constant(Iterator(columns.variable), ahead)}
        return Store(substitute(target, column), substitute(source, column))

    together = replace(inner, body=block(*(copied(ahead) for ahead in range(TOGETHER))))
    whole = replace(columns, stop=add_constant(columns.stop, 1 - TOGETHER), step=TOGETHER, body=together)
    rest = replace(
        columns, start=after_whole(columns.start, columns.stop, TOGETHER), body=replace(inner, body=copied(0))
    )
    return block(whole, rest)


def buffer_names(region: int) -> str:
    """Return what the names of a region's buffers begin with."""
    return generated(f"packed_{region}_")
