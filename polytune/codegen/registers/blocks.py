"""The parts of register tiles: loops by vectors, blocks, their common range, and the points around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any

from polytune.codegen.affine_range import Range, from_first, greatest, least, mentions
from polytune.codegen.ast_conversion import add_constant, integer, substitute
from polytune.codegen.loops import For, If, Let, Node, Store, block
from polytune.codegen.registers.accumulation import AccumulatedTerm, Accumulation
from polytune.codegen.vectors.expressions import Between, Total, Variable
from polytune.frontend.expression import Binary, Compare, Constant, Element, Expression, Logical, Unary
from polytune.frontend.expression import Iterator as Index
from polytune.frontend.generated_names import generated
from polytune.records import dataclass

FIRST, LAST = generated("first_0"), generated("last_0")
"""The common range of the innermost loop, over all points of a block."""

ROW, COLUMN = generated("row"), generated("column")
"""The loops over the points of a block, one by one."""


@dataclass(frozen=True)
class BlockShape:
    """The number of rows and columns (or vectors of columns) of a block."""

    rows: int
    columns: int


SHAPES = (
    BlockShape(6, 4),
    BlockShape(4, 4),
    BlockShape(4, 3),
    BlockShape(6, 2),
    BlockShape(3, 3),
    BlockShape(4, 2),
    BlockShape(2, 2),
    BlockShape(2, 1),
)
"""Shapes of blocks with rows, the ones that load least first."""

LINES = (BlockShape(1, 8), BlockShape(1, 4), BlockShape(1, 2), BlockShape(1, 1))
"""Shapes of blocks without."""


def largest_shape(has_rows: bool, registers: Callable[[BlockShape], int], available: int) -> BlockShape:
    """The first shape for which there are registers enough; the smallest where there are for none.

    Args:
        has_rows: whether blocks have several rows, or one.
        registers: how many vector registers a shape needs.
        available: how many the processor has.
    """
    shapes = SHAPES if has_rows else LINES
    return next((shape for shape in shapes if registers(shape) <= available), shapes[-1])


class BlockNames:
    """New names for variables of ours, numbered by kind."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def new(self, kind: str) -> str:
        number = self._next.get(kind, 0)
        self._next[kind] = number + 1
        return generated(f"{kind}{number}")


def maximum(*parts: Expression) -> Expression:
    """The greatest of index expressions."""
    return _extremum("max", parts)


def minimum(*parts: Expression) -> Expression:
    """The least of index expressions."""
    return _extremum("min", parts)


def _extremum(operator: str, parts: tuple[Expression, ...]) -> Expression:
    return reduce(lambda left, right: Binary(operator, left, right, "int64"), dict.fromkeys(parts))


def minus(left: Expression, right: Expression) -> Expression:
    """The difference of index expressions."""
    return Binary("-", left, right, "int64")


def after_whole(first: Expression, last: Expression, step: int) -> Expression:
    """Return where whole steps from ``first`` end that do not pass ``last``.

    Args:
        first, last: int64; the range begins at the first and ends before the last.
        step: how long a step is, above 0.
    """
    extent = maximum(integer(0), minus(last, first))
    whole = Binary("*", Binary("//", extent, integer(step), "int64"), integer(step), "int64")
    return Binary("+", first, whole, "int64")


def by_vectors(
    variable: str,
    start: Expression,
    stop: Expression,
    lanes: int,
    names: BlockNames,
    code: Callable[[str | None], Node],
) -> tuple[Node, Node]:
    """A loop by vectors of consecutive iterations: one over whole vectors, then one over what is left, with a mask.

    Args:
        variable, start, stop: the loop, by steps of one.
        lanes: how many iterations a vector has.
        names: gives the mask its name.
        code: what is done for a vector, given the name of the mask that chooses the lanes that there are; None for all.
    """
    whole = For(variable, start, add_constant(stop, 1 - lanes), lanes, code(None))
    mask = names.new("m")
    chosen = Let(mask, Between(integer(0), minus(stop, Index(variable)), lanes))
    return whole, For(variable, after_whole(start, stop, lanes), stop, lanes, block(chosen, code(mask)))


