"""Loops over blocks of rows and vectors of columns: whole blocks where all rows have all columns, masks elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from polytune.codegen.affine_range import Range, from_first, greatest, least
from polytune.codegen.ast_conversion import add_constant, integer, substitute
from polytune.codegen.loops import For, Let, Node, block
from polytune.codegen.registers.blocks import BlockNames, BlockShape, PointRanges, after_whole, maximum, minimum, minus
from polytune.codegen.vectors.expressions import AnyMask, Between
from polytune.frontend.expression import Compare, Expression, Iterator, Select
from polytune.records import dataclass


@dataclass(frozen=True)
class BlockRow:
    """A row of a block.

    Attributes:
        number: the value of the loop over rows; None where there is none.
        mask: the lanes that may be accessed; all if None.
        stored: those that are the row's to store: none of a row that only fills the block.
        shared: the lanes that any row of the block may access: what is the same for all rows is loaded once.
    """

    number: Any
    mask: str | None = None
    stored: str | None = None
    shared: str | None = None


Work = Callable[[PointRanges, Sequence[BlockRow], int, Expression | None], Node]
"""Makes the code of a block of some rows and so many vectors of columns, whose columns end at a limit at the latest."""


@dataclass(frozen=True)
class BlockLoops:
    """Loops over the rows (None where there are none) and the columns of a nest.

    Attributes:
        rows, columns: the loops.
        lanes: how many columns a vector has.
        shape: rows and vectors of a block.
        work: makes the code of a block.
    """

    rows: For | None
    columns: For
    lanes: int
    shape: BlockShape
    work: Work

    def nest(self) -> Node:
        rows, count = self.rows, self.shape.rows
        if rows is None:
            return self.row_blocks(None, 1)
        whole = self.row_blocks(from_first(Iterator(rows.variable), count), count)
        if count == 1:
            return replace(rows, body=whole)
        rest = after_whole(rows.start, rows.stop, count)
        last = Range(Iterator(rows.variable), add_constant(rows.stop, -1))
        return block(
            For(rows.variable, rows.start, add_constant(rows.stop, 1 - count), count, whole),
            For(rows.variable, rest, rows.stop, count, self.narrow(last, *self.outer_columns(last), begun=False)),
        )

    def outer_columns(self, rows: Range | None) -> tuple[Expression, Expression]:
        """The columns from the first one of any row to behind the last one."""
        own = self.ranges(rows)
        first, last = least(self.columns.start, own), greatest(self.columns.stop, own)
        assert first is not None and last is not None
        return first, last

    def common_columns(self, rows: Range | None) -> tuple[Expression, Expression]:
        """The columns that all rows have."""
        own = self.ranges(rows)
        first, last = greatest(self.columns.start, own), least(self.columns.stop, own)
        assert first is not None and last is not None
        return first, last

    def ranges(self, rows: Range | None) -> dict[str, Range]:
        return {} if self.rows is None or rows is None else {self.rows.variable: rows}

    def row_blocks(self, rows: Range | None, count: int) -> Node:
        """The blocks of some rows: of several vectors each where all rows have all columns, then one by one."""
        columns = self.columns
        (first, last), (outer_first, outer_last) = self.common_columns(rows), self.outer_columns(rows)
        step = self.lanes * self.shape.columns
        numbers = [None] if rows is None else [add_constant(rows.first, number) for number in range(count)]
        box = PointRanges(rows, from_first(Iterator(columns.variable), step))
        wide = self.work(box, [BlockRow(number) for number in numbers], self.shape.columns, None)
        parts: list[Node] = []
        if first != outer_first:
            parts.append(self.narrow(rows, outer_first, minimum(first, outer_last), begun=False))
        parts.append(For(columns.variable, first, add_constant(last, 1 - step), step, wide))
        parts.append(self.narrow(rows, after_whole(first, last, step), outer_last, begun=True))
        return block(*parts)

    def narrow(self, rows: Range | None, first: Expression, last: Expression, *, begun: bool) -> Node:
        """Return blocks of one vector a row; masks say which lanes are there.  Behind the last row it is repeated, but
        not stored.

        Args:
            rows: the first and the last row of a block; None where there are no rows.
            first, last: from which column on, and before which, any row has something.
            begun: whether no row starts behind the first column.
        """
        column = Iterator(self.columns.variable)
        names = BlockNames()
        parts: list[Node] = []
        chosen: list[BlockRow] = []

        def named(lanes: Between | AnyMask) -> str:
            known = next((part.name for part in parts if isinstance(part, Let) and part.value == lanes), None)
            if known is None:
                known = names.new("m")
                parts.append(Let(known, lanes))
            return known

        def mask(start: Expression, stop: Expression) -> str:
            begin = integer(0) if start == column else minus(start, column)
            return named(Between(begin, minus(stop, column), self.lanes))

        for ahead in range(self.shape.rows):
            number: Any = None
            there: Expression | None = None
            if self.rows is not None and rows is not None:
                number = add_constant(rows.first, ahead)
                if ahead and rows.last != add_constant(rows.first, self.shape.rows - 1):
                    there = Compare("<=", number, rows.last)
                    clamped = Let(names.new("r"), minimum(number, rows.last))
                    parts.append(clamped)
                    number = Iterator(clamped.name)
            values = {} if self.rows is None or number is None else {self.rows.variable: number}
            start = column if begun else maximum(substitute(self.columns.start, values), column)
            stop = minimum(substitute(self.columns.stop, values), last)
            loaded = mask(start, stop)
            stored = loaded if there is None else mask(start, Select(there, stop, start, "int64"))
            chosen.append(BlockRow(number, loaded, stored))
        masks = tuple(dict.fromkeys(row.mask for row in chosen if row.mask is not None))
        shared = named(AnyMask(masks)) if len(masks) > 1 else masks[0]
        chosen = [replace(row, shared=shared) for row in chosen]
        work = self.work(PointRanges(rows, from_first(column, self.lanes)), chosen, 1, last)
        return For(self.columns.variable, first, last, self.lanes, block(*parts, work))
