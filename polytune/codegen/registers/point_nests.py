"""Nests of points: loops of a coincident band around statements and loops over them, as vectors can do them.

A loop inside may be a *chain*, whose iterations each need what the one before has computed, as those that solve
tridiagonal systems.  In ``for v: q[v] = (b[v] - a * q[v - 1]) / d[v]`` every operation waits for the one before.
Vectors along v would gain nothing, several such loops side by side gain all.
"""

from __future__ import annotations

from collections.abc import Iterator as Iteration
from collections.abc import Mapping, Sequence, Set
from dataclasses import field
from math import inf

from polytune.codegen.affine_range import Range, coefficient, difference, from_first, greatest, least, mentions
from polytune.codegen.ast_conversion import add_constant, substitute
from polytune.codegen.loops import Block, Compute, For, Node, children_of
from polytune.codegen.registers.blocks import all_of, any_of
from polytune.codegen.registers.choices import in_choices
from polytune.codegen.registers.fillings import Filling, fillings_of
from polytune.codegen.transform import BYTES
from polytune.codegen.vectors.expressions import Apart
from polytune.codegen.vectors.lane_access import (
    ContiguousAxis,
    apart_of,
    chosen_alike,
    is_near,
    lane_operands,
    moves,
    pays,
)
from polytune.frontend.expression import Assign, Compare, Constant, Element, Expression, Iterator, Select, walk
from polytune.records import dataclass

MOST_UNROLLED = 32
"""Up to how many iterations in all compilers unroll loops that always have as many: the loop over columns is innermost
then, and they make vectors of it that take half the time of blocks, which go through such loops again and again."""

MOST_SHORT = 8
"""Up to how many iterations that is so too where the rows of a block share what they load."""


@dataclass(frozen=True)
class PointNest:
    """A nest ``for rows: for columns: parts`` of independent points.

    Attributes:
        rows, columns: the loops; there may be none over rows.
        parts: statements, and loops over statements and further loops, whose bounds are the same for all points.
        own: the scalars of which each point has its own.
        dtype: the type of what is computed first; all other types have elements of the same size.
        contiguous: tells how arrays lie in memory.
        fillings: by array that points read again and again across its rows, what a strip in its place is to hold.
        strips: by array that only a point uses, or of these, which of its axes goes from point to point, and the name
            of the strip that takes its place.
    """

    rows: For | None
    columns: For
    parts: tuple[Compute | For, ...]
    own: frozenset[str]
    dtype: str
    contiguous: ContiguousAxis
    fillings: Mapping[str, Filling] = field(default_factory=dict)
    strips: Mapping[str, tuple[int, str]] = field(default_factory=dict)

    def apart(self, element: Element) -> Apart | None:
        """Return how far consecutive columns of an element are apart; None where they are neighbours."""
        return apart_of(element, self.columns.variable, self.contiguous)

    @property
    def loops(self) -> list[For]:
        """The loops of a point, of those right inside of it."""
        return [part for part in self.parts if isinstance(part, For)]

    @property
    def is_across(self) -> bool:
        """Return whether lanes lie in rows of their own, and not in strips."""
        elements = (part for part in self.elements if part.array not in self.fillings)
        moving = (part for part in elements if mentions(part, self.columns.variable))
        return any(not is_near(part, self.columns.variable, self.contiguous) for part in moving)

    @property
    def elements(self) -> list[Element]:
        """Everything that is read or written."""
        return [part for child in self.parts for part in walk(child) if isinstance(part, Element)]

    def stays(self, target: Element, elements: Sequence[Element], loop: For) -> bool:
        """Return whether an element of a point is the same in all iterations of a loop, and nothing else in them can be
        that element, whichever point they belong to.

        Other elements of its array are others where a subscript that is the same for all points and iterations differs
        by a constant, as in ``f[v, 0]`` and ``f[v, 1]``.

        Args:
            target: the element.
            elements: everything that the iterations read or write.
            loop: a loop of a point.
        """
        inside = tuple(variables_below(loop))
        points = (self.columns.variable,) if self.rows is None else (self.columns.variable, self.rows.variable)
        others = {part for part in elements if part.array == target.array and part != target}
        return not mentions(target, *inside) and all(_is_another(target, each, (*inside, *points)) for each in others)

    def across(self, arrays: frozenset[str]) -> dict[str, int]:
        """The arrays, of some, of which each point uses the part at its own place along one axis, along which they do
        not lie next to one another in memory; and that axis."""
        found = {}
        for array in sorted(arrays):
            elements = [part for part in self.elements if part.array == array]
            if not elements or not all(mentions(part, self.columns.variable) for part in elements):
                continue
            lanes = {self.apart(part) for part in elements}
            lane = lanes.pop()
            if lanes or lane is None or lane.step != 1:
                continue
            if len({part.subscripts[lane.axis] for part in elements}) == 1:
                found[array] = lane.axis
        return found