def add_total(target: Element, term: AccumulatedTerm, total: Variable) -> Store:
    """Add to an element what a vector of partial sums of a term comes to.

    Args:
        target: the element.
        term: what each iteration adds to it; a factor is multiplied by once.
        total: the vector with the partial sums.
    """
    result: Any = Total(total, target.dtype)
    if term.factor is not None:
        result = Binary("*", term.factor, result, target.dtype)
    return Store(target, Binary(term.operator, target, result, target.dtype))


ALWAYS = Constant(True, "bool")
"""The condition that always holds."""


@dataclass(frozen=True)
class PointRanges:
    """The points of a block: ranges of its rows (None where the accumulation has none) and columns, which may reach
    beyond the ends of the loops."""

    rows: Range | None
    columns: Range

    def ranges(self, accumulation: Accumulation) -> Mapping[str, Range]:
        own = {accumulation.columns.variable: self.columns}
        if accumulation.rows is not None and self.rows is not None:
            own[accumulation.rows.variable] = self.rows
        return own


def common_inner(accumulation: Accumulation, box: PointRanges) -> tuple[Expression, Expression] | None:
    """Bounds of the innermost loop between which every point of a block has all iterations; None where unknown."""
    ranges = box.ranges(accumulation)
    first, last = greatest(accumulation.inner.start, ranges), least(accumulation.inner.stop, ranges)
    return None if first is None or last is None else (first, last)


def is_ragged(accumulation: Accumulation) -> bool:
    """Return whether points of a block have different ranges of the innermost loop."""
    own = [loop.variable for loop in (accumulation.rows, accumulation.columns) if loop is not None]
    return mentions(accumulation.inner.start, *own) or mentions(accumulation.inner.stop, *own)


def guarded(
    accumulation: Accumulation, box: PointRanges, limit: Expression | None, vectors: Callable[..., Node]
) -> Node:
    """The work of a block: ``vectors(first, last)`` for the common range of the innermost loop, and point by point what
    is before and after it; everything point by point where elements may meet that must not.

    Args:
        accumulation: whose block.
        box: the points.
        limit: the columns of the block end here at the latest.
        vectors: makes the code for a range of the innermost loop.
    """
    bounds = common_inner(accumulation, box)
    assert bounds is not None, "accumulations whose blocks have no common range are not tiled"
    inner = accumulation.inner
    separations = [_separations(accumulation, box, bounds, pair) for pair in accumulation.rivals]
    if not all(separations):
        return points(accumulation, box, None, None, limit)
    apart = [any_of(conditions) for conditions in separations if ALWAYS not in conditions]
    if not is_ragged(accumulation):
        whole = vectors(*bounds)
        return If(all_of(apart), whole, points(accumulation, box, None, None, limit)) if apart else whole
    first, last = Index(FIRST), Index(LAST)
    parts: list[Node] = [Let(FIRST, bounds[0]), Let(LAST, maximum(first, bounds[1]))]
    if apart:
        # With an empty range at the end of all, everything is before it.
        end = greatest(inner.stop, box.ranges(accumulation))
        assert end is not None
        parts += [If(Unary("not", all_of(apart), "bool"), block(Let(FIRST, maximum(first, end)), Let(LAST, first)))]
    if apart or mentions(inner.start, *box.ranges(accumulation)):
        parts.append(points(accumulation, box, None, first, limit))
    parts.append(If(Compare("<", first, last), vectors(first, last)))
    if mentions(inner.stop, *box.ranges(accumulation)):
        parts.append(points(accumulation, box, last, None, limit))
    return block(*parts)


