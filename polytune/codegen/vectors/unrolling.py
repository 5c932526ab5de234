"""Unrolled iterations: unroll-and-jam of a loop around loops of each statement's own.

In a tile of a time-tiled stencil,

    for i:
        for j: for k: B[i, j, k] = A[i - 1, j, k] + A[i, j, k] + A[i + 1, j, k]
        for j: for k: A[i - 1, j, k] = ...

a plane of A is loaded three times, and what lies between is more than the first cache keeps.  With two iterations of i
unrolled, vectors of two planes of B are computed from four of A.  Where one of the iterations has not all statements,
at the ends of the loop over i, each goes by itself, in vectors that all have masks: few points are at the ends, and a
compiler takes long for long code.

Why that is right: see ``polytune.schedule.tiles.distribution``.
"""

from __future__ import annotations

from collections.abc import Iterator as Iteration
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import product
from typing import Any

from polytune.codegen.affine_range import coefficient, mentions, terms_of
from polytune.codegen.ast_conversion import add_constant, substitute
from polytune.codegen.loops import (
    Block,
    Compute,
    For,
    If,
    Node,
    Program,
    RegionCode,
    block,
    children_of,
    map_nodes,
    walk_nodes,
)
from polytune.codegen.registers.blocks import BlockNames, all_of, minimum
from polytune.codegen.storage import contiguous_axis
from polytune.codegen.transform import VECTOR_TYPES, LoopTransform, Target
from polytune.codegen.vectors.lane_access import ContiguousAxis
from polytune.codegen.vectors.rows import Vectors, row_loop_of, vectorise_row
from polytune.frontend.expression import Compare, Element, Expression, Iterator, Logical, walk
from polytune.frontend.scop import ArrayRole, Scop
from polytune.records import dataclass
from polytune.schedule.orders.summed import SUMMED
from polytune.schedule.plan_transform import ACCUMULATED, EARLY, EXPANDED

COUNTS = (4, 2)
"""The numbers of iterations that are unrolled, the most first."""

MOST_STREAMS = 16
"""The most rows of arrays that an innermost loop may run along.  With more, their addresses take all general
registers."""


def unroll_iterations(program: Program, scop: Scop, target: Target) -> Program:
    """Return the program with iterations unrolled, and vectors along rows.

    Args:
        program: a version.
        scop: its kernel.
        target: the processor, which says how many lanes a vector has.
    """
    regions = tuple(_in_region(region, scop, target) for region in program.regions)
    return replace(program, regions=regions)


UNROLLED = LoopTransform(
    name="unrolled",
    meaning="some iterations side by side, each statement in all of them before the next one",
    rewrite=unroll_iterations,
    needs=(VECTOR_TYPES,),
    never_after=(ACCUMULATED, SUMMED, EXPANDED, EARLY),
)


def _in_region(region: RegionCode, scop: Scop, target: Target) -> RegionCode:
    if region.unrolling is None:
        return region
    variable, most = region.unrolling
    arrays = frozenset(array.name for array in scop.arrays if array.role is ArrayRole.ARGUMENT)
    jam = _Jam(variable, most, arrays, contiguous_axis(scop, region.private), target)
    return replace(region, body=jam.visit(region.body))


@dataclass(frozen=True)
class _Part:
    """Loops ``around`` one over columns, for the iterations that fulfil some conditions."""

    conditions: tuple[Expression, ...]
    around: tuple[For, ...]
    columns: For

    def statements(self) -> tuple[Node, ...]:
        return children_of(self.columns.body)