def point_nest_of(
    rows: For | None,
    columns: For,
    own: frozenset[str],
    shared: frozenset[str],
    constant: frozenset[str],
    sizes: frozenset[str],
    contiguous: ContiguousAxis,
) -> PointNest | None:
    """The nest of one or two coincident loops; None where it is none that vectors can do.

    Args:
        rows, columns: the loops, the second one all of what the first one has inside; there may be none over rows.
        own: the scalars of which each point has its own.
        shared: arrays of which points may not be run side by side, as they use them one after another.
        constant: arrays that nothing in the region writes.
        sizes: the parameters of the kernel.
        contiguous: tells how arrays lie in memory.
    """
    parts = _parts_of(rows, columns)
    if parts is None:
        return None
    parts = tuple(in_choices(part, own) for part in parts)
    dtype = _dtype_of(parts, columns, own, shared)
    if dtype is None:
        return None
    # Blocks of several rows share what they load; strips would be filled for each of them.
    fillings = fillings_of(parts, columns.variable, constant, sizes, contiguous) if rows is None else {}
    nest = PointNest(rows, columns, parts, own, dtype, contiguous, fillings)
    return nest if _lanes_pay(nest) and _has_bounds(nest) else None


def _parts_of(rows: For | None, columns: For) -> tuple[Compute | For, ...] | None:
    """The statements and loops of a point; None where there is anything else, or no loop worth keeping."""
    children = children_of(columns.body)
    parts = tuple(part for part in children if isinstance(part, Compute | For))
    loops = [part for part in parts if isinstance(part, For)]
    points = {columns.variable} if rows is None else {columns.variable, rows.variable}
    if len(parts) != len(children) or not loops:
        return None
    if not all(_is_simple(loop, columns.variable, points) for loop in loops):
        return None
    few = MOST_SHORT if rows is not None and _rows_share(loops, rows.variable, columns.variable) else MOST_UNROLLED
    return None if all(_iterations(loop) <= few for loop in loops) else parts


def _dtype_of(parts: Sequence[Compute | For], columns: For, own: frozenset[str], shared: frozenset[str]) -> str | None:
    """The type of what the parts of a point compute first; None where lanes cannot be computed side by side, as those
    of numbers of several sizes."""
    assignments = [assignment for part in parts for assignment in assignments_below(part)]
    known = [assignment for assignment in assignments if assignment is not None]
    if len(known) < len(assignments) or known[0].target.dtype not in BYTES:
        return None
    dtype = known[0].target.dtype
    elements = [part for assignment in known for part in walk(assignment) if isinstance(part, Element)]
    if any(element.array in shared for element in elements):
        return None
    rules = LaneRules(columns.variable, own, BYTES[dtype])
    fit = all(rules.is_target(each.target) and rules.are_vectors((each.value,), each.target.dtype) for each in known)
    return dtype if fit else None


def _lanes_pay(nest: PointNest) -> bool:
    """Return whether lanes lie near one another, or may take longer to load.

    Lanes in rows of their own take several times as long: they are for what else would be no vector at all, or is
    little beside what is computed from it.
    """
    chains = nest.rows is None and all(_is_chain(loop, nest.own) for loop in nest.loops)
    often = (loop for loop in nest.loops if _iterations(loop) > MOST_SHORT)
    return not nest.is_across or chains or all(_may_be_gathered(loop, nest) for loop in often)


def _has_bounds(nest: PointNest) -> bool:
    """Return whether the least and the greatest bounds of the loops in a block of rows can be told."""
    around = {} if nest.rows is None else {nest.rows.variable: _some()}
    ends = [end for loop in (nest.columns, *nest.loops) for end in (loop.start, loop.stop)]
    return all(find(end, around) is not None for end in ends for find in (least, greatest))


