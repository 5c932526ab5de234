"""Register tiles of sweeps over a matrix: several of its rows at once, from one end to the other.

In a nest of loops over u and v whose statements compute elements for every ``(u, v)``, add to elements that depend on v
alone, and to elements that depend on u alone, as

    A[u, v] = A[u, v] + a[u] * b[v]
    x[v] = x[v] + A[u, v] * y[u]
    w[u] = w[u] + A[u, v] * z[v]

nothing is used again but vectors, so that reading and writing the matrix is what takes time.  Rows that are read one
after another from end to end are what memory is fastest at.  So u goes outside, by several rows at a time: x, b and z
are loaded, and x is stored, once for all of them, what is computed for an element is at hand where it is used, and what
a row adds up stays in a vector of partial sums until its end.

Why that is right: the loops are members of one permutable band, which may be interchanged.  Every array that is written
is accessed at one place alone, the same one in all statements, so that no v depends on another one; and for each v the
values of u, and the statements of each, run in order.  Sums along a row are none that any other statement sees, and may
be reassociated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any

from polytune.codegen.affine_range import mentions
from polytune.codegen.ast_conversion import add_constant, substitute
from polytune.codegen.loops import For, If, Let, Node, Store, block
from polytune.codegen.registers.accumulation import (
    AccumulatedTerm,
    assignments_of,
    coordinate,
    differs,
    is_vector,
    term_of,
)
from polytune.codegen.registers.blocks import BlockNames, add_total, after_whole, by_vectors
from polytune.codegen.transform import BYTES, Target
from polytune.codegen.vectors.expressions import VECTOR, Lanes, LaneSelect, Splat, Variable, VectorExpression
from polytune.codegen.vectors.lane_access import ContiguousAxis, in_lanes, lane_operands
from polytune.frontend.expression import Assign, Binary, Compare, Constant, Element, Expression, Iterator, walk
from polytune.records import dataclass

ROWS = (8, 4, 2, 1)
"""The numbers of rows that may be swept at once: the first for which there are registers enough is taken."""


@dataclass(frozen=True)
class Sweep:
    """A nest of loops over columns and rows around updates in which columns do not depend on one another.

    Attributes:
        columns, rows: the loops; neither has bounds that depend on the other.
        updates: the statements, as assignments of one type.
        dtype: that type.
        sums: the elements that are updated in all rows.
        terms: per statement what it adds to an element that is updated in all columns; None for the others.
    """

    columns: For
    rows: For
    updates: tuple[Assign, ...]
    dtype: str
    sums: tuple[Element, ...]
    terms: tuple[AccumulatedTerm | None, ...]


def sweep_of(columns: For, rows: For, contiguous: ContiguousAxis, *, reassociate: bool) -> Sweep | None:
    """The sweep that two loops, one right inside the other, are; None where they are none that vectors can do.

    Args:
        columns: the loop along which arrays are contiguous.
        rows: the other one, of one permutable band with it.
        contiguous: tells how arrays lie in memory.
        reassociate: whether sums may be added up in another order.
    """
    updates = _updates_of(columns, rows, contiguous)
    if updates is None:
        return None
    along_rows = [update for update in updates if not mentions(update.target, columns.variable)]
    terms = [sum_along(update, along_rows, columns, rows) if update in along_rows else None for update in updates]
    if along_rows and (not reassociate or terms.count(None) > len(updates) - len(along_rows)):
        return None
    targets = tuple(dict.fromkeys(update.target for update in updates if update not in along_rows))
    sums = tuple(target for target in targets if not mentions(target, rows.variable))
    others = [target for target in targets if target not in sums]
    if not sums or not all(differs(target, rows.variable, columns.variable) for target in others):
        return None
    return Sweep(columns, rows, updates, updates[0].target.dtype, sums, tuple(terms))


def _updates_of(columns: For, rows: For, contiguous: ContiguousAxis) -> tuple[Assign, ...] | None:
    """The assignments in two loops, if all of them are vectors of one type along the columns, and each array that is
    assigned is used at one place alone."""
    outer, inner = (columns, rows) if columns.body == rows else (rows, columns)
    updates = assignments_of(inner.body)
    if updates is None or mentions(inner.start, outer.variable) or mentions(inner.stop, outer.variable):
        return None
    dtype = updates[0].target.dtype
    values = [value for update in updates for value in (update.target, update.value)]
    if dtype not in BYTES or not all(is_vector(value, columns.variable, contiguous, dtype) for value in values):
        return None
    places = {update.target.array: update.target for update in updates}
    named = [part for update in updates for part in walk(update) if isinstance(part, Element)]
    return None if any(part != places.get(part.array, part) for part in named) else updates


def sum_along(update: Assign, updates: Sequence[Assign], columns: For, rows: For) -> AccumulatedTerm | None:
    """Return what an update adds to an element of its row that nothing else uses; None where it does something else.

    Args:
        update: one of the assignments in the nest.
        updates: those that update one element in all columns.
        columns: the innermost loop.
        rows: the loop around it.
    """
    if [each.target for each in updates].count(update.target) > 1 or not coordinate(update.target, rows.variable):
        return None
    return term_of(update, updates, (columns.variable, rows.variable))


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
    totals = sum(term is not None for term in sweep.terms)
    return (by_row + totals + 1) * count + len(parts) - by_row + len(sweep.sums)


@dataclass
class _Rows:
    """Some rows, being written."""

    sweep: Sweep
    lanes: int
    count: int
    names: BlockNames = field(default_factory=BlockNames)
    spreads: dict[VectorExpression, Let] = field(default_factory=dict)

    def code(self, start: Expression, stop: Expression) -> Node:
        """The rows from ``start`` on, by so many at a time, as long as they are before ``stop``."""
        columns = self.sweep.columns
        totals = {
            (number, row): Variable(self.names.new("k"), VECTOR)
            for number, term in enumerate(self.sweep.terms)
            if term is not None
            for row in range(self.count)
        }
        zero = Splat(Constant(0, self.sweep.dtype), self.lanes)
        code = partial(self.vectors, totals)
        vectors = by_vectors(columns.variable, columns.start, columns.stop, self.lanes, self.names, code)
        body = block(
            *self.spreads.values(),
            *(Let(own.name, zero) for own in totals.values()),
            *vectors,
            *(self.added(number, row, own) for (number, row), own in totals.items()),
        )
        return For(self.sweep.rows.variable, start, stop, self.count, body)

    def added(self, number: int, row: int, total: Variable) -> Node:
        """Add what a row has added up to its element."""
        update, term = self.sweep.updates[number], self.sweep.terms[number]
        assert term is not None, "only sums along rows are added up"
        return add_total(self.at(update.target, row), term, total)

    def vectors(self, totals: Mapping[tuple[int, int], Variable], mask: str | None) -> Node:
        """A vector of columns, for all rows; ``totals`` are the sums along rows, by statement and row."""
        loads: dict[VectorExpression, Let] = {}
        # What an element is, once it is computed.
        computed: dict[Element, Variable] = {}
        nodes: list[Node] = []
        for target in self.sweep.sums:
            # What is only overwritten may not have been written before.
            if self.reads_first(target):
                computed[target] = Variable(self.names.new("s"), VECTOR)
                nodes.append(Let(computed[target].name, Lanes(target, self.lanes, mask)))
        for row in range(self.count):
            for number, (update, term) in enumerate(zip(self.sweep.updates, self.sweep.terms, strict=True)):
                if term is not None:
                    own: Any = totals[number, row]
                    more = Binary("+", own, self.value(self.at(term.value, row), mask, loads, computed), VECTOR)
                    nodes.append(Let(own.name, more if mask is None else LaneSelect(mask, more, own)))
                    continue
                target, value = (self.at(part, row) for part in (update.target, update.value))
                vector = self.value(value, mask, loads, computed)
                if target not in computed:
                    computed[target] = Variable(self.names.new("t"), VECTOR)
                nodes.append(Let(computed[target].name, vector))
                if update.target not in self.sweep.sums:
                    nodes.append(Store(target, computed[target], mask))
        nodes += [Store(target, computed[target], mask) for target in self.sweep.sums]
        return block(*loads.values(), *nodes)

    def reads_first(self, target: Element) -> bool:
        """Return whether a row reads an element before it assigns it."""
        for update in self.sweep.updates:
            if target in walk(update.value):
                return True
            if update.target == target:
                return False
        return True

    def at(self, node: Any, row: int) -> Any:
        """An expression for a row."""
        rows = self.sweep.rows.variable
        return substitute(node, {rows: add_constant(Iterator(rows), row)})

    def value(
        self, node: Expression, mask: str | None, loads: dict[Any, Any], computed: dict[Element, Variable]
    ) -> Any:
        """An expression as a vector."""
        if not mentions(node, self.sweep.columns.variable):
            return self.once("a", Splat(node, self.lanes), self.spreads)
        if isinstance(node, Element):
            return computed[node] if node in computed else self.once("b", Lanes(node, self.lanes, mask), loads)
        operands = lane_operands(node, self.sweep.dtype)
        assert operands is not None, "sweeps that are no vectors are not tiled"
        return in_lanes(node, [self.value(part, mask, loads, computed) for part in operands])

    def once(self, kind: str, value: VectorExpression, known: dict[VectorExpression, Let]) -> Variable:
        if value not in known:
            known[value] = Let(self.names.new(kind), value)
        return Variable(known[value].name, VECTOR)