def may_be_tiled(accumulation: Accumulation) -> bool:
    """Return whether the common range of a block's points, and which elements meet in it, can be told."""
    some = from_first(integer(0), 2)
    box = PointRanges(None if accumulation.rows is None else some, some)
    bounds = common_inner(accumulation, box)
    if bounds is None or greatest(accumulation.inner.stop, box.ranges(accumulation)) is None:
        return False
    if accumulation.rows is not None:
        around = {accumulation.rows.variable: some}
        columns = accumulation.columns
        extremes = [find(bound, around) for find in (least, greatest) for bound in (columns.start, columns.stop)]
        if None in extremes:
            return False
    return all(_separations(accumulation, box, bounds, pair) for pair in accumulation.rivals)


def all_of(conditions: Sequence[Expression]) -> Expression:
    """Return the condition that all of one or more hold."""
    return conditions[0] if len(conditions) == 1 else Logical("and", tuple(conditions))


def any_of(conditions: Sequence[Expression]) -> Expression:
    """Return the condition that one of one or more holds."""
    return conditions[0] if len(conditions) == 1 else Logical("or", tuple(conditions))


def _separations(
    accumulation: Accumulation, box: PointRanges, inner: tuple[Expression, Expression], pair: tuple[Element, Element]
) -> list[Expression]:
    """Conditions each of which is enough for no two points of a block to have one element as the one and the other of a
    pair: the elements lie apart along some axis.  None where they may meet whatever the sizes are."""
    ranges = dict(box.ranges(accumulation))
    ranges[accumulation.inner.variable] = Range(inner[0], add_constant(inner[1], -1))
    conditions: list[Expression] = []
    for one, other in zip(pair[0].subscripts, pair[1].subscripts, strict=True):
        for low, high in ((one, other), (other, one)):
            below, above = greatest(low, ranges), least(high, ranges)
            if below is None or above is None:
                continue
            (base, lower), (other_base, upper) = _parts(below), _parts(above)
            if base != other_base:
                conditions.append(Compare("<", below, above))
            elif lower < upper:
                conditions.append(ALWAYS)
    return conditions


def _parts(expression: Expression) -> tuple[Expression, int]:
    """An index expression as the sum of one without a constant and a constant."""
    match expression:
        case Constant(value):
            return integer(0), int(value)
        case Binary("+", base, Constant(value)):
            return base, int(value)
        case Binary("-", base, Constant(value)):
            return base, -int(value)
        case _:
            return expression, 0


def points(
    accumulation: Accumulation,
    box: PointRanges,
    first: Expression | None,
    last: Expression | None,
    limit: Expression | None,
) -> Node:
    """The points of a block one by one, those of a part of the innermost loop.

    Args:
        accumulation: the nest.
        box: the rows and columns of the block.
        first: where the part begins; None for the beginning of each point's loop.
        last: before what it ends; None for the end of each point's loop.
        limit: before which column the block ends; None where it has all of its columns.
    """
    inner, columns, rows = accumulation.inner, accumulation.columns, accumulation.rows
    values: dict[str, Expression] = {columns.variable: Index(COLUMN)}
    if rows is not None:
        values[rows.variable] = Index(ROW)
    start, stop = substitute(inner.start, values), substitute(inner.stop, values)
    start = start if first is None else maximum(start, first)
    stop = stop if last is None else minimum(stop, last)
    end = minimum(substitute(columns.stop, values), add_constant(box.columns.last, 1), *([limit] if limit else []))
    across = partial(For, COLUMN, maximum(substitute(columns.start, values), box.columns.first), end, 1)
    along = partial(For, inner.variable, start, stop, 1)
    work = block(*(substitute(statement, values) for statement in accumulation.statements))
    crossed = mentions(inner.start, columns.variable) or mentions(inner.stop, columns.variable)
    node = across(along(work)) if accumulation.sums or crossed else along(across(work))
    if rows is None or box.rows is None:
        return node
    return For(ROW, box.rows.first, minimum(rows.stop, add_constant(box.rows.last, 1)), 1, node)