def _rows_share(loops: Sequence[For], row: str, column: str) -> bool:
    """Return whether the points of a column read elements in loops that those of other columns do not read, the same
    in all rows: what a block loads once."""
    read = [part for loop in loops for part in walk(loop.body) if isinstance(part, Element)]
    return any(mentions(part, column) and not mentions(part, row) for part in read)


def _may_be_gathered(loop: For, nest: PointNest) -> bool:
    """Return whether a loop stores nothing across rows but what stays in registers, and what it loads so is little
    beside what it computes, or the same in all iterations."""
    column, row = nest.columns.variable, None if nest.rows is None else nest.rows.variable
    often = [assignment for assignment in assignments_below(loop.body) if assignment is not None]
    elements = [part for each in often for part in walk(each) if isinstance(part, Element)]
    targets = {each.target for each in often if mentions(each.target, column)}
    stored = [target for target in targets if not nest.stays(target, elements, loop)]
    near = all(is_near(target, column, nest.contiguous) for target in stored)
    inside = tuple(variables_below(loop))
    return near and pays(often, column, nest.contiguous, nest.dtype, row, inside, nest.fillings)


def _is_another(one: Element, other: Element, variables: Sequence[str]) -> bool:
    """Return whether two elements of an array differ by a constant in a subscript in which none of some variables
    is."""
    pairs = zip(one.subscripts, other.subscripts, strict=True)
    return any(difference(*pair) for pair in pairs if not any(mentions(part, *variables) for part in pair))


def _is_chain(loop: For, own: frozenset[str]) -> bool:
    return is_chain([part for part in assignments_below(loop.body) if part is not None], loop.variable, own)


def _some() -> Range:
    """Any range, to try what can be told of bounds."""
    return from_first(Constant(0, "int64"), 2)


def _is_simple(loop: For, column: str, points: Set[str]) -> bool:
    """Return whether a loop is the same for all columns, and has nothing inside but statements, and such loops that are
    the same for all points."""
    if loop.step != 1 or mentions(loop.start, column) or mentions(loop.stop, column):
        return False
    return all(
        isinstance(child, Compute)
        or (
            isinstance(child, For)
            and not any(mentions(end, variable) for end in (child.start, child.stop) for variable in points)
            and _is_simple(child, column, points)
        )
        for child in children_of(loop.body)
    )


def _iterations(node: Node) -> float:
    """Return how many iterations a loop and those inside have together; infinitely many where that is no constant."""
    if not isinstance(node, For):
        return 1
    inside = max((_iterations(child) for child in children_of(node.body)), default=1)
    if not (isinstance(node.start, Constant) and isinstance(node.stop, Constant)):
        return inf
    instances: float = max(0, node.stop.value - node.start.value) * inside
    return instances


def variables_below(node: Node) -> Iteration[str]:
    """The variables of a loop and of those inside."""
    if isinstance(node, For):
        yield node.variable
        for child in children_of(node.body):
            yield from variables_below(child)


def condition_of_update(loop: For, target: Element) -> Expression | None:
    """The condition under which iterations of a loop, or of loops inside, update an element; None where that differs
    from iteration to iteration.

    Args:
        loop: the loop, without conditions inside.
        target: the element.
    """
    found: dict[Expression, None] = {}
    for around in _loops_around(loop, target):
        if any(mentions(each.start, *_names(around)) or mentions(each.stop, *_names(around)) for each in around):
            return None
        found[all_of([Compare("<", each.start, each.stop) for each in around])] = None
    return any_of(list(found)) if found else None


def _loops_around(loop: For, target: Element) -> Iteration[tuple[For, ...]]:
    """The loops around each assignment to an element, the outermost first."""
    for part in children_of(loop.body):
        if isinstance(part, For):
            yield from ((loop, *inside) for inside in _loops_around(part, target))
        elif any(each is not None and each.target == target for each in assignments_below(part)):
            yield (loop,)


def _names(loops: Sequence[For]) -> list[str]:
    return [loop.variable for loop in loops]


def assignments_below(node: Node) -> Iteration[Assign | None]:
    """The assignments of statements and loops over them; None for what is none."""
    match node:
        case Block(children):
            for child in children:
                yield from assignments_below(child)
        case For(body=body):
            yield from assignments_below(body)
        case Compute(operations=operations):
            yield from (operation if isinstance(operation, Assign) else None for operation in operations)
        case _:
            yield None


