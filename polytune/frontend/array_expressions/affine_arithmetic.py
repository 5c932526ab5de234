"""Sums of affine expressions in a normal form, in which equal ones are mostly seen to be equal."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from polytune.frontend.expression import Binary, Constant, Expression, Unary, map_children

ZERO = Constant(0, "int64")
ONE = Constant(1, "int64")


def integer(value: int) -> Constant:
    return Constant(value, "int64")


def add(left: Expression, right: Expression, factor: int = 1) -> Expression:
    """``left + factor * right``.

    Args:
        left, right: of type int64.
        factor: how often the right one is added; below 0 it is subtracted.
    """
    terms, constant = coefficients(left)
    others, other = coefficients(right)
    for leaf, coefficient in others.items():
        terms[leaf] = terms.get(leaf, 0) + factor * coefficient
    return _expression(terms, constant + factor * other)


def product(step: Expression | int, subscript: Expression) -> Expression:
    """``step * subscript``, of type int64; affine where the step is a constant.

    Args:
        step: a constant, or any integer.
        subscript: of type int64.
    """
    if isinstance(step, int):
        return add(ZERO, subscript, step)
    return ZERO if subscript == ZERO else Binary("*", step, subscript, "int64")


def subtract(left: Expression, right: Expression) -> Expression:
    return add(left, right, -1)


def normal(expression: Expression) -> Expression:
    """The expression as a sum of leaves, each times a constant."""
    return _expression(*coefficients(expression))


def constant_of(expression: Expression) -> int | None:
    """The value of a constant expression."""
    return int(expression.value) if isinstance(expression, Constant) else None


@lru_cache(maxsize=4096)
def distance(left: Expression, right: Expression) -> int | None:
    """``left - right``, where it is the same number whatever the leaves are; None where it is not.

    The same few extents are compared for each operator of an array expression.

    Args:
        left, right: of type int64.
    """
    return constant_of(subtract(left, right))


def minimum(left: Expression, right: Expression) -> Expression:
    return _extremum("min", left, right)


def maximum(left: Expression, right: Expression) -> Expression:
    return _extremum("max", left, right)


def quotient(left: Expression, divisor: int) -> Expression:
    """``left // divisor`` for a positive divisor."""
    known = constant_of(left)
    if divisor == 1:
        return left
    return integer(known // divisor) if known is not None else Binary("//", left, integer(divisor), "int64")


def _extremum(operator: str, left: Expression, right: Expression) -> Expression:
    apart = distance(left, right)
    if apart is not None:
        return left if (apart <= 0) == (operator == "min") else right
    for side, other in ((left, right), (right, left)):
        match other:
            case Binary(same, first, second) if same == operator and side in (first, second):
                return other
    return Binary(operator, left, right, "int64")


def coefficients(expression: Expression) -> tuple[dict[Expression, int], int]:
    """The coefficient of each leaf, and what is added to them."""
    match expression:
        case Constant(value):
            return {}, int(value)
        case Unary("-", operand):
            terms, constant = coefficients(operand)
            return {leaf: -coefficient for leaf, coefficient in terms.items()}, -constant
        case Binary("+" | "-" as operator, left, right):
            sign = 1 if operator == "+" else -1
            terms, constant = coefficients(left)
            others, other = coefficients(right)
            for leaf, coefficient in others.items():
                terms[leaf] = terms.get(leaf, 0) + sign * coefficient
            return terms, constant + sign * other
        case Binary("*", left, right):
            sides = coefficients(left), coefficients(right)
            for (terms, constant), (others, factor) in (sides, sides[::-1]):
                if not others:
                    return {leaf: factor * each for leaf, each in terms.items()}, factor * constant
    return {map_children(expression, _normal_child): 1}, 0


def _normal_child(child: Expression) -> Expression:
    return normal(child) if getattr(child, "dtype", None) == "int64" else child


def _expression(terms: Mapping[Expression, int], constant: int) -> Expression:
    result: Expression | None = None
    # Positive terms come first, so that no sum begins with a sign where it need not.
    for leaf, coefficient in sorted(
        ((leaf, each) for leaf, each in terms.items() if each), key=lambda entry: entry[1] < 0
    ):
        size = abs(coefficient)
        part: Expression = leaf if size == 1 else Binary("*", integer(size), leaf, "int64")
        if result is None:
            result = part if coefficient > 0 else Unary("-", part, "int64")
        else:
            result = Binary("+" if coefficient > 0 else "-", result, part, "int64")
    if result is None:
        return integer(constant)
    if constant:
        result = Binary("+" if constant > 0 else "-", result, integer(abs(constant)), "int64")
    return result
