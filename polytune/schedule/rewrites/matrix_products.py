"""Recognition of matrix products: statements all of whose instances together are ``C += f * (A @ B)``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import combinations

import islpy as isl

from polytune.frontend.expression import (
    Assign,
    Binary,
    Constant,
    Element,
    Expression,
    Iterator,
    ParameterValue,
    Unary,
    walk,
)
from polytune.frontend.polyhedral.boxes import hull_without_gaps, intervals_of
from polytune.frontend.scop import AccessKind, Scop, Statement
from polytune.records import dataclass

TYPES = ("float32", "float64", "complex64", "complex128")
"""The element types that libraries for linear algebra multiply matrices of."""


@dataclass(frozen=True)
class AxisRange:
    """The values of an iterator, ``low <= x < low + extent``, both expressions of parameters, where there are any.

    ``is_positive`` says whether none of them is below zero, ``has_extent`` whether the extent is zero or more whatever
    the parameters are.
    """

    iterator: str
    low: Expression
    extent: Expression
    is_positive: bool
    has_extent: bool


@dataclass(frozen=True)
class MatrixProduct:
    """A statement ``S[i, j, k]: C[.., i, .., j, ..] += f * A[.., i, .., k, ..] * B[.., k, .., j, ..]``, whose iterators
    may come in any order, as may the subscripts with them.

    Attributes:
        statement: the statement.
        target: the element that it updates.
        left, right: the element with the target's first iterator, and that with its second one.
        factors: what the products of these are multiplied by, the same for all instances.
        subtracts: whether they are taken away.
        rows, columns, inner: the ranges of i, j and k.
        is_whole: whether all elements in these rows and columns are updated, and not those of a triangle alone.
    """

    statement: Statement
    target: Element
    left: Element
    right: Element
    factors: tuple[Expression, ...]
    subtracts: bool
    rows: AxisRange
    columns: AxisRange
    inner: AxisRange
    is_whole: bool


def matrix_product(statement: Statement, scop: Scop) -> MatrixProduct | None:
    """The product that a statement is, or None.

    With ``D = { S[i, j, k] }`` its domain, D is a box, so that it has each of the products of a row and a column, or
    ``D = { S[i, j, k] : (i, j) in E, k in K }`` with an interval K and some elements E in each of the rows, and of the
    columns, between two, as a triangle has: so that all of these are read.  What is read beside C is no element of C,
    so that none of them needs another one.

    Args:
        statement: the statement.
        scop: its kernel.
    """
    if statement.is_opaque or statement.reduction is None or len(statement.iterators) != 3:
        return None
    (operation,) = statement.operations
    if not isinstance(operation, Assign) or operation.target.dtype not in TYPES:
        return None
    target, update = operation.target, _update(operation)
    if update is None or not _is_exact(statement, target):
        return None
    subtracts, factors = update
    matrices = [each for each in factors if iterators_in(each)]
    others = tuple(each for each in factors if not iterators_in(each))
    sides = _sides(target, matrices, statement.iterators)
    if sides is None or not all(map(_is_fixed, others)):
        return None
    first, second = subscripted_in_order(target)
    (inner,) = set(statement.iterators) - {first, second}
    whole = axis_ranges(statement, scop)
    axes = whole or _ranges_around(statement, statement.iterators.index(inner), scop)
    if axes is None:
        return None
    left, right = sides
    ranges = axes[first], axes[second], axes[inner]
    return MatrixProduct(statement, target, left, right, others, subtracts, *ranges, whole is not None)


def multiplies_matrices(scop: Scop) -> bool:
    """Return whether a statement, in whatever loops it is, adds up products of two elements along a loop, each of them
    with subscripts of the target's that the other one has not: so that each is used again for a row, or a column, of
    the target, and loops that keep it are many times faster than those of the source."""
    return any(_multiplies_matrices(statement) for statement in scop.statements)


def _multiplies_matrices(statement: Statement) -> bool:
    match statement.operations:
        case (Assign() as operation,) if statement.reduction is not None and not statement.is_opaque:
            update = _update(operation)
        case _:
            return False
    own = iterators_in(operation.target)
    factors = [iterators_in(each) for each in (update[1] if update else ()) if isinstance(each, Element)]
    return any(
        (one & other) - own and (one - other) & own and (other - one) & own for one, other in combinations(factors, 2)
    )


def _update(operation: Assign) -> tuple[bool, tuple[Expression, ...]] | None:
    """Return whether an assignment takes away from its target, and the factors of what it adds; None for others."""
    target = operation.target
    match operation.value:
        case Binary("+", left, right) if left == target:
            added, subtracts = right, False
        case Binary("+", left, right) if right == target:
            added, subtracts = left, False
        case Binary("-", left, right) if left == target:
            added, subtracts = right, True
        case _:
            return None
    factors, negative = _factors(added)
    return subtracts != negative, factors


def _factors(expression: Expression) -> tuple[tuple[Expression, ...], bool]:
    """The factors of a product, and whether it is negative."""
    match expression:
        case Binary("*", left, right):
            (before, first), (behind, second) = _factors(left), _factors(right)
            return (*before, *behind), first != second
        case Unary("-", operand):
            factors, negative = _factors(operand)
            return factors, not negative
        case _:
            return (expression,), False


def _is_exact(statement: Statement, target: Element) -> bool:
    """Return whether all accesses are known, and the target's array is read only where it is updated."""
    assert statement.reduction is not None
    accesses = statement.accesses
    return all(access.certain and access.kind is not AccessKind.MAY_WRITE for access in accesses) and all(
        access.array != target.array or access.reference in (statement.reduction.read, statement.reduction.write)
        for access in accesses
    )