@dataclass(frozen=True)
class LaneRules:
    """The rules of what can be computed for consecutive columns as a vector.

    Attributes:
        column: the variable of the loop over columns.
        own: the scalars of which each point has its own.
        size: the bytes of a lane.
    """

    column: str
    own: frozenset[str]
    size: int

    def is_uniform(self, node: Expression) -> bool:
        """Return whether an expression has the same value for all columns."""
        return not mentions(node, self.column) and not any(
            isinstance(part, Element) and part.array in self.own for part in walk(node)
        )

    def is_target(self, target: Element) -> bool:
        return target.array in self.own or (mentions(target, self.column) and self.is_vector(target))

    def is_vector(self, node: Expression) -> bool:
        dtype = getattr(node, "dtype", "")
        if BYTES.get(dtype) != self.size:
            return False
        if self.is_uniform(node):
            return True
        if isinstance(node, Element):
            own = node.array in self.own and not mentions(node, self.column)
            return own or moves(node, self.column) is not None
        alike = chosen_alike(node, self.is_uniform)
        if alike is not None:
            return self.are_vectors((alike.then, alike.otherwise), dtype)
        operands = lane_operands(node, dtype)
        if operands is None:
            return False
        if isinstance(node, Select):  # lanes of one type may choose between those of another one
            left, right, *sides = operands
            return self.are_vectors((left, right), getattr(left, "dtype", "")) and self.are_vectors(sides, dtype)
        return self.are_vectors(operands, dtype)

    def are_vectors(self, operands: Sequence[Expression], dtype: str) -> bool:
        """Return whether operands can be computed as vectors of one type."""
        return all(getattr(each, "dtype", "") == dtype and self.is_vector(each) for each in operands)


@dataclass(frozen=True)
class Link:
    """An element that every iteration writes, once, and that the next one reads as ``before``.

    The iterations access no other elements of its array, so that ``before`` may be kept from one iteration to the next.
    """

    target: Element
    before: Element


def is_chain(assignments: Sequence[Assign], variable: str, own: frozenset[str]) -> bool:
    """Return whether iterations of a loop need what the one before has computed, other than to add up.

    Args:
        assignments: what an iteration does.
        variable: the loop's.
        own: scalars that are variables of the code around the loop.
    """
    elements = [part for assignment in assignments for part in walk(assignment.value) if isinstance(part, Element)]
    for target in dict.fromkeys(assignment.target for assignment in assignments):
        same = [part for part in elements if part.array == target.array and part.array not in own]
        if mentions(target, variable) and any(_is_behind(part, target, variable) for part in same):
            return True
    # Scalars that an iteration reads before it writes them, but where they are only added to.
    still_old = own & {assignment.target.array for assignment in assignments}
    for assignment in assignments:
        own_name = assignment.target.array
        others = still_old - {own_name}
        if any(isinstance(part, Element) and part.array in others for part in walk(assignment.value)):
            return True
        still_old = others
    return False


def links_of(assignments: Sequence[Assign], variable: str, own: frozenset[str]) -> tuple[Link, ...]:
    """The elements that lead from each iteration of a loop to the next one; see ``is_chain``.

    Args:
        assignments: what an iteration does.
        variable: the loop's.
        own: scalars that are variables of the code around the loop.
    """
    elements = [part for assignment in assignments for part in walk(assignment) if isinstance(part, Element)]
    targets = [assignment.target for assignment in assignments]
    found = []
    for target in targets:
        if target.array in own or not mentions(target, variable) or targets.count(target) > 1:
            continue
        before = substitute(target, {variable: add_constant(Iterator(variable), -1)})
        others = dict.fromkeys(part for part in elements if part.array == target.array and part != target)
        if len(others) == 1:
            (other,) = others
            if all(difference(*pair) == 0 for pair in zip(other.subscripts, before.subscripts, strict=True)):
                found.append(Link(target, other))
    return tuple(found)


def _is_behind(element: Element, target: Element, variable: str) -> bool:
    """Return whether iterations read, as ``element``, what a constant number of iterations before wrote as
    ``target``."""
    distances = set()
    for read, written in zip(element.subscripts, target.subscripts, strict=True):
        step, apart = coefficient(written, variable), difference(read, written)
        if step is None or apart is None or (not step and apart) or (step and apart % step):
            return False
        if step:
            distances.add(-apart // step)
    return len(distances) == 1 and distances.pop() > 0
