"""Register tiles of sweeps over a matrix: several of its rows at once, from one end to the other.

In a nest ``for v: for u: statements`` whose statements compute elements for every ``(u, v)`` and add to elements that
depend on v alone, as

    A[u, v] = A[u, v] + a[u] * b[v]
    x[v] = x[v] + A[u, v] * y[u]

nothing is used again but vectors, so that reading and writing the matrix is what takes time.  Rows that are read one
after another from end to end are what memory is fastest at.  So u goes outside, by several rows at a time: x and b are
loaded, and x is stored, once for all of them, and what is computed for an element is at hand where it is used.

Why that is right: the loops are members of one permutable band, which may be interchanged.  Every array that is written
is accessed at one place alone, the same one in all statements, so that no v depends on another one; and for each v the
values of u, and the statements of each, run in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from polytune.codegen.accumulation import assignments_of, differs, is_vector
from polytune.codegen.affine_range import mentions
from polytune.codegen.ast_conversion import add_constant, block, integer, substitute
from polytune.codegen.lane_access import ContiguousAxis
from polytune.codegen.lane_operations import in_lanes, lane_operands
from polytune.codegen.loops import For, If, Let, Node, Store
from polytune.codegen.register_blocks import Names, after_whole, minus
from polytune.codegen.target import BYTES, Target
from polytune.codegen.vector_expressions import VECTOR, Between, Lanes, Spread, Variable, VectorExpression
from polytune.frontend.expression import Assign, Compare, Element, Expression, Iterator, walk

ROWS = (8, 4, 2, 1)
"""How many rows may be swept at once: of the first number for which there are registers enough."""


@dataclass(frozen=True)
class Sweep:
    """A nest ``for columns: for rows: updates`` in which columns do not depend on one another.

    Attributes:
        columns, rows: the loops; neither has bounds that depend on the other.
        updates: the statements, as assignments of one type.
        dtype: that type.
        sums: the elements that are updated in all rows.
    """

    columns: For
    rows: For
    updates: tuple[Assign, ...]
    dtype: str
    sums: tuple[Element, ...]


def sweep_of(nest: Sequence[For], contiguous: ContiguousAxis) -> Sweep | None:
    """The sweep that the last two loops of a perfect nest are; None where they are none that vectors can do.

    Args:
        nest: loops of one permutable band, two or more, the innermost last.
        contiguous: tells how arrays lie in memory.
    """
    columns, rows = nest[-2:]
    updates = assignments_of(rows.body)
    if updates is None or mentions(rows.start, columns.variable) or mentions(rows.stop, columns.variable):
        return None
    dtype = updates[0].target.dtype
    if dtype not in BYTES:
        return None
    for update in updates:
        parts = (update.target, update.value)
        if not mentions(update.target, columns.variable):
            return None
        if not all(is_vector(part, columns.variable, contiguous, dtype) for part in parts):
            return None
    targets = tuple(dict.fromkeys(update.target for update in updates))
    sums = tuple(target for target in targets if not mentions(target, rows.variable))
    if not sums or not all(
        differs(target, rows.variable, columns.variable) for target in targets if target not in sums
    ):
        return None
    places = {target.array: target for target in targets}
    named = [part for update in updates for part in walk(update) if isinstance(part, Element)]
    if any(part != places.get(part.array, part) for part in named):
        return None
    return Sweep(columns, rows, updates, dtype, sums)


def tile_sweep(sweep: Sweep, target: Target) -> Node:
    """The loops of a sweep by several rows at a time."""
    lanes = target.lanes(sweep.dtype)
    rows = sweep.rows
    count = next(count for count in ROWS if count == 1 or _registers(sweep, count) <= target.vector_registers)
    parts = [_Rows(sweep, lanes, count).code(rows.start, add_constant(rows.stop, 1 - count))]
    if count > 1:
        parts.append(_Rows(sweep, lanes, 1).code(after_whole(rows.start, rows.stop, count), rows.stop))
    # Without columns, what rows have in common may not be there either.
    return If(Compare("<", sweep.columns.start, sweep.columns.stop), block(*parts))


def _registers(sweep: Sweep, count: int) -> int:
    """The vectors that are live in the loop over columns."""
    parts = {part for update in sweep.updates for part in walk(update.value) if isinstance(part, Element)}
    by_row = sum(mentions(part, sweep.rows.variable) for part in parts)
    return (by_row + 1) * count + len(parts) - by_row + len(sweep.sums)


@dataclass
class _Rows:
    """Some rows, being written."""

    sweep: Sweep
    lanes: int
    count: int
    names: Names = field(default_factory=Names)
    spreads: dict[VectorExpression, Let] = field(default_factory=dict)

    def code(self, start: Expression, stop: Expression) -> Node:
        """The rows from ``start`` on, by so many at a time, as long as they are before ``stop``."""
        columns = self.sweep.columns
        whole = self.vectors(None)
        first = after_whole(columns.start, columns.stop, self.lanes)
        mask = self.names.new("m")
        lanes = Between(integer(0), minus(columns.stop, Iterator(columns.variable)), self.lanes)
        body = block(
            *self.spreads.values(),
            For(columns.variable, columns.start, add_constant(columns.stop, 1 - self.lanes), self.lanes, whole),
            For(columns.variable, first, columns.stop, self.lanes, block(Let(mask, lanes), self.vectors(mask))),
        )
        return For(self.sweep.rows.variable, start, stop, self.count, body)

    def vectors(self, mask: str | None) -> Node:
        """A vector of columns, for all rows."""
        loads: dict[VectorExpression, Let] = {}
        # What an element is, once it is computed.
        computed: dict[Element, Variable] = {}
        nodes: list[Node] = []
        for target in self.sweep.sums:
            computed[target] = Variable(self.names.new("s"), VECTOR)
            nodes.append(Let(computed[target].name, Lanes(target, self.lanes, mask)))
        for row in range(self.count):
            for update in self.sweep.updates:
                target, value = (self.at(part, row) for part in (update.target, update.value))
                vector = self.value(value, mask, loads, computed)
                if target not in computed:
                    computed[target] = Variable(self.names.new("t"), VECTOR)
                nodes.append(Let(computed[target].name, vector))
                if update.target not in self.sweep.sums:
                    nodes.append(Store(target, computed[target], mask))
        nodes += [Store(target, computed[target], mask) for target in self.sweep.sums]
        return block(*loads.values(), *nodes)

    def at(self, node: Any, row: int) -> Any:
        """An expression for a row."""
        rows = self.sweep.rows.variable
        return substitute(node, {rows: add_constant(Iterator(rows), row)})

    def value(self, node: Expression, mask: str | None, loads: dict, computed: dict[Element, Variable]) -> Any:
        """An expression as a vector."""
        if not mentions(node, self.sweep.columns.variable):
            return self.once("a", Spread(node, self.lanes), self.spreads)
        if isinstance(node, Element):
            return computed[node] if node in computed else self.once("b", Lanes(node, self.lanes, mask), loads)
        operands = lane_operands(node, self.sweep.dtype)
        assert operands is not None, "sweeps that are no vectors are not tiled"
        return in_lanes(node, [self.value(part, mask, loads, computed) for part in operands])

    def once(self, kind: str, value: VectorExpression, known: dict[VectorExpression, Let]) -> Variable:
        if value not in known:
            known[value] = Let(self.names.new(kind), value)
        return Variable(known[value].name, VECTOR)
