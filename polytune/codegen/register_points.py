"""Register tiles of points that have variables of their own: several rows and vectors of columns at once.

In a nest ``for u: for v:``, or in ``for v:`` alone, around statements and loops over them, as

    t = 0
    for k: t = t + A[u, k] * B[k, v]
    C[u, v] = t

a variable such as t, which no two points share, becomes a vector for each row and vector of columns of a block, and
what is loaded in an iteration of k serves several of them.  So does an element that all iterations of a loop update, if
nothing else in them is of its array.

Why that is right: the loops are all the members of a band, and coincident, so that no point depends on another one, in
whatever order their operations run; of each point they run in the source's order.  A loop of which the rows of a block
have different parts runs for all rows where all have it, before that and after that for each row by itself: to a row
that is its own order.
"""

from __future__ import annotations

from collections.abc import Iterator as Iteration
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from polytune.codegen.affine_range import Range, from_first, greatest, least, mentions
from polytune.codegen.ast_conversion import Part, add_constant, block, substitute
from polytune.codegen.block_loops import BlockLoops, Row
from polytune.codegen.lane_access import ContiguousAxis, apart_of, is_near, may_be_loaded, pays
from polytune.codegen.lane_operations import in_lanes, lane_operands
from polytune.codegen.loops import Block, Compute, For, Let, Node, Store
from polytune.codegen.register_blocks import Box, Names, Shape, largest_shape, maximum, minimum
from polytune.codegen.target import BYTES, Target
from polytune.codegen.vector_expressions import VECTOR, Apart, Lanes, Spread, Variable, VectorExpression
from polytune.frontend.expression import Assign, Constant, Element, Expression, Iterator, walk


@dataclass(frozen=True)
class PointNest:
    """A nest ``for rows: for columns: parts`` of independent points.

    Attributes:
        rows, columns: the loops; there may be none over rows.
        parts: statements, and loops over statements.
        own: the scalars of which each point has its own.
        dtype: the type of everything that is computed.
        contiguous: tells how arrays lie in memory.
    """

    rows: For | None
    columns: For
    parts: tuple[Compute | For, ...]
    own: frozenset[str]
    dtype: str
    contiguous: ContiguousAxis


def point_nest_of(
    rows: For | None, columns: For, own: frozenset[str], shared: frozenset[str], contiguous: ContiguousAxis
) -> PointNest | None:
    """The nest of one or two coincident loops; None where it is none that vectors can do.

    Args:
        rows, columns: the loops, the second one all of what the first one has inside; there may be none over rows.
        own: the scalars of which each point has its own.
        shared: arrays of which points may not be run side by side, as they use them one after another.
        contiguous: tells how arrays lie in memory.
    """
    children = columns.body.children if isinstance(columns.body, Block) else (columns.body,)
    parts = [part for part in children if isinstance(part, Compute | For)]
    loops = [part for part in parts if isinstance(part, For)]
    if len(parts) != len(children) or not loops or any(not _is_simple(loop, columns.variable) for loop in loops):
        return None
    assignments = [assignment for part in parts for assignment in _assignments(part)]
    if None in assignments:
        return None
    known = [assignment for assignment in assignments if assignment is not None]
    dtype = known[0].target.dtype
    if dtype not in BYTES:
        return None
    elements = [part for assignment in known for part in walk(assignment) if isinstance(part, Element)]
    if any(element.array in shared for element in elements):
        return None
    judge = _Judge(columns.variable, own, contiguous, dtype)
    if not all(judge.is_target(assignment.target) and judge.is_vector(assignment.value) for assignment in known):
        return None
    row = None if rows is None else rows.variable
    for loop in loops:
        often = [assignment for assignment in _assignments(loop.body) if assignment is not None]
        if not pays(often, columns.variable, contiguous, dtype, row):
            return None
    around = {} if rows is None else {rows.variable: _some()}
    bounds = [columns, *loops]
    if any(
        find(end, around) is None for loop in bounds for end in (loop.start, loop.stop) for find in (least, greatest)
    ):
        return None
    return PointNest(rows, columns, tuple(parts), own, dtype, contiguous)


def tile_points(nest: PointNest, target: Target) -> Node:
    """The loops of a nest with the variables of blocks of points in registers."""
    lanes = target.lanes(nest.dtype)

    def work(box: Box, rows: Sequence[Row], vectors: int, limit: Expression | None) -> Node:
        return _Points(nest, lanes, box, rows, vectors).code()

    def registers(shape: Shape) -> int:
        used = {part.array for child in nest.parts for part in walk(child) if isinstance(part, Element)}
        return (max(1, len(nest.own & used)) * shape.rows + 1) * shape.columns + 2

    shape = largest_shape(nest.rows is not None, registers, target.vector_registers)
    return BlockLoops(nest.rows, nest.columns, lanes, shape, work).nest()