def _sides(target: Element, matrices: Sequence[Expression], iterators: tuple[str, ...]) -> list[Element] | None:
    """The left and the right matrix of a product; None where two elements are not those of one."""
    if len(matrices) != 2 or not all(map(is_of_matrix, (target, *matrices))):
        return None
    first, second = subscripted_in_order(target)
    inner = set(iterators) - {first, second}
    found: list[Element] = []
    for outer in (first, second):
        own = [each for each in matrices if isinstance(each, Element) and iterators_in(each) == {outer, *inner}]
        if len(own) != 1 or own[0].dtype != target.dtype:
            return None
        found += own
    return found


def is_of_matrix(expression: Expression) -> bool:
    """Return whether an expression is an element of which two subscripts are iterators and a number each, and the
    others the same in all instances."""
    if not isinstance(expression, Element):
        return False
    moving = [each for each in expression.subscripts if iterators_in(each)]
    still = [each for each in expression.subscripts if not iterators_in(each)]
    return (
        len(moving) == len(iterators_in(expression)) == 2
        and all(map(_is_shifted_iterator, moving))
        and not any(isinstance(part, Element) for each in still for part in walk(each))
    )


def _is_shifted_iterator(subscript: Expression) -> bool:
    match subscript:
        case Iterator():
            return True
        case Binary("+" | "-", Iterator(), other) | Binary("+", other, Iterator()):
            return not any(isinstance(part, Element | Iterator) for part in walk(other))
        case _:
            return False


def _is_fixed(factor: Expression) -> bool:
    """Return whether a factor is computed of nothing but numbers and variables without subscripts."""
    return not any(isinstance(part, Element) and part.subscripts for part in walk(factor))


def iterators_in(expression: Expression) -> set[str]:
    """The iterators that an expression depends on."""
    return {part.name for part in walk(expression) if isinstance(part, Iterator)}


def subscripted_in_order(element: Element) -> tuple[str, ...]:
    """The iterators in the subscripts of an element, in the order of these."""
    return tuple(name for subscript in element.subscripts for name in sorted(iterators_in(subscript)))


def axis_ranges(statement: Statement, scop: Scop) -> dict[str, AxisRange] | None:
    """The range of each iterator of a statement whose domain is a box ``{ S[x] : low <= x < low + extent }`` with
    bounds that are affine functions of parameters; None for others."""
    domain = statement.domain.intersect_params(scop.context)
    intervals = intervals_of(domain)
    return None if intervals is None else _ranges(statement, domain, intervals, scop)