@dataclass(frozen=True)
class _Jam:
    variable: str
    most: int
    arrays: frozenset[str]
    contiguous: ContiguousAxis
    target: Target

    def visit(self, node: Node) -> Node:
        """The node with every loop over the variable unrolled."""
        if isinstance(node, For) and node.variable == self.variable:
            return self.loop(node)
        return map_nodes(node, self.visit)

    def loop(self, loop: For) -> For:
        """A loop by some iterations at a time; as it is where its parts are nothing that vectors can do."""
        parts = _parts_of(loop.body, loop.variable)
        if parts is None or loop.step != 1:
            return loop
        counts = [count for count in COUNTS if count <= self.most]
        count = next((each for each in counts if _streams(parts, loop.variable, each) <= MOST_STREAMS), counts[-1])
        pieces = [self.part(part, loop, count) for part in parts]
        known = [piece for piece in pieces if piece is not None]
        return loop if len(known) < len(pieces) else replace(loop, step=count, body=block(*known))

    def part(self, part: _Part, loop: For, count: int) -> Node | None:
        """Return what a part does in some iterations, together where all of them have it; None where that is nothing
        that vectors can do."""
        index, alone = Iterator(loop.variable), Iterator(BlockNames().new("r"))
        together = self.nest(part, [add_constant(index, offset) for offset in range(count)], aligned=True)
        single = self.nest(part, [alone], aligned=False)
        if together is None or single is None:
            return None
        if part.conditions:
            single = If(all_of([substitute(each, {loop.variable: alone}) for each in part.conditions]), single)
        last = add_constant(index, count - 1)
        ends = [substitute(each, {loop.variable: last}) for each in part.conditions]
        everywhere = dict.fromkeys([Compare("<", last, loop.stop), *part.conditions, *ends])
        apart = For(alone.name, index, minimum(add_constant(index, count), loop.stop), 1, single)
        return If(all_of(list(everywhere)), together, apart)

    def nest(self, part: _Part, iterations: Sequence[Expression], *, aligned: bool) -> Node | None:
        """The loops of a part around its statements in some iterations."""
        copies = [
            substitute(statement, {self.variable: iteration})
            for iteration in iterations
            for statement in part.statements()
        ]
        row = row_loop_of(replace(part.columns, body=block(*copies)), self.arrays, self.contiguous)
        if row is None:
            return None
        vectors = Vectors.ALIGNED if aligned else Vectors.MASKED
        inside = vectorise_row(replace(row, independent=True), self.target, vectors)
        return reduce(lambda body, around: replace(around, body=body), reversed(part.around), inside)


def _parts_of(node: Node, variable: str) -> list[_Part] | None:
    """The body of a loop as a sequence of parts, whose loops are the same in all iterations in which they are at all;
    None where it is none."""
    found = list(_parts(node, variable, ()))
    return None if None in found or not found else [part for part in found if part is not None]


def _parts(node: Node, variable: str, conditions: tuple[Expression, ...]) -> Iteration[_Part | None]:
    match node:
        case Block(children):
            for child in children:
                yield from _parts(child, variable, conditions)
        case If(condition, then, None) if _holds_between(condition, variable):
            yield from _parts(then, variable, (*conditions, condition))
        case For():
            loops: list[For] = []
            inside: Node = node
            while isinstance(inside, For):
                loops.append(inside)
                inside = inside.body
            simple = all(isinstance(part, Block | Compute) for part in walk_nodes(inside))
            same = not any(mentions(bound, variable) for loop in loops for bound in (loop.start, loop.stop))
            yield _Part(conditions, tuple(loops[:-1]), loops[-1]) if simple and same else None
        case _:
            yield None


def _holds_between(condition: Expression, variable: str) -> bool:
    """Return whether a condition that holds for two values of a variable holds for all between them."""
    match condition:
        case Logical("and", operands):
            return all(_holds_between(operand, variable) for operand in operands)
        case Compare("<" | "<=" | ">" | ">=" | "==", left, right):
            return coefficient(left, variable) is not None and coefficient(right, variable) is not None
        case _:
            return not mentions(condition, variable)


def _streams(parts: Sequence[_Part], variable: str, count: int) -> int:
    """Return how many rows of arrays the innermost loop of some part runs along with so many iterations unrolled."""
    return max(len(_rows(part, variable, count)) for part in parts)


def _rows(part: _Part, variable: str, count: int) -> set[tuple[Any, ...]]:
    column = part.columns.variable
    elements = {each for statement in part.statements() for each in walk(statement) if isinstance(each, Element)}
    rows: set[tuple[Any, ...]] = set()
    for offset, element in product(range(count), elements):
        if mentions(element, column):
            moved = {variable: add_constant(Iterator(variable), offset)}
            fixed = [each for each in element.subscripts if not mentions(each, column)]
            places = (frozenset(terms_of(substitute(each, moved)).items()) for each in fixed)
            rows.add((element.array, *places))
    return rows
