"""Nests of points: loops of a coincident band around statements and loops over them, as vectors can do them."""

from __future__ import annotations

from collections.abc import Iterator as Iteration
from collections.abc import Mapping
from dataclasses import dataclass, field

from polytune.codegen.affine_range import Range, coefficient, from_first, greatest, least, mentions
from polytune.codegen.chains import is_chain
from polytune.codegen.lane_access import ContiguousAxis
from polytune.codegen.lane_operations import lane_operands
from polytune.codegen.loops import Block, Compute, For, Node
from polytune.codegen.target import BYTES
from polytune.frontend.expression import Assign, Constant, Element, Expression, walk


@dataclass(frozen=True)
class PointNest:
    """A nest ``for rows: for columns: parts`` of independent points.

    Attributes:
        rows, columns: the loops; there may be none over rows.
        parts: statements, and loops over statements.
        own: the scalars of which each point has its own.
        dtype: the type of everything that is computed.
        contiguous: tells how arrays lie in memory.
        strips: by array that only a point uses, which of its axes goes from point to point, and the name of the strip
            that takes its place.
    """

    rows: For | None
    columns: For
    parts: tuple[Compute | For, ...]
    own: frozenset[str]
    dtype: str
    contiguous: ContiguousAxis
    strips: Mapping[str, tuple[int, str]] = field(default_factory=dict)

    def axis(self, element: Element) -> int | None:
        """The axis along which the lanes of a vector of columns lie, if they are not next to one another in memory."""
        (moving,) = [k for k, subscript in enumerate(element.subscripts) if mentions(subscript, self.columns.variable)]
        return None if moving == self.contiguous(element) else moving

    @property
    def elements(self) -> list[Element]:
        """Everything that is read or written."""
        return [part for child in self.parts for part in walk(child) if isinstance(part, Element)]

    def across(self, arrays: frozenset[str]) -> dict[str, int]:
        """Those of some arrays of which each point uses the part at its own place along one axis, along which they do
        not lie next to one another in memory; and that axis."""
        found = {}
        for array in sorted(arrays):
            elements = [part for part in self.elements if part.array == array]
            if elements and all(mentions(part, self.columns.variable) for part in elements):
                places = {(self.axis(part), part.subscripts[self.axis(part) or 0]) for part in elements}
                axis, _ = next(iter(places))
                if len(places) == 1 and axis is not None:
                    found[array] = axis
        return found


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
    assignments = [assignment for part in parts for assignment in assignments_below(part)]
    if None in assignments:
        return None
    known = [assignment for assignment in assignments if assignment is not None]
    dtype = known[0].target.dtype
    if dtype not in BYTES:
        return None
    elements = [part for assignment in known for part in walk(assignment) if isinstance(part, Element)]
    if any(element.array in shared for element in elements):
        return None
    judge = Judge(columns.variable, own, dtype)
    if not all(judge.is_target(assignment.target) and judge.is_vector(assignment.value) for assignment in known):
        return None
    nest = PointNest(rows, columns, tuple(parts), own, dtype, contiguous)
    # Lanes far from one another take several times as long: they are for what else would be no vector at all.
    far = {element for element in elements if mentions(element, columns.variable) and nest.axis(element) is not None}
    if far and (rows is not None or not all(_is_chain(loop, own) for loop in loops)):
        return None
    around = {} if rows is None else {rows.variable: _some()}
    bounds = [columns, *loops]
    if any(
        find(end, around) is None for loop in bounds for end in (loop.start, loop.stop) for find in (least, greatest)
    ):
        return None
    return nest


def _is_chain(loop: For, own: frozenset[str]) -> bool:
    return is_chain([part for part in assignments_below(loop.body) if part is not None], loop.variable, own)


def _some() -> Range:
    """Any range, to try what can be told of bounds."""
    return from_first(Constant(0, "int64"), 2)


def _is_simple(loop: For, column: str) -> bool:
    """Whether a loop is the same for all columns, and has nothing but statements inside."""
    children = loop.body.children if isinstance(loop.body, Block) else (loop.body,)
    same = not mentions(loop.start, column) and not mentions(loop.stop, column)
    return same and loop.step == 1 and all(isinstance(child, Compute) for child in children)


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
class Judge:
    """What can be computed for consecutive columns as a vector."""

    column: str
    own: frozenset[str]
    dtype: str

    def is_uniform(self, node: Expression) -> bool:
        """Whether an expression has the same value for all columns."""
        return not mentions(node, self.column) and not any(
            isinstance(part, Element) and part.array in self.own for part in walk(node)
        )

    def is_target(self, target: Element) -> bool:
        return target.array in self.own or (mentions(target, self.column) and self.is_vector(target))

    def is_vector(self, node: Expression) -> bool:
        if self.is_uniform(node):
            return getattr(node, "dtype", None) == self.dtype
        if isinstance(node, Element):
            moving = [axis for axis, subscript in enumerate(node.subscripts) if mentions(subscript, self.column)]
            if not moving:
                return node.array in self.own and node.dtype == self.dtype
            step = coefficient(node.subscripts[moving[0]], self.column)
            return node.dtype == self.dtype and len(moving) == 1 and step == 1
        operands = lane_operands(node, self.dtype)
        return operands is not None and all(self.is_vector(operand) for operand in operands)
