"""Vectors along rows: consecutive iterations of an innermost loop that carries no dependence, side by side.

In ``for v: A[u, v] = f(A[u, v], A[w, v], A[u, w])`` with w another row and another column, a compiler cannot know that
what is stored is never loaded in another iteration: it tests that, or does without vectors.  The schedule knows.

Why that is right: the loop carries no dependence, so that its iterations may run in any order, and statement by
statement too.  What is the same in all iterations is computed before the loop, if nothing that they store can be part
of it: with a single statement, which reads before it writes, an iteration that stored what others load would make them
depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import Any

from polytune.codegen.affine_range import in_one_order, mentions
from polytune.codegen.ast_conversion import Part, add_constant, integer, substitute
from polytune.codegen.loops import Compute, For, If, Let, Node, Store, block, children_of
from polytune.codegen.registers.accumulation import is_vector
from polytune.codegen.registers.block_loops import BlockLoops, BlockRow
from polytune.codegen.registers.blocks import BlockNames, BlockShape, PointRanges, after_whole, minus
from polytune.codegen.transform import BYTES, Target
from polytune.codegen.vectors.expressions import (
    VECTOR,
    Apart,
    Between,
    Lanes,
    Misalignment,
    Splat,
    Variable,
    VectorExpression,
)
from polytune.codegen.vectors.lane_access import (
    ContiguousAxis,
    apart_of,
    in_lanes,
    is_consecutive,
    is_near,
    lane_operands,
    may_be_loaded,
    pays,
)
from polytune.frontend.expression import Assign, Binary, Compare, Element, Expression, Iterator, Select, walk
from polytune.records import dataclass


@dataclass(frozen=True)
class RowLoop:
    """A loop without dependences between iterations around assignments to elements at equal distances, all of one
    type.

    Attributes:
        columns: the loop.
        assignments: what it has inside.
        dtype: the type of everything that is computed.
        contiguous: tells how arrays lie in memory.
        independent: whether there are no dependences between different assignments either, in whatever iterations.
    """

    columns: For
    assignments: tuple[Assign, ...]
    dtype: str
    contiguous: ContiguousAxis
    independent: bool = False

    def is_fixed(self, node: Expression) -> bool:
        """Return whether an expression has one value all through the loop, which no assignment can change on the
        way."""
        if mentions(node, self.columns.variable):
            return False
        stored = {assignment.target.array for assignment in self.assignments}
        read = {part.array for part in walk(node) if isinstance(part, Element)}
        return self.independent or len(self.assignments) == 1 or not stored & read


def row_loop_of(loop: For, arrays: frozenset[str], contiguous: ContiguousAxis) -> RowLoop | None:
    """The loop, which carries no dependence, as one over a row; None where that is none that vectors can do.

    Args:
        loop: an innermost loop.
        arrays: the arrays that the kernel was given: the false dependences of its own ones may have been left out.
        contiguous: tells how arrays lie in memory.
    """
    parts = children_of(loop.body)
    operations = [part.operations[0] for part in parts if isinstance(part, Compute) and len(part.operations) == 1]
    assignments = tuple(operation for operation in operations if isinstance(operation, Assign))
    if not assignments or len(assignments) != len(parts) or loop.step != 1 or _is_single(loop):
        return None
    dtype = assignments[0].target.dtype
    if dtype not in BYTES:
        return None
    for assignment in assignments:
        target = assignment.target
        if target.array not in arrays or not mentions(target, loop.variable):
            return None
        if not is_vector(target, loop.variable, contiguous, dtype, is_near):
            return None
        if not is_vector(assignment.value, loop.variable, contiguous, dtype, may_be_loaded):
            return None
    return (
        RowLoop(loop, assignments, dtype, contiguous) if pays(assignments, loop.variable, contiguous, dtype) else None
    )


class Vectors(Enum):
    """The places where the vectors of a row begin.

    At its first column, the last one with a mask; with masks in all of them, which is little code; or where vectors
    begin in the memory of the first assignment's target, so that storing one never touches two lines of a cache.
    """

    PLAIN = "plain"
    MASKED = "masked"
    ALIGNED = "aligned"


def vectorise_row(row: RowLoop, target: Target, vectors: Vectors = Vectors.PLAIN) -> Node:
    """Return the loop by a vector at a time.

    Args:
        row: the loop, which carries no dependence.
        target: the processor, which says how many lanes a vector has.
        vectors: where they begin.
    """
    lanes, columns = target.lanes(row.dtype), row.columns
    names = BlockNames()
    fixed: dict[Expression, Let] = {}
    for assignment in row.assignments:
        for part in _fixed_parts(assignment.value, row):
            if part not in fixed:
                fixed[part] = Let(names.new("a"), Splat(part, lanes))

    def work(box: PointRanges, rows: Sequence[BlockRow], vectors: int, limit: Expression | None) -> Node:
        return _Vectors(row, lanes, rows[0], vectors, fixed).code()

    first = row.assignments[0].target
    if vectors is Vectors.ALIGNED and is_consecutive(first, columns.variable, row.contiguous):
        loops = _aligned(row, lanes, partial(_Vectors, row, lanes, vectors=1, fixed=fixed))
    else:
        blocks = BlockLoops(None, columns, lanes, BlockShape(1, 1), work)
        masked = vectors is Vectors.MASKED
        loops = blocks.narrow(None, columns.start, columns.stop, begun=True) if masked else blocks.nest()
    # What is fixed may be loaded from where only iterations may load from.
    return If(Compare("<", columns.start, columns.stop), block(*fixed.values(), loops)) if fixed else loops


def _aligned(row: RowLoop, lanes: int, vectors: Callable[[BlockRow], _Vectors]) -> Node:
    """Whole vectors but for the first and the last one, which one piece of code with a mask is for."""
    columns, own = row.columns, BlockNames()
    column = Iterator(columns.variable)
    first, last, start, end = (Iterator(own.new(kind)) for kind in ("first_", "last_", "from_", "to_"))
    ahead: Any = Misalignment(substitute(row.assignments[0].target, {columns.variable: first}), lanes)
    begin = add_constant(start, lanes)
    mask, piece = own.new("m"), Iterator(own.new("s"))
    pieces = Select(Compare("<", end, last), integer(2), integer(1), "int64")
    at_end = Binary("*", piece, minus(end, start), "int64")
    return block(
        Let(first.name, columns.start),
        Let(last.name, columns.stop),
        Let(start.name, minus(first, ahead)),
        Let(end.name, after_whole(begin, last, lanes)),
        For(columns.variable, begin, add_constant(last, 1 - lanes), lanes, vectors(BlockRow(None)).code()),
        For(
            piece.name,
            integer(0),
            pieces,
            1,
            block(
                Let(columns.variable, Binary("+", start, at_end, "int64")),
                Let(mask, Between(minus(first, column), minus(last, column), lanes)),
                vectors(BlockRow(None, mask, mask)).code(),
            ),
        ),
    )


def _is_single(loop: For) -> bool:
    """Return whether a loop has one iteration."""
    return loop.stop in (Binary("+", loop.start, integer(1), "int64"), add_constant(loop.start, 1))


def _fixed_parts(node: Expression, row: RowLoop) -> list[Expression]:
    """The largest parts of a value that are fixed."""
    if not mentions(node, row.columns.variable):
        return [node] if row.is_fixed(node) else []
    operands = lane_operands(node, row.dtype) or ()
    return [part for operand in operands for part in _fixed_parts(operand, row)]


@dataclass(frozen=True)
class _Vectors:
    """Some vectors of a row, being written."""

    row: RowLoop
    lanes: int
    place: BlockRow
    vectors: int
    fixed: dict[Expression, Let]

    def code(self) -> Node:
        names = BlockNames()
        nodes: list[Node] = []
        stores: list[Node] = []
        loads: dict[VectorExpression, Let] = {}
        for assignment in self.row.assignments:
            for vector in range(self.vectors):
                value = self.value(assignment.value, vector, loads, names)
                target = self.at(assignment.target, vector)
                stores.append(Store(target, value, self.place.stored, self.apart(assignment.target)))
                if not self.row.independent:
                    nodes += [*loads.values(), *stores]
                    loads, stores = {}, []
        return block(*nodes, *loads.values(), *stores)

    def apart(self, element: Element) -> Apart | None:
        """Return how far consecutive columns of an element are apart."""
        return apart_of(element, self.row.columns.variable, self.row.contiguous)

    def at(self, node: Part, vector: int) -> Part:
        """An expression for the first lane of a vector."""
        column = self.row.columns.variable
        return substitute(node, {column: add_constant(Iterator(column), vector * self.lanes)})

    def value(self, node: Expression, vector: int, loads: dict[VectorExpression, Let], names: BlockNames) -> Any:
        """An expression as a vector; what an assignment uses twice is loaded once, and what independent ones use."""
        if node in self.fixed:
            return Variable(self.fixed[node].name, VECTOR)
        if not mentions(node, self.row.columns.variable):
            return Splat(node, self.lanes)
        if isinstance(node, Element):
            place = self.at(node, vector)
            loaded = Lanes(
                in_one_order(place) if self.row.independent else place, self.lanes, self.place.mask, self.apart(node)
            )
            if loaded not in loads:
                loads[loaded] = Let(names.new("b"), loaded)
            return Variable(loads[loaded].name, VECTOR)
        operands = lane_operands(node, self.row.dtype)
        assert operands is not None, "rows that are no vectors are not vectorised"
        return in_lanes(node, [self.value(part, vector, loads, names) for part in operands])
