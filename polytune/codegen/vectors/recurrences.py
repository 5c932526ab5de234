"""Linear recurrences: chains of dependent operations as scans of vectors.

In an innermost loop such as

    for j: A[i, j] = (A[i, j - 1] + B[j] + A[i, j + 1]) / 9.0

every iteration waits for the one before.  With d the constant by which the element just computed enters, and
r(j) = (B[j] + A[i, j + 1]) / 9.0 for all else, the elements are x(j) = r(j) + d x(j - 1).  They are made of sums of the
last 2, 4, 8, ... terms (recursive doubling; Kogge and Stone, 1973):

    s2(j) = r(j) + d r(j - 1),  s4(j) = s2(j) + d^2 s2(j - 2),  s8(j) = s4(j) + d^4 s4(j - 4),  ...

With n lanes in a vector, x(j) = sn(j) + d^n x(j - n): of what is computed for a vector, only its last product waits for
the vector before, and every step takes the lanes that are 1, 2, 4, ... below from this vector and the one before.  The
loop's first element needs x(j - 1): a vector of it in the highest lane, and zeros below, precedes all others.

Why that is right: no iteration runs before one that it uses.  Beside A[i, j - 1] an iteration may read elements of A
that the loop does not write, and those that it writes later: a vector loads them before it stores.  What lanes hold
that a mask leaves out is above all others, and reaches none of them.  Sums are reassociated and the constant is
multiplied out, so strict kernels have no scans.  |d| <= 1, and d^n is a normal number: no product is zero, infinite or
not a number where the source's are not, but for terms that are rounded off.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any

from polytune.codegen.affine_range import difference, mentions
from polytune.codegen.ast_conversion import add_constant, substitute
from polytune.codegen.loops import (
    Compute,
    For,
    If,
    Let,
    Node,
    Program,
    RegionCode,
    Store,
    block,
    is_innermost,
    map_nodes,
)
from polytune.codegen.registers.accumulation import is_vector
from polytune.codegen.registers.blocks import BlockNames, by_vectors
from polytune.codegen.storage import contiguous_axis
from polytune.codegen.transform import VECTOR_TYPES, LoopTransform, Target
from polytune.codegen.vectors.expressions import VECTOR, Lanes, Shifted, Splat, Variable
from polytune.codegen.vectors.lane_access import ContiguousAxis, in_lanes, lane_operands
from polytune.frontend.expression import Assign, Binary, Compare, Constant, Element, Expression, Iterator, Unary, walk
from polytune.frontend.scop import Scop
from polytune.records import dataclass
from polytune.schedule.candidate import REASSOCIATION
from polytune.schedule.orders.summed import SUMMED
from polytune.schedule.plan_transform import ACCUMULATED, EARLY, EXPANDED

SMALLEST = {"float32": 2.0**-126, "float64": sys.float_info.min}
"""The smallest normal number of the types whose recurrences are scanned."""


@dataclass(frozen=True)
class Recurrence:
    """A loop ``for v: x[v] = rest(v) + factor * x[v - 1]``.

    Attributes:
        loop: the loop.
        target: ``x[v]``.
        before: ``x[v - 1]``.
        rest: what does not depend on ``x[v - 1]``.
        factor: the constant.
    """

    loop: For
    target: Element
    before: Element
    rest: Expression
    factor: float


def scan_program(program: Program, scop: Scop, target: Target) -> Program:
    """The program with its linear recurrences as scans.

    Args:
        program: a version.
        scop: its kernel.
        target: the processor, which says how many lanes a vector has.
    """
    names = BlockNames()
    regions = tuple(_scan_region(region, scop, target, names) for region in program.regions)
    return replace(program, regions=regions)


SCANNED = LoopTransform(
    name="scanned",
    meaning="elements that need the one before computed as sums, a vector at a time",
    rewrite=scan_program,
    never_after=(ACCUMULATED, SUMMED, EXPANDED, EARLY),
    needs=(VECTOR_TYPES, REASSOCIATION),
)


def _scan_region(region: RegionCode, scop: Scop, target: Target, names: BlockNames) -> RegionCode:
    copies = region.private - region.local if region.kind != "serial" else frozenset()
    contiguous = contiguous_axis(scop, copies)

    def scanned(loop: For) -> Node:
        found = recurrence_of(loop, contiguous, target)
        return loop if found is None else _Scan(found, target.lanes(found.target.dtype), names).nest()

    def visit(node: Node) -> Node:
        return scanned(node) if isinstance(node, For) and is_innermost(node) else map_nodes(node, visit)

    return replace(region, body=visit(region.body))


def recurrence_of(loop: For, contiguous: ContiguousAxis, target: Target) -> Recurrence | None:
    """The recurrence that an innermost loop is; None where it is none that vectors can do.

    Args:
        loop: a loop without loops inside.
        contiguous: tells how arrays lie in memory.
        target: the registers that there are.
    """
    match loop.body:
        case Compute(operations=(Assign() as update,)) if loop.step == 1:
            pass
        case _:
            return None
    dtype = update.target.dtype
    if dtype not in SMALLEST or not mentions(update.target, loop.variable):
        return None
    if not is_vector(update.target, loop.variable, contiguous, dtype):
        return None
    before = substitute(update.target, {loop.variable: add_constant(Iterator(loop.variable), -1)})
    others = _without(update.value, before)
    if others is None or others.rest is None:
        return None
    if not SMALLEST[dtype] <= abs(others.factor) ** target.lanes(dtype) <= 1.0:
        return None
    if not is_vector(others.rest, loop.variable, contiguous, dtype):
        return None
    elements = [part for part in walk(others.rest) if isinstance(part, Element) and part.array == update.target.array]
    if not all(_is_old(element, update.target, contiguous) for element in elements):
        return None
    return Recurrence(loop, update.target, before, others.rest, others.factor)


def _is_old(element: Element, target: Element, contiguous: ContiguousAxis) -> bool:
    """Return whether no iteration reads, as ``element``, what an earlier one has written as ``target``.

    Each axis tells them apart by a constant, or tells nothing: where they differ along another axis they never meet;
    else the elements read are to lie where the loop has yet to come.
    """
    ahead = False
    for axis, (own, written) in enumerate(zip(element.subscripts, target.subscripts, strict=True)):
        distance = difference(own, written)
        if axis == contiguous(target):
            ahead = distance is not None and distance >= 0
        elif distance is None:
            return False
        elif distance != 0:
            return True
    return ahead


@dataclass(frozen=True)
class _Linear:
    """``rest + factor * x`` for some x; no rest stands for zero."""

    rest: Expression | None
    factor: float


def _without(node: Expression, element: Element) -> _Linear | None:
    """An expression as a linear function of an element, with constants multiplied out; None where it is none."""
    if _is_same(node, element):
        return _Linear(None, 1.0)
    if not any(isinstance(part, Element) and _is_same(part, element) for part in walk(node)):
        return _Linear(node, 0.0)
    match node:
        case Binary("+" | "-" as operator, left, right, dtype):
            one, other = _without(left, element), _without(right, element)
            if one is None or other is None:
                return None
            sign = 1.0 if operator == "+" else -1.0
            return _Linear(_sum(operator, one.rest, other.rest, dtype), one.factor + sign * other.factor)
        case Binary("*", Constant(value) as constant, operand, dtype) | Binary(
            "*", operand, Constant(value) as constant, dtype
        ):
            return _scaled(_without(operand, element), "*", constant, float(value), dtype)
        case Binary("/", operand, Constant(value) as constant, dtype) if value:
            return _scaled(_without(operand, element), "/", constant, 1.0 / float(value), dtype)
        case Unary("-", operand, dtype):
            inner = _without(operand, element)
            return None if inner is None else _Linear(_sum("-", None, inner.rest, dtype), -inner.factor)
        case _:
            return None


def _is_same(node: Expression, element: Element) -> bool:
    """Return whether an expression is the element, however its subscripts are written."""
    return (
        isinstance(node, Element)
        and node.array == element.array
        and all(difference(*pair) == 0 for pair in zip(node.subscripts, element.subscripts, strict=True))
    )


def _sum(operator: str, left: Expression | None, right: Expression | None, dtype: str) -> Expression | None:
    if right is None:
        return left
    if left is None:
        return right if operator == "+" else Unary("-", right, dtype)
    return Binary(operator, left, right, dtype)


def _scaled(inner: _Linear | None, operator: str, constant: Constant, factor: float, dtype: str) -> _Linear | None:
    if inner is None:
        return None
    rest = None if inner.rest is None else Binary(operator, inner.rest, constant, dtype)
    return _Linear(rest, inner.factor * factor)


@dataclass(frozen=True)
class _Scan:
    """The code of a recurrence."""

    recurrence: Recurrence
    lanes: int
    names: BlockNames = field(default_factory=BlockNames)

    @property
    def dtype(self) -> str:
        return self.recurrence.target.dtype

    def nest(self) -> Node:
        """The loop by vectors; nothing where it has no iterations, in which case nothing is before its first one."""
        loop = self.recurrence.loop
        first, last = Iterator(self.names.new("first_")), Iterator(self.names.new("last_"))
        before = Splat(substitute(self.recurrence.before, {loop.variable: first}), self.lanes)
        alone = Shifted(Splat(Constant(0, self.dtype), self.lanes), before, self.lanes - 1)
        carried = [Variable(self.names.new("s"), VECTOR) for _ in range(self.lanes.bit_length())]
        vectors = by_vectors(loop.variable, first, last, self.lanes, self.names, partial(self.vector, carried))
        starts = [Let(carried[0].name, alone), *(Let(variable.name, carried[0]) for variable in carried[1:])]
        work = If(Compare("<", first, last), block(*starts, *vectors))
        return block(Let(first.name, loop.start), Let(last.name, loop.stop), work)

    def vector(self, carried: Sequence[Variable], mask: str | None) -> Node:
        """The code of a vector.

        Args:
            carried: r, s2, s4, ... and x of the vector before, which become those of this one.
            mask: chooses the lanes that there are.
        """
        factor = self.recurrence.factor
        *sums_before, result_before = carried
        sums = [Variable(self.names.new("t"), VECTOR)]
        nodes: list[Node] = [Let(sums[0].name, self.value(self.recurrence.rest, mask))]

        def add(distance: int, below: Any) -> Variable:
            total = Variable(self.names.new("t"), VECTOR)
            power: Any = Splat(Constant(factor**distance, self.dtype), self.lanes)
            longest: Any = sums[-1]
            nodes.append(Let(total.name, Binary("+", longest, Binary("*", power, below, VECTOR), VECTOR)))
            return total

        for step, before in enumerate(sums_before):
            sums.append(add(2**step, Shifted(before, sums[-1], 2**step)))
        result = add(self.lanes, result_before)
        nodes.append(Store(self.recurrence.target, result, mask))
        nodes += [Let(old.name, new) for old, new in zip(carried, (*sums[:-1], result), strict=True)]
        return block(*nodes)

    def value(self, node: Expression, mask: str | None) -> Any:
        """An expression as a vector."""
        if not mentions(node, self.recurrence.loop.variable):
            return Splat(node, self.lanes)
        if isinstance(node, Element):
            return Lanes(node, self.lanes, mask)
        operands = lane_operands(node, self.dtype)
        assert operands is not None, "what is no vector is not scanned"
        return in_lanes(node, [self.value(part, mask) for part in operands])
