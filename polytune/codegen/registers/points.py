"""Register tiles of points that have variables of their own: several rows and vectors of columns at once.

In a nest ``for u: for v:``, or in ``for v:`` alone, around statements and loops over them, as

    t = 0
    for k: t = t + A[u, k] * B[k, v]
    C[u, v] = t

with one loop over k or several inside one another, as those of a convolution, a variable such as t, which no two points
share, becomes a vector for each row and vector of columns of a block, and what is loaded in an iteration of k serves
several of them.  So does an element that all iterations of a loop update, if nothing else in them is of its array.

Points may lie across the rows of arrays, as in

    for k: q[v, k] = (b[v, k] - a * q[v, k - 1]) / d[v, k]

where the loop inside is a chain, so that no vectors can run along it: the lanes of a vector are loaded and stored one
by one then.  What a point alone uses of such an array, and nothing after it, is not stored there, but in a *strip*,
memory of a worker in which the points of a block are next to one another.  Strips also hold what points read again and
again of such arrays (``fillings.py``).

Why that is right: the loops are all the members of a band, and coincident, so that no point depends on another one, in
whatever order their operations run; of each point they run in the source's order.  A loop of which the rows of a block
have different parts runs for all rows where all have it, before that and after that for each row by itself: to a row
that is its own order.  What is kept in a variable from one iteration of a chain to the next is what the one has stored
and the other would load, and a strip holds values that live in one block alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

from polytune.codegen.affine_range import greatest, least, mentions
from polytune.codegen.ast_conversion import Part, add_constant, integer, substitute
from polytune.codegen.loops import Compute, For, If, Let, Node, Store, block, children_of
from polytune.codegen.registers.block_loops import BlockLoops, BlockRow
from polytune.codegen.registers.blocks import BlockNames, BlockShape, PointRanges, largest_shape, maximum, minimum
from polytune.codegen.registers.fillings import Filling
from polytune.codegen.registers.point_nests import (
    LaneRules,
    Link,
    PointNest,
    assignments_below,
    condition_of_update,
    links_of,
)
from polytune.codegen.transform import Target
from polytune.codegen.vectors.expressions import VECTOR, Lanes, LaneSelect, Splat, Variable, VectorExpression
from polytune.codegen.vectors.lane_access import chosen_alike, in_lanes, lane_operands
from polytune.frontend.expression import Compare, Constant, Element, Expression, Iterator, Select, walk
from polytune.records import dataclass

ACROSS = BlockShape(1, 2)
"""The shape of blocks of points that lie across the rows of arrays: two chains side by side keep the processor busy,
and few points at once need little of the caches for what they use of long rows."""

FILLED = BlockShape(1, 4)
"""The shape of blocks of points whose rows are in strips: each row of a strip is half a kilobyte at most."""


def tile_points(nest: PointNest, target: Target) -> Node:
    """The loops of a nest with the variables of blocks of points in registers."""
    lanes = target.lanes(nest.dtype)

    def work(box: PointRanges, rows: Sequence[BlockRow], vectors: int, limit: Expression | None) -> Node:
        return _Points(nest, lanes, box, rows, vectors).code()

    shape = block_shape(nest, target)
    return BlockLoops(nest.rows, nest.columns, lanes, shape, work).nest()


def block_shape(nest: PointNest, target: Target) -> BlockShape:
    """Return how many rows and vectors of columns a block has."""
    used = {part.array for part in nest.elements}
    if nest.is_across and nest.rows is None:
        return ACROSS
    if nest.fillings:
        return FILLED

    def registers(shape: BlockShape) -> int:
        return (max(1, len(nest.own & used)) * shape.rows + 1) * shape.columns + 2

    return largest_shape(nest.rows is not None, registers, target.vector_registers)


@dataclass
class _Points:
    """The points of one block, being written."""

    nest: PointNest
    lanes: int
    box: PointRanges
    rows: Sequence[BlockRow]
    vectors: int
    names: BlockNames = field(default_factory=BlockNames)
    variables: dict[tuple[str, int, int], Variable] = field(default_factory=dict)
    kept: dict[tuple[Element, int, int], Variable] = field(default_factory=dict)
    latest: dict[tuple[Element, int, int], Variable] = field(default_factory=dict)

    def code(self) -> Node:
        nodes = [self.filled(array, filling) for array, filling in self.nest.fillings.items()]
        types = {part.array: part.dtype for part in self.nest.elements}
        first = next(assignments_below(self.nest.parts[0]), None)
        for scalar in sorted(self.nest.own):
            for row in range(len(self.rows)):
                for vector in range(self.vectors):
                    variable = self.variable("t", types.get(scalar, self.nest.dtype))
                    self.variables[scalar, row, vector] = variable
                    # Loops may run not at all; a variable is to be known behind them all the same.
                    if isinstance(self.nest.parts[0], For) or first is None or first.target.array != scalar:
                        zero = Constant(0, types.get(scalar, self.nest.dtype))
                        nodes.append(Let(variable.name, Splat(zero, self.lanes)))
        everything = range(len(self.rows))
        for part in self.nest.parts:
            nodes += self.loop(part) if isinstance(part, For) else self.statements(part, everything, None, frozenset())
        return block(*nodes)

    def filled(self, array: str, filling: Filling) -> Node:
        """The loops that put the rows of a block's points into a strip."""
        axis, name = self.nest.strips[array]
        variables = [self.names.new("f") for _ in filling.extents]
        others: list[Expression] = [Iterator(variable) for variable in variables]
        own = filling.element.subscripts[axis]
        element = replace(filling.element, subscripts=(*others[:axis], own, *others[axis:]))
        body: Node = block(
            *(
                Store(
                    Element(name, (*others, integer(vector * self.lanes)), element.dtype),
                    Lanes(self.at(element, 0, vector), self.lanes, self.rows[0].mask, filling.apart),
                )
                for vector in range(self.vectors)
            )
        )
        for variable, extent in zip(reversed(variables), reversed(filling.extents), strict=True):
            body = For(variable, integer(0), extent, 1, body)
        return If(filling.condition, body)

    def loop(self, loop: For) -> list[Node]:
        """A loop for all rows where all have it, and for each row by itself elsewhere."""
        everything = range(len(self.rows))
        kept = self.keep(loop)
        inside = self.ranges(loop, everything)
        nodes = self.with_kept(loop, kept, inside) if kept else inside
        for place in kept:
            del self.kept[place]
        # What an iteration computed last is in a variable only while there are iterations.
        self.latest.clear()
        return nodes

    def with_kept(self, loop: For, kept: dict[tuple[Element, int, int], Variable], inside: list[Node]) -> list[Node]:
        """A loop with what is kept in variables all through it loaded before and stored after, where it is updated at
        all: elements that no iteration updates need not be there."""
        updated: dict[Expression, list[tuple[Element, int, int]]] = {}
        for place in kept:
            condition = condition_of_update(loop, place[0])
            assert condition is not None, "what may be updated or not in each iteration is not kept"
            if self.nest.rows is not None:
                condition = substitute(condition, {self.nest.rows.variable: self.rows[place[1]].number})
            updated.setdefault(condition, []).append(place)
        runs = Compare("<", loop.start, loop.stop)
        before: list[Node] = []
        after: list[Node] = []
        for condition, places in updated.items():
            loads = [Let(kept[place].name, self.loaded(*place)) for place in places]
            stores = [self.stored(*place, kept[place]) for place in places]
            if list(updated) == [runs]:
                return [If(runs, block(*loads, *inside, *stores))]
            nothing = [Splat(Constant(0, place[0].dtype), self.lanes) for place in places]
            names = [kept[place].name for place in places]
            before += [*map(Let, names, nothing), If(condition, block(*loads))]
            after.append(If(condition, block(*stores)))
        return [*before, *inside, *after]

    def chain(self, loop: For, links: tuple[Link, ...]) -> Node:
        """A loop of which every iteration passes what it has computed on to the next one in variables; nothing where it
        has no iterations, in which case there is nothing before the first one."""
        carried: dict[tuple[Element, int, int], Variable] = {}
        before: list[Node] = []
        for link in links:
            for vector in range(self.vectors):
                variable = self.variable("s", link.before.dtype)
                first = substitute(link.before, {loop.variable: loop.start})
                before.append(Let(variable.name, self.loaded(first, 0, vector)))
                carried[link.before, 0, vector] = variable
        self.kept |= carried
        body = self.iteration(loop.body, [0], frozenset(link.target for link in links))
        after = [
            Let(carried[link.before, 0, vector].name, self.latest[link.target, 0, vector])
            for link in links
            for vector in range(self.vectors)
        ]
        for place in carried:
            del self.kept[place]
        inside = For(loop.variable, loop.start, loop.stop, 1, block(body, *after))
        return If(Compare("<", loop.start, loop.stop), block(*before, inside))

    def keep(self, loop: For) -> dict[tuple[Element, int, int], Variable]:
        """Variables for the elements that all iterations of a loop update and nothing else in them touches."""
        assignments = [part for part in assignments_below(loop.body) if part is not None]
        elements = [part for assignment in assignments for part in walk(assignment) if isinstance(part, Element)]
        for target in dict.fromkeys(assignment.target for assignment in assignments):
            if target.array in self.nest.own or condition_of_update(loop, target) is None:
                continue
            if self.nest.stays(target, elements, loop):
                for row in range(len(self.rows)):
                    for vector in range(self.vectors):
                        self.kept[target, row, vector] = self.variable("s", target.dtype)
        return dict(self.kept)

    def loaded(self, target: Element, row: int, vector: int) -> Lanes:
        if target.array in self.nest.strips:
            return Lanes(self.in_strip(target, row, vector), self.lanes)
        return Lanes(self.at(target, row, vector), self.lanes, self.rows[row].mask, self.nest.apart(target))

    def stored(self, target: Element, row: int, vector: int, value: Any) -> Store:
        if target.array in self.nest.strips:
            return Store(self.in_strip(target, row, vector), value)
        return Store(self.at(target, row, vector), value, self.rows[row].stored, self.nest.apart(target))

    def in_strip(self, target: Element, row: int, vector: int) -> Element:
        """Return where a strip has the first lane of a vector."""
        axis, name = self.nest.strips[target.array]
        others = self.at(target, row, vector).subscripts
        return Element(name, (*others[:axis], *others[axis + 1 :], integer(vector * self.lanes)), target.dtype)

    def ranges(self, loop: For, everything: Sequence[int]) -> list[Node]:
        """A loop in up to three parts, see ``loop``."""
        row_variable = "" if self.nest.rows is None else self.nest.rows.variable
        starts, stops = mentions(loop.start, row_variable), mentions(loop.stop, row_variable)
        if not (starts or stops) or self.box.rows is None:
            assignments = [part for part in assignments_below(loop.body) if part is not None]
            single = not any(isinstance(part, For) for part in children_of(loop.body))
            linked = single and self.box.rows is None
            links = links_of(assignments, loop.variable, self.nest.own) if linked else ()
            if links:
                return [self.chain(loop, links)]
            return [self.iterations(loop, loop.start, loop.stop, everything)]
        around = {row_variable: self.box.rows}
        low, high = greatest(loop.start, around), least(loop.stop, around)
        assert low is not None and high is not None
        first, last = Iterator(self.names.new("first_")), Iterator(self.names.new("last_"))
        nodes: list[Node] = [Let(first.name, low), Let(last.name, maximum(first, high))]

        def own(row: int, start: Expression, stop: Expression) -> Node:
            return self.iterations(loop, start, stop, [row])

        ends = [[substitute(end, {row_variable: row.number}) for end in (loop.start, loop.stop)] for row in self.rows]
        if starts:
            nodes += [own(row, start, minimum(stop, first)) for row, (start, stop) in enumerate(ends)]
        nodes.append(self.iterations(loop, first, last, everything))
        if stops:
            nodes += [own(row, maximum(start, last), stop) for row, (start, stop) in enumerate(ends)]
        return nodes

    def iterations(self, loop: For, start: Expression, stop: Expression, rows: Sequence[int]) -> Node:
        """Iterations of a loop.  Lanes that do not lie next to one another and are the same in all iterations are
        loaded before, where there are iterations: else they need not be there."""
        loads, nodes = self.loads_and_work(loop.body, rows)
        moving = [load for load in loads if Iterator(loop.variable) in walk(load.value)]
        fixed = [load for load in loads if load not in moving]
        if not any(isinstance(load.value, Lanes) and load.value.apart is not None for load in fixed):
            return For(loop.variable, start, stop, 1, block(*loads, *nodes))
        inside = block(*moving, *nodes)
        return If(Compare("<", start, stop), block(*fixed, For(loop.variable, start, stop, 1, inside)))

    def iteration(self, body: Node, rows: Sequence[int], linked: frozenset[Element] = frozenset()) -> Node:
        """One iteration of a loop."""
        loads, nodes = self.loads_and_work(body, rows, linked)
        return block(*loads, *nodes)

    def loads_and_work(
        self, body: Node, rows: Sequence[int], linked: frozenset[Element] = frozenset()
    ) -> tuple[list[Let], list[Node]]:
        """One iteration of a loop; what is loaded in it is loaded once, if nothing is stored to its array meanwhile."""
        assignments = [part for part in assignments_below(body) if part is not None]
        kept = {target for target, _, _ in self.kept} | self.nest.own
        loads = _Loads(frozenset(part.target.array for part in assignments if part.target not in kept))
        elements = [part for assignment in assignments for part in walk(assignment.value) if isinstance(part, Element)]
        again = linked.union(elements)
        self.latest.clear()
        nodes: list[Node] = []
        for part in children_of(body):
            if isinstance(part, For):
                nodes.append(self.iterations(part, part.start, part.stop, rows))
                self.latest.clear()
            elif isinstance(part, Compute):
                nodes += self.statements(part, rows, loads, again)
        return list(loads.known.values()), nodes

    def statements(
        self, statement: Compute, rows: Sequence[int], loads: _Loads | None, again: frozenset[Element]
    ) -> list[Node]:
        """A statement for some rows; what is stored to elements that are needed ``again`` stays in variables, too."""
        nodes: list[Node] = []
        for assignment in assignments_below(statement):
            assert assignment is not None
            for row in rows:
                for vector in range(self.vectors):
                    value = self.value(assignment.value, row, vector, loads)
                    target = assignment.target
                    variable = self.variables.get((target.array, row, vector)) or self.kept.get((target, row, vector))
                    if variable is not None:
                        nodes.append(Let(variable.name, value))
                        continue
                    if target in again:
                        computed = self.latest[target, row, vector] = self.variable("t", target.dtype)
                        nodes.append(Let(computed.name, value))
                        value = computed
                    nodes.append(self.stored(target, row, vector, value))
        return nodes

    def at(self, node: Part, row: int, vector: int) -> Part:
        """An expression for a row and the first lane of a vector."""
        column = self.nest.columns.variable
        values: dict[str, Expression] = {column: add_constant(Iterator(column), vector * self.lanes)}
        if self.nest.rows is not None:
            values[self.nest.rows.variable] = self.rows[row].number
        return substitute(node, values)

    def value(self, node: Expression, row: int, vector: int, loads: _Loads | None) -> Any:
        """An expression as a vector."""
        if isinstance(node, Element) and node.array in self.nest.own:
            return self.variables[node.array, row, vector]
        match node:
            case Element() if (node, row, vector) in self.kept:
                return self.kept[node, row, vector]
            case Element() if (node, row, vector) in self.latest:
                return self.latest[node, row, vector]
            case Element() if mentions(node, self.nest.columns.variable):
                return self.once("b", self.loaded(node, row, vector), loads)
        if self.is_uniform(node):
            return self.once("a", Splat(self.at(node, row, vector), self.lanes), loads)
        alike = chosen_alike(node, self.is_uniform)
        if alike is not None:
            return self.chosen(alike, row, vector, loads)
        operands = lane_operands(node, node.dtype)
        assert operands is not None, "points that are no vectors are not tiled"
        return in_lanes(node, [self.value(part, row, vector, loads) for part in operands])

    def chosen(self, node: Select, row: int, vector: int, loads: _Loads | None) -> LaneSelect:
        """A choice that is the same for all lanes."""
        one, nothing = (Constant(number, self.nest.dtype) for number in (1, 0))
        number = Splat(self.at(Select(node.condition, one, nothing, self.nest.dtype), row, vector), self.lanes)
        zeros: Any = Splat(nothing, self.lanes)
        test = Compare("!=", self.once("a", number, loads), zeros)
        return LaneSelect(test, *(self.value(side, row, vector, loads) for side in (node.then, node.otherwise)))

    def is_uniform(self, node: Expression) -> bool:
        return LaneRules(self.nest.columns.variable, self.nest.own, 0).is_uniform(node)

    def variable(self, kind: str, dtype: str) -> Variable:
        """A new variable for vectors of a type, which no other block has for those of another one."""
        return Variable(self.names.new(kind if dtype == "float64" else f"{kind}_{dtype}_"), VECTOR)

    def once(self, kind: str, value: Lanes | Splat, loads: _Loads | None) -> Any:
        if loads is None or any(isinstance(part, Element) and part.array in loads.changing for part in walk(value)):
            return value
        if value not in loads.known:
            known = value.element if isinstance(value, Lanes) else value.value
            loads.known[value] = Let(self.variable(kind, known.dtype).name, value)
        return Variable(loads.known[value].name, VECTOR)


@dataclass(frozen=True)
class _Loads:
    """The values that an iteration has loaded before anything else, but from arrays that it stores to."""

    changing: frozenset[str]
    known: dict[VectorExpression, Let] = field(default_factory=dict)
