"""Accumulations: nests whose statements update elements that do not depend on the innermost loop.

Their common factors are taken out of the sums, ``x += f * a`` for many a as ``x += f * (a + ...)``, as libraries for
matrix products do.  In ``C[i, j] += alpha * A[i, k] * B[k, j]`` that saves a multiplication by alpha for each k.  It
changes how sums are rounded, as another order of them does, and is done where that is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from polytune.codegen.affine_range import coefficient, mentions
from polytune.codegen.loops import Compute, For, Node, children_of
from polytune.codegen.transform import BYTES
from polytune.codegen.vectors.lane_access import (
    ContiguousAxis,
    is_consecutive,
    is_near,
    lane_operands,
    may_be_loaded,
    pays,
)
from polytune.frontend.expression import Assign, Binary, Element, Expression, Unary, walk
from polytune.records import dataclass

Fits = Callable[[Element, str, ContiguousAxis], bool]
"""A test whether the elements along a loop variable can be the lanes of a vector."""


@dataclass(frozen=True)
class AccumulatedTerm:
    """The term that an update adds to its target: ``target = target operator factor * value``; without a factor, the
    value."""

    operator: str
    value: Expression
    factor: Expression | None = None


@dataclass(frozen=True)
class Accumulation:
    """A nest ``for rows: for columns: for inner: updates`` in which every target is the same for all of ``inner``.

    Attributes:
        rows: a loop whose iterations update different elements; None where there is none.
        columns: such a loop, the next one inside.
        inner: the innermost loop.
        updates: the statements, as assignments of one type.
        dtype: that type.
        sums: lanes are consecutive ``inner``, and the statements add to their targets; else lanes are consecutive
            ``columns``.
        rivals: pairs of an element that is updated and another element of the same array that is accessed: where both
            may be the same, nothing may be kept in registers.
        terms: of the updates that may be added up apart from their targets what they add; of those that have to be done
            as they are, None.
        contiguous: tells how arrays lie in memory.
    """

    rows: For | None
    columns: For
    inner: For
    statements: tuple[Compute, ...]
    dtype: str
    sums: bool
    rivals: tuple[tuple[Element, Element], ...]
    terms: tuple[AccumulatedTerm | None, ...]
    contiguous: ContiguousAxis

    @property
    def updates(self) -> tuple[Assign, ...]:
        return tuple(_update(statement) for statement in self.statements)

    @property
    def targets(self) -> tuple[Element, ...]:
        """Return what is updated, each element once."""
        return tuple(dict.fromkeys(update.target for update in self.updates))


def accumulation_of(nest: Sequence[For], contiguous: ContiguousAxis, *, reassociate: bool) -> Accumulation | None:
    """The accumulation that the last loops of a perfect nest are; None where they are none that vectors can do.

    Lanes lie near one another where that can be; else each may take a load of its own, if that pays.

    Args:
        nest: loops of one permutable band, two or more, the innermost last.
        contiguous: tells how arrays lie in memory.
        reassociate: whether sums may be added up in another order.
    """
    ways = (_with_lanes(nest, contiguous, reassociate, fits) for fits in (is_near, may_be_loaded))
    return next((found for found in ways if found is not None), None)


def _with_lanes(nest: Sequence[For], contiguous: ContiguousAxis, reassociate: bool, fits: Fits) -> Accumulation | None:
    """The accumulation that loops are if what fits is loaded as lanes."""
    *outer, columns, inner = nest
    statements = _statements(inner.body)
    if statements is None:
        return None
    updates = [_update(statement) for statement in statements]
    if not _accumulates(updates, inner):
        return None
    dtype = updates[0].target.dtype
    rows = outer[-1] if outer and _rows_are_apart(updates, outer[-1], columns) else None
    row = None if rows is None else rows.variable
    terms = [term_of(update, updates, [loop.variable for loop in nest[-3:]]) for update in updates]
    in_columns = all(
        mentions(update.target, columns.variable) and _is_in_lanes(update, columns.variable, contiguous, fits)
        for update in updates
    )
    if in_columns and pays(updates, columns.variable, contiguous, dtype, row):
        own = _factored(updates, terms) if reassociate else [None] * len(terms)
        return Accumulation(rows, columns, inner, statements, dtype, False, _rivals(updates), tuple(own), contiguous)
    in_sums = reassociate and all(
        term is not None
        and coordinate(update.target, columns.variable)
        and is_vector(term.value, inner.variable, contiguous, dtype, fits)
        for update, term in zip(updates, terms, strict=True)
    )
    if in_sums and pays(updates, inner.variable, contiguous, dtype, row):
        return Accumulation(rows, columns, inner, statements, dtype, True, _rivals(updates), tuple(terms), contiguous)
    return None


def _is_in_lanes(update: Assign, variable: str, contiguous: ContiguousAxis, fits: Fits) -> bool:
    """Return whether values of an update for consecutive values of a loop variable are computed and stored as a
    vector."""
    dtype = update.target.dtype
    return is_vector(update.target, variable, contiguous, dtype, is_near) and is_vector(
        update.value, variable, contiguous, dtype, fits
    )


def _factored(updates: Sequence[Assign], terms: Sequence[AccumulatedTerm | None]) -> list[AccumulatedTerm | None]:
    """The terms with a factor, which are added up apart, where all updates are sums of targets of their own.

    Where nothing can be taken out of a sum, it is begun with the target's value: that is one addition less.
    """
    separate = None not in terms and len({update.target for update in updates}) == len(updates)
    return [term if separate and term is not None and term.factor is not None else None for term in terms]


def _rows_are_apart(updates: Sequence[Assign], rows: For, columns: For) -> bool:
    """Return whether what is updated in one row is updated in no other."""
    return all(differs(update.target, rows.variable, columns.variable) for update in updates)


def term_of(update: Assign, updates: Sequence[Assign], loops: Sequence[str]) -> AccumulatedTerm | None:
    """Return what an update ``x = x + e``, ``x = e + x`` or ``x = x - e`` adds, if e reads no target of any update;
    else None.

    Args:
        update: the assignment.
        updates: all updates of the loop, this one among them.
        loops: the variables that a factor must not vary with for it to be multiplied by at the end alone.
    """
    match update.value:
        case Binary("+" | "-" as operator, left, value) if left == update.target:
            pass
        case Binary("+" as operator, value, right) if right == update.target:
            pass
        case _:
            return None
    if any(part in [other.target for other in updates] for part in walk(value)):
        return None
    written = {other.target.array for other in updates}

    def is_fixed(part: Expression) -> bool:
        elements = [leaf for leaf in walk(part) if isinstance(leaf, Element)]
        return not mentions(part, *loops) and not any(element.array in written for element in elements)

    found = scaled(value, is_fixed) if update.target.dtype.startswith("float") else None
    return AccumulatedTerm(operator, value) if found is None else AccumulatedTerm(operator, found.value, found.factor)


def _statements(body: Node) -> tuple[Compute, ...] | None:
    """The statements of an innermost loop, if they are assignments and nothing else is there."""
    parts = children_of(body)
    found = tuple(part for part in parts if isinstance(part, Compute))
    simple = all(len(part.operations) == 1 and isinstance(part.operations[0], Assign) for part in found)
    return found if found and simple and len(found) == len(parts) else None


def _accumulates(updates: Sequence[Assign], inner: For) -> bool:
    """Return whether each assignment updates, with a value of the one type, an element that is the same in all
    iterations of a loop."""
    targets = [update.target for update in updates]
    if targets[0].dtype not in BYTES or any(target.dtype != targets[0].dtype for target in targets):
        return False
    if any(mentions(subscript, inner.variable) for target in targets for subscript in target.subscripts):
        return False
    return not any(_begins_anew(target, updates) for target in targets)


def _begins_anew(target: Element, updates: Sequence[Assign]) -> bool:
    """Return whether each iteration writes an element before it reads it: then nothing is accumulated there, and nobody
    may have written it before."""
    first = next(update for update in updates if update.target == target or target in walk(update.value))
    return target not in walk(first.value)


def assignments_of(body: Node) -> tuple[Assign, ...] | None:
    """The statements of an innermost loop as assignments, if that is what they are and nothing else is there."""
    statements = _statements(body)
    return None if statements is None else tuple(_update(statement) for statement in statements)


def _update(statement: Compute) -> Assign:
    (operation,) = statement.operations
    assert isinstance(operation, Assign)
    return operation


def coordinate(element: Element, variable: str) -> list[int]:
    """The subscripts that move with a loop variable, if each moves by a constant."""
    own = [axis for axis, subscript in enumerate(element.subscripts) if mentions(subscript, variable)]
    return own if all(coefficient(element.subscripts[axis], variable) for axis in own) else []


def differs(element: Element, first: str, second: str) -> bool:
    """Return whether an element is another one for every pair of values of two loop variables: each has a subscript
    that moves with it and not with the other.

    Args:
        element: the element, with subscripts in both variables.
        first, second: the variables of the loops.
    """
    axes = coordinate(element, first), coordinate(element, second)
    return all(bool(set(own) - set(other)) for own, other in (axes, axes[::-1]))


def is_vector(
    node: Expression, variable: str, contiguous: ContiguousAxis, dtype: str, fits: Fits = is_consecutive
) -> bool:
    """Return whether the values of an expression for consecutive values of a loop variable can be computed as a vector.

    Args:
        node: the expression.
        variable: the loop's.
        contiguous: tells how arrays lie in memory.
        dtype: the type that everything has to be of.
        fits: whether an element's values can be lanes: by default if they lie next to one another.  An element that
            does not vary is one value in all lanes.
    """
    if not mentions(node, variable):
        return getattr(node, "dtype", None) == dtype
    if isinstance(node, Element):
        return node.dtype == dtype and fits(node, variable, contiguous)
    operands = lane_operands(node, dtype)
    return operands is not None and all(is_vector(part, variable, contiguous, dtype, fits) for part in operands)


def _rivals(updates: Sequence[Assign]) -> tuple[tuple[Element, Element], ...]:
    """Every target with every other element of its array that the statements name."""
    named = [part for update in updates for part in walk(update) if isinstance(part, Element)]
    targets = dict.fromkeys(update.target for update in updates)
    pairs = [(target, other) for target in targets for other in named if other.array == target.array]
    return tuple(dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]))


@dataclass(frozen=True)
class Scaled:
    """``factor * value`` for an expression; the factor is of everything that does not change."""

    factor: Expression
    value: Expression


def scaled(expression: Expression, is_fixed: Callable[[Expression], bool]) -> Scaled | None:
    """The expression with what does not change taken out of a product, or of all products of a sum; None where that is
    nothing, or everything.

    Args:
        expression: of floating-point numbers.
        is_fixed: whether a part of it has the same value wherever the expression is computed.
    """
    found: Scaled | None = None
    rest = expression
    for factor in _factors(expression):
        smaller = _without(rest, factor) if is_fixed(factor) else None
        if smaller is not None:
            taken = factor if found is None else Binary("*", found.factor, factor, expression.dtype)
            found, rest = Scaled(taken, smaller), smaller
    return found


def _factors(expression: Expression) -> tuple[Expression, ...]:
    """Return what the first product of an expression is made of."""
    match expression:
        case Binary("*", left, right):
            return (*_factors(left), *_factors(right))
        case Binary("+" | "-", left, _):
            return _factors(left)
        case Unary("-", operand):
            return _factors(operand)
        case _:
            return (expression,)


def _without(expression: Expression, factor: Expression) -> Expression | None:
    """An expression of which the given one is the product with a factor; None where the factor is not in all products,
    or is one of them itself."""
    match expression:
        case Binary("*", left, right):
            if left == factor:
                return right
            if right == factor:
                return left
            smaller = _without(left, factor)
            if smaller is not None:
                return replace(expression, left=smaller)
            smaller = _without(right, factor)
            return None if smaller is None else replace(expression, right=smaller)
        case Binary("+" | "-", left, right):
            sides = _without(left, factor), _without(right, factor)
            if sides[0] is None or sides[1] is None:
                return None
            return replace(expression, left=sides[0], right=sides[1])
        case Unary("-", operand):
            smaller = _without(operand, factor)
            return None if smaller is None else replace(expression, operand=smaller)
        case _:
            return None