def _some() -> Range:
    """Any range, to try what can be told of bounds."""
    return from_first(Constant(0, "int64"), 2)


def _is_simple(loop: For, column: str) -> bool:
    """Whether a loop is the same for all columns, and has nothing but statements inside."""
    children = loop.body.children if isinstance(loop.body, Block) else (loop.body,)
    same = not mentions(loop.start, column) and not mentions(loop.stop, column)
    return same and loop.step == 1 and all(isinstance(child, Compute) for child in children)


def _assignments(node: Node) -> Iteration[Assign | None]:
    """The assignments of statements and loops over them; None for what is none."""
    match node:
        case Block(children):
            for child in children:
                yield from _assignments(child)
        case For(body=body):
            yield from _assignments(body)
        case Compute(operations=operations):
            yield from (operation if isinstance(operation, Assign) else None for operation in operations)
        case _:
            yield None


@dataclass(frozen=True)
class _Judge:
    """What can be computed for consecutive columns as a vector."""

    column: str
    own: frozenset[str]
    contiguous: ContiguousAxis
    dtype: str

    def is_uniform(self, node: Expression) -> bool:
        """Whether an expression has the same value for all columns."""
        return not mentions(node, self.column) and not any(
            isinstance(part, Element) and part.array in self.own for part in walk(node)
        )

    def is_target(self, target: Element) -> bool:
        if target.array in self.own:
            return True
        return target.dtype == self.dtype and is_near(target, self.column, self.contiguous)

    def is_vector(self, node: Expression) -> bool:
        if self.is_uniform(node):
            return getattr(node, "dtype", None) == self.dtype
        if isinstance(node, Element):
            own = node.array in self.own and not mentions(node, self.column)
            return node.dtype == self.dtype and (own or may_be_loaded(node, self.column, self.contiguous))
        operands = lane_operands(node, self.dtype)
        return operands is not None and all(self.is_vector(operand) for operand in operands)


