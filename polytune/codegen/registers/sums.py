"""Register tiles whose lanes are partial sums over consecutive iterations of the innermost loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import partial
from typing import Any

from polytune.codegen.affine_range import Range, from_first, greatest, least, mentions
from polytune.codegen.ast_conversion import add_constant, substitute
from polytune.codegen.loops import For, If, Let, Node, block
from polytune.codegen.registers.accumulation import AccumulatedTerm, Accumulation
from polytune.codegen.registers.blocks import (
    BlockNames,
    BlockShape,
    PointRanges,
    add_total,
    all_of,
    by_vectors,
    guarded,
    largest_shape,
    minimum,
)
from polytune.codegen.transform import Target
from polytune.codegen.vectors.expressions import VECTOR, Lanes, LaneSelect, Splat, Variable, VectorExpression
from polytune.codegen.vectors.lane_access import apart_of, in_lanes, lane_operands
from polytune.frontend.expression import Binary, Compare, Constant, Element, Expression, Iterator, walk
from polytune.records import dataclass


def tile_sums(accumulation: Accumulation, target: Target) -> Node:
    """The loops of an accumulation with the sums of blocks of rows and columns in registers."""
    return _SumTiles(accumulation, target).nest()


class _SumTiles:
    def __init__(self, accumulation: Accumulation, target: Target):
        self.accumulation = accumulation
        self.lanes = target.lanes(accumulation.dtype)
        self.shape = largest_shape(accumulation.rows is not None, self.registers, target.vector_registers)

    def registers(self, shape: BlockShape) -> int:
        """The vectors that are live in the innermost loop."""
        accumulation = self.accumulation
        loaded = {
            part
            for update in accumulation.updates
            for part in walk(update.value)
            if isinstance(part, Element) and mentions(part, accumulation.inner.variable)
        }
        by_column = sum(mentions(part, accumulation.columns.variable) for part in loaded)
        by_row = len(loaded) - by_column
        sums = len(accumulation.updates) * shape.rows * shape.columns
        return sums + by_column * shape.columns + by_row

    def nest(self) -> Node:
        accumulation = self.accumulation
        rows, columns = accumulation.rows, accumulation.columns
        if rows is None:
            return self.column_blocks(None, columns.start, columns.stop)
        count = self.shape.rows
        own = from_first(Iterator(rows.variable), count)
        around = {rows.variable: Range(own.first, minimum(own.last, add_constant(rows.stop, -1)))}
        first, last = least(columns.start, around), greatest(columns.stop, around)
        assert first is not None and last is not None
        return For(rows.variable, rows.start, rows.stop, count, self.column_blocks(around[rows.variable], first, last))

    def column_blocks(self, rows: Range | None, first: Expression, last: Expression) -> Node:
        """The blocks of some rows, those at the ends too: what is beyond them is computed for the last row or column
        again, and not stored."""
        accumulation = self.accumulation
        variable, count = accumulation.columns.variable, self.shape.columns
        column = Iterator(variable)
        own = Range(column, minimum(add_constant(column, count - 1), add_constant(last, -1)))
        names = BlockNames()
        parts: list[Node] = []

        def numbers(start: Expression, end: Expression, amount: int) -> list[Expression]:
            found = [start]
            for ahead in range(1, amount):
                name = names.new("r")
                parts.append(Let(name, minimum(add_constant(start, ahead), end)))
                found.append(Iterator(name))
            return found

        row_numbers: list[Any] = [None]
        if rows is not None and accumulation.rows is not None:
            row_numbers = numbers(rows.first, add_constant(accumulation.rows.stop, -1), self.shape.rows)
        column_numbers = numbers(column, add_constant(last, -1), count)
        box = PointRanges(rows, own)
        work = _Sums(accumulation, self.lanes, row_numbers, column_numbers)
        return For(variable, first, last, count, block(*parts, guarded(accumulation, box, last, work.code)))


@dataclass
class _Sums:
    """One block: variables for the sums, and for what is loaded in an iteration."""

    accumulation: Accumulation
    lanes: int
    rows: list[Any]
    columns: list[Expression]
    loads: dict[VectorExpression, Let] = field(default_factory=dict)

    def code(self, low: Expression, high: Expression) -> Node:
        accumulation, inner = self.accumulation, self.accumulation.inner
        names = BlockNames()
        sums = {
            (update, row, column): Variable(names.new("s"), VECTOR)
            for update in range(len(accumulation.updates))
            for row in range(len(self.rows))
            for column in range(len(self.columns))
        }
        zero = Splat(Constant(0, accumulation.dtype), self.lanes)
        before = [Let(name.name, zero) for name in sums.values()]
        vectors = by_vectors(inner.variable, low, high, self.lanes, names, partial(self.step, sums))
        work = block(*before, *vectors, *self.stores(sums))
        # No sum is nothing, but times a factor that is no number it would be something.
        scales = any(term is not None and term.factor is not None for term in accumulation.terms)
        return If(Compare("<", low, high), work) if scales else work

    def step(self, sums: Mapping[tuple[int, int, int], Variable], mask: str | None) -> Node:
        """The work of as many iterations of the innermost loop as there are lanes, or of those of a mask."""
        self.loads = {}
        names = BlockNames()
        updates: list[Node] = []
        for (number, row, column), own in sums.items():
            value = self.value(self.term(number).value, self.values(row, column), mask, names)
            added: Any = Binary("+", own, value, VECTOR)  # type: ignore[arg-type]
            updates.append(Let(own.name, added if mask is None else LaneSelect(mask, added, own)))
        return block(*self.loads.values(), *updates)

    def term(self, number: int) -> AccumulatedTerm:
        """Return what an update adds."""
        term = self.accumulation.terms[number]
        assert term is not None, "lanes are partial sums only of what is added"
        return term

    def values(self, row: int, column: int) -> dict[str, Expression]:
        """Return what the loop variables are at a point of the block."""
        values = {self.accumulation.columns.variable: self.columns[column]}
        if self.accumulation.rows is not None:
            values[self.accumulation.rows.variable] = self.rows[row]
        return values

    def value(self, node: Expression, values: dict[Any, Any], mask: str | None, names: BlockNames) -> Any:
        if not mentions(node, self.accumulation.inner.variable):
            return self.once("a", Splat(substitute(node, values), self.lanes), names)
        if isinstance(node, Element):
            apart = apart_of(node, self.accumulation.inner.variable, self.accumulation.contiguous)
            return self.once("b", Lanes(substitute(node, values), self.lanes, mask, apart), names)
        operands = lane_operands(node, self.accumulation.dtype)
        assert operands is not None, "accumulations that are no vectors are not tiled"
        return in_lanes(node, [self.value(part, values, mask, names) for part in operands])

    def once(self, kind: str, value: VectorExpression, names: BlockNames) -> Any:
        if value not in self.loads:
            self.loads[value] = Let(names.new(kind), value)
        return Variable(self.loads[value].name, VECTOR)

    def stores(self, sums: Mapping[tuple[int, int, int], Variable]) -> list[Node]:
        """Add the sums to their targets, where there is such a row and such a column in it."""
        nodes: list[Node] = []
        for (number, row, column), name in sums.items():
            update = self.accumulation.updates[number]
            values = self.values(row, column)
            added = add_total(substitute(update.target, values), self.term(number), name)
            conditions = self.there(row, column, values)
            nodes.append(If(all_of(conditions), added) if conditions else added)
        return nodes

    def there(self, row: int, column: int, values: dict[str, Expression]) -> list[Expression]:
        """Return what says that a point of the block is one of the nest."""
        rows, columns = self.accumulation.rows, self.accumulation.columns
        by_row = () if rows is None else (rows.variable,)
        conditions: list[Expression] = []
        if rows is not None and row > 0:
            conditions.append(Compare("<", add_constant(Iterator(rows.variable), row), rows.stop))
        ahead = add_constant(Iterator(columns.variable), column)
        if mentions(columns.start, *by_row):
            conditions.append(Compare("<=", substitute(columns.start, values), ahead))
        if column > 0 or mentions(columns.stop, *by_row):
            conditions.append(Compare("<", ahead, substitute(columns.stop, values)))
        return conditions
