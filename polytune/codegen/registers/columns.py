"""Register tiles whose lanes are consecutive columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from polytune.codegen.affine_range import mentions
from polytune.codegen.ast_conversion import Part, add_constant, substitute
from polytune.codegen.loops import For, If, Let, Node, Store, block
from polytune.codegen.registers.accumulation import Accumulation
from polytune.codegen.registers.block_loops import BlockLoops, BlockRow
from polytune.codegen.registers.blocks import BlockNames, BlockShape, PointRanges, guarded, largest_shape
from polytune.codegen.transform import Target
from polytune.codegen.vectors.expressions import VECTOR, Apart, Lanes, Splat, Variable, VectorExpression
from polytune.codegen.vectors.lane_access import apart_of, in_lanes, lane_operands
from polytune.frontend.expression import Binary, Compare, Constant, Element, Expression, Iterator, Select, walk
from polytune.records import dataclass

FEW = 8
"""The number of vectors of results that is enough to hide the latency of one operation on them."""


def tile_columns(accumulation: Accumulation, target: Target) -> Node:
    """The loops of an accumulation with blocks of rows and vectors of columns in registers."""
    lanes = target.lanes(accumulation.dtype)

    def work(box: PointRanges, rows: Sequence[BlockRow], vectors: int, limit: Expression | None) -> Node:
        return guarded(accumulation, box, limit, _Block(accumulation, lanes, rows, vectors).code)

    # Where an element takes more than one fused operation, few of them keep the processor busy, and make less code.
    most = FEW if any(_compares(update.value) for update in accumulation.updates) else target.vector_registers

    def registers(shape: BlockShape) -> int:
        return _registers(accumulation, shape) if shape.rows * shape.columns <= most else target.vector_registers + 1

    shape = largest_shape(accumulation.rows is not None, registers, target.vector_registers)
    return BlockLoops(accumulation.rows, accumulation.columns, lanes, shape, work).nest()


def _compares(node: Expression) -> bool:
    """Return whether a value is the result of a comparison, beside that of products and sums."""
    return any(isinstance(part, Select) or getattr(part, "operator", "") in ("min", "max") for part in walk(node))


def _registers(accumulation: Accumulation, shape: BlockShape) -> int:
    """The vectors that are live in the innermost loop."""
    column, row = accumulation.columns.variable, accumulation.rows
    loaded = [part for update in accumulation.updates for part in walk(update.value)]
    loaded = [part for part in loaded if isinstance(part, Element) and mentions(part, column)]
    shared = {part for part in loaded if row is None or not mentions(part, row.variable)}
    return (len(accumulation.targets) * shape.rows + len(shared)) * shape.columns + 2


@dataclass
class _Block:
    """One block, being written: variables for what is updated, and for what is loaded in an iteration."""

    accumulation: Accumulation
    lanes: int
    rows: Sequence[BlockRow]
    vectors: int
    names: BlockNames = field(default_factory=BlockNames)
    loads: dict[VectorExpression, Let] = field(default_factory=dict)

    def code(self, low: Expression, high: Expression) -> Node:
        targets = {
            (target, row, vector): Variable(self.names.new("s"), VECTOR)
            for target in self.accumulation.targets
            for row in range(len(self.rows))
            for vector in range(self.vectors)
        }
        updates_and_terms = list(zip(self.accumulation.updates, self.accumulation.terms, strict=True))
        terms = {update.target: term for update, term in updates_and_terms}
        read = {part for update in self.accumulation.updates for part in walk(update.value)}
        before, after = [], []
        for (target, row, vector), name in targets.items():
            place = self.at(target, row, vector)
            apart = self.apart(target)
            start: Any = Lanes(place, self.lanes, self.rows[row].mask, apart)
            if target not in read:
                # What is only overwritten may not have been written before.
                start = Splat(Constant(0, place.dtype), self.lanes)
            result: Any = name
            term = terms[target]
            if term is not None and term.factor is not None:
                factor: Any = Splat(term.factor, self.lanes)
                result = Binary(term.operator, start, Binary("*", factor, result, VECTOR), VECTOR)
                start = Splat(Constant(0, place.dtype), self.lanes)
            before.append(Let(name.name, start))
            after.append(Store(place, result, self.rows[row].stored, apart))
        updates: list[Node] = []
        for update, term in updates_and_terms:
            for row in range(len(self.rows)):
                for vector in range(self.vectors):
                    own: Any = targets[update.target, row, vector]
                    if term is None:
                        value = self.value(update.value, row, vector, targets)
                    else:
                        value = Binary("+", own, self.value(term.value, row, vector, targets), VECTOR)
                    updates.append(Let(own.name, value))
        inner = self.accumulation.inner
        work = block(*before, For(inner.variable, low, high, 1, block(*self.loads.values(), *updates)), *after)
        # No sum is nothing, but times a factor that is no number it would be something; and what is not overwritten
        # stays as it was.
        always = all(term is None for term in self.accumulation.terms) and read >= {target for target, _, _ in targets}
        return work if always else If(Compare("<", low, high), work)

    def apart(self, element: Element) -> Apart | None:
        """Return how far consecutive columns of an element are apart."""
        return apart_of(element, self.accumulation.columns.variable, self.accumulation.contiguous)

    def at(self, node: Part, row: int, vector: int) -> Part:
        """An expression for a row and the first lane of a vector."""
        values: dict[str, Expression] = {}
        if self.accumulation.rows is not None:
            values[self.accumulation.rows.variable] = self.rows[row].number
        column = self.accumulation.columns.variable
        values[column] = add_constant(Iterator(column), vector * self.lanes)
        return substitute(node, values)

    def value(self, node: Expression, row: int, vector: int, targets: dict[Any, Any]) -> Any:
        """An expression as a vector; what is the same for several rows or vectors is computed once."""
        if isinstance(node, Element) and (node, row, vector) in targets:
            return targets[node, row, vector]
        if not mentions(node, self.accumulation.columns.variable):
            return self.once("a", Splat(self.at(node, row, vector), self.lanes))
        if isinstance(node, Element):
            # Lanes of other rows are loaded too, of this row neither used nor stored.
            mask = self.rows[row].mask if self.by_row(node) else self.rows[row].shared
            return self.once("b", Lanes(self.at(node, row, vector), self.lanes, mask, self.apart(node)))
        operands = lane_operands(node, self.accumulation.dtype)
        assert operands is not None, "accumulations that are no vectors are not tiled"
        return in_lanes(node, [self.value(part, row, vector, targets) for part in operands])

    def by_row(self, node: Expression) -> bool:
        """Return whether an expression differs from row to row."""
        return self.accumulation.rows is not None and mentions(node, self.accumulation.rows.variable)

    def once(self, kind: str, value: VectorExpression) -> Variable:
        if value not in self.loads:
            self.loads[value] = Let(self.names.new(kind), value)
        return Variable(self.loads[value].name, VECTOR)