def _ranges_around(statement: Statement, inner: int, scop: Scop) -> dict[str, AxisRange] | None:
    """The range of each iterator of a statement whose domain is no box, but has the same interval along one of them
    everywhere, and no gaps along the others; None for others.

    Args:
        statement: the statement.
        inner: which of its iterators has the interval.
        scop: its kernel.
    """
    domain = statement.domain.intersect_params(scop.context)
    intervals = hull_without_gaps(domain, inner)
    return None if intervals is None else _ranges(statement, domain, intervals, scop)


def _ranges(
    statement: Statement, domain: isl.Set, intervals: Sequence[isl.Set], scop: Scop
) -> dict[str, AxisRange] | None:
    """The ranges of iterators with some intervals; None where they are no affine functions of parameters."""
    found: dict[str, AxisRange] = {}
    for iterator, interval in zip(statement.iterators, intervals, strict=True):
        least, greatest = interval.dim_min(0), interval.dim_max(0)
        one = isl.PwAff.val_on_domain(least.domain(), isl.Val.one(least.get_ctx()))
        size = greatest.sub(least).add(one)
        low, extent = (_expression(each.gist(domain.params()).coalesce()) for each in (least, size))
        if low is None or extent is None:
            low, extent = _least_of_bounds(interval.gist_params(domain.params()))
        if low is None or extent is None:
            return None
        is_positive = domain.params().is_subset(least.nonneg_set())
        everywhere = _affine(size.gist(domain.params()).coalesce())
        has_extent = everywhere is not None and scop.context.is_subset(isl.PwAff.from_aff(everywhere).nonneg_set())
        found[iterator] = AxisRange(iterator, low, extent, is_positive, has_extent)
    return found


def _least_of_bounds(interval: isl.Set) -> tuple[Expression | None, Expression | None]:
    """The first value of an interval, and how many it has where there are any, as the greatest of lower bounds and by
    the least of upper ones; None where these are no affine functions of parameters.

    Args:
        interval: ``[p] -> { [a] }``.
    """
    pieces = interval.coalesce().get_basic_sets()
    bounds: dict[int, list[Expression]] = {1: [], -1: []}
    for constraint in pieces[0].remove_redundancies().get_constraints() if len(pieces) == 1 else ():
        factor = constraint.get_coefficient_val(isl.dim_type.set, 0).to_python()
        if constraint.is_equality() or constraint.dim(isl.dim_type.div) or factor not in (0, 1, -1):
            return None, None
        if factor:
            # The constraint is factor * a + rest >= 0, so that a is bounded by -rest / factor.
            aff = constraint.get_bound(isl.dim_type.set, 0)
            bound = _expression(isl.PwAff.from_aff(aff.project_domain_on_params()))
            if bound is None:
                return None, None
            bounds[factor].append(bound)
    if not all(bounds.values()):
        return None, None
    low = reduce(lambda left, right: Binary("max", left, right, "int64"), bounds[1])
    last = reduce(lambda left, right: Binary("min", left, right, "int64"), bounds[-1])
    end = Binary("+", last, Constant(1, "int64"), "int64")
    return low, Binary("-", end, low, "int64")


def _affine(function: isl.PwAff) -> isl.Aff | None:
    """The one piece of a function without quotients; None for others."""
    pieces = function.get_pieces()
    if len(pieces) != 1:
        return None
    ((_, affine),) = pieces
    return None if affine.dim(isl.dim_type.div) or not affine.get_denominator_val().is_one() else affine


def _expression(function: isl.PwAff) -> Expression | None:
    """An affine function of parameters, ``[p] -> { [(v)] }``, as an expression; None where it has several pieces, or
    quotients."""
    affine = _affine(function)
    if affine is None:
        return None
    terms: list[Expression] = []
    for place in range(affine.dim(isl.dim_type.param)):
        factor = affine.get_coefficient_val(isl.dim_type.param, place).to_python()
        value: Expression = ParameterValue(str(affine.get_dim_name(isl.dim_type.param, place)))
        if factor not in (0, 1):
            value = Binary("*", Constant(factor, "int64"), value, "int64")
        if factor:
            terms.append(value)
    constant = affine.get_constant_val().to_python()
    if constant or not terms:
        terms.append(Constant(constant, "int64"))
    return reduce(lambda left, right: Binary("+", left, right, "int64"), terms)