@dataclass
class _Points:
    """The points of one block, being written."""

    nest: PointNest
    lanes: int
    box: Box
    rows: Sequence[Row]
    vectors: int
    names: Names = field(default_factory=Names)
    variables: dict[tuple[str, int, int], Variable] = field(default_factory=dict)
    kept: dict[tuple[Element, int, int], Variable] = field(default_factory=dict)

    def code(self) -> Node:
        nodes: list[Node] = []
        zero = Spread(Constant(0, self.nest.dtype), self.lanes)
        first = next(_assignments(self.nest.parts[0]), None)
        for scalar in sorted(self.nest.own):
            for row in range(len(self.rows)):
                for vector in range(self.vectors):
                    variable = Variable(self.names.new("t"), VECTOR)
                    self.variables[scalar, row, vector] = variable
                    # Loops may run not at all; a variable is to be known behind them all the same.
                    if isinstance(self.nest.parts[0], For) or first is None or first.target.array != scalar:
                        nodes.append(Let(variable.name, zero))
        everything = range(len(self.rows))
        for part in self.nest.parts:
            nodes += self.loop(part) if isinstance(part, For) else self.statements(part, everything, None)
        return block(*nodes)

    def loop(self, loop: For) -> list[Node]:
        """A loop for all rows where all have it, and for each row by itself elsewhere."""
        everything = range(len(self.rows))
        kept = self.keep(loop)
        before = [Let(name.name, self.loaded(*place)) for place, name in kept.items()]
        after = [self.stored(*place, name) for place, name in kept.items()]
        nodes = [*before, *self.ranges(loop, everything), *after]
        for place in kept:
            del self.kept[place]
        return nodes

    def keep(self, loop: For) -> dict[tuple[Element, int, int], Variable]:
        """Variables for the elements that all iterations of a loop update and nothing else in them touches."""
        assignments = [part for part in _assignments(loop.body) if part is not None]
        elements = [part for assignment in assignments for part in walk(assignment) if isinstance(part, Element)]
        for target in dict.fromkeys(assignment.target for assignment in assignments):
            alone = all(part == target for part in elements if part.array == target.array)
            if alone and target.array not in self.nest.own and not mentions(target, loop.variable):
                for row in range(len(self.rows)):
                    for vector in range(self.vectors):
                        self.kept[target, row, vector] = Variable(self.names.new("s"), VECTOR)
        return dict(self.kept)

    def loaded(self, target: Element, row: int, vector: int) -> Lanes:
        return Lanes(self.at(target, row, vector), self.lanes, self.rows[row].mask, self.apart(target))

    def stored(self, target: Element, row: int, vector: int, value: Any) -> Store:
        return Store(self.at(target, row, vector), value, self.rows[row].stored, self.apart(target))

    def apart(self, element: Element) -> Apart | None:
        """How far consecutive columns of an element are apart."""
        return apart_of(element, self.nest.columns.variable, self.nest.contiguous)

    def ranges(self, loop: For, everything: Sequence[int]) -> list[Node]:
        """A loop in up to three parts, see ``loop``."""
        row_variable = "" if self.nest.rows is None else self.nest.rows.variable
        starts, stops = mentions(loop.start, row_variable), mentions(loop.stop, row_variable)
        if not (starts or stops) or self.box.rows is None:
            return [For(loop.variable, loop.start, loop.stop, 1, self.iteration(loop.body, everything))]
        around = {row_variable: self.box.rows}
        low, high = greatest(loop.start, around), least(loop.stop, around)
        assert low is not None and high is not None
        first, last = Iterator(self.names.new("first_")), Iterator(self.names.new("last_"))
        nodes: list[Node] = [Let(first.name, low), Let(last.name, maximum(first, high))]

        def own(row: int, start: Expression, stop: Expression) -> Node:
            return For(loop.variable, start, stop, 1, self.iteration(loop.body, [row]))

        ends = [[substitute(end, {row_variable: row.number}) for end in (loop.start, loop.stop)] for row in self.rows]
        if starts:
            nodes += [own(row, start, minimum(stop, first)) for row, (start, stop) in enumerate(ends)]
        nodes.append(For(loop.variable, first, last, 1, self.iteration(loop.body, everything)))
        if stops:
            nodes += [own(row, maximum(start, last), stop) for row, (start, stop) in enumerate(ends)]
        return nodes

    def iteration(self, body: Node, rows: Sequence[int]) -> Node:
        """One iteration of a loop; what is loaded in it is loaded once, if nothing is stored meanwhile."""
        parts = body.children if isinstance(body, Block) else (body,)
        kept = {target for target, _, _ in self.kept}
        stores = any(
            part is None or (part.target.array not in self.nest.own and part.target not in kept)
            for part in _assignments(body)
        )
        loads: dict[VectorExpression, Let] | None = None if stores else {}
        nodes = [node for part in parts if isinstance(part, Compute) for node in self.statements(part, rows, loads)]
        return block(*(loads or {}).values(), *nodes)

    def statements(self, statement: Compute, rows: Sequence[int], loads: dict | None) -> list[Node]:
        nodes: list[Node] = []
        for assignment in _assignments(statement):
            assert assignment is not None
            for row in rows:
                for vector in range(self.vectors):
                    value = self.value(assignment.value, row, vector, loads)
                    target = assignment.target
                    variable = self.variables.get((target.array, row, vector)) or self.kept.get((target, row, vector))
                    if variable is not None:
                        nodes.append(Let(variable.name, value))
                    else:
                        nodes.append(self.stored(target, row, vector, value))
        return nodes

    def at(self, node: Part, row: int, vector: int) -> Part:
        """An expression for a row and the first lane of a vector."""
        column = self.nest.columns.variable
        values: dict[str, Expression] = {column: add_constant(Iterator(column), vector * self.lanes)}
        if self.nest.rows is not None:
            values[self.nest.rows.variable] = self.rows[row].number
        return substitute(node, values)

    def value(self, node: Expression, row: int, vector: int, loads: dict | None) -> Any:
        """An expression as a vector."""
        if isinstance(node, Element) and node.array in self.nest.own:
            return self.variables[node.array, row, vector]
        match node:
            case Element() if (node, row, vector) in self.kept:
                return self.kept[node, row, vector]
            case Element() if mentions(node, self.nest.columns.variable):
                return self.once("b", self.loaded(node, row, vector), loads)
        if self.is_uniform(node):
            return self.once("a", Spread(self.at(node, row, vector), self.lanes), loads)
        operands = lane_operands(node, self.nest.dtype)
        assert operands is not None, "points that are no vectors are not tiled"
        return in_lanes(node, [self.value(part, row, vector, loads) for part in operands])

    def is_uniform(self, node: Expression) -> bool:
        return _Judge(self.nest.columns.variable, self.nest.own, lambda element: None, "").is_uniform(node)

    def once(self, kind: str, value: VectorExpression, loads: dict | None) -> Any:
        if loads is None:
            return value
        if value not in loads:
            loads[value] = Let(self.names.new(kind), value)
        return Variable(loads[value].name, VECTOR)
