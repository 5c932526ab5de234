"""Common factors: ``x += f * a`` for many a as ``x += f * (a + ...)``, as libraries for matrix products do.

In ``C[i, j] += alpha * A[i, k] * B[k, j]`` that saves a multiplication by alpha for each k.  It changes how sums are
rounded, as another order of them does, and is done where that is allowed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from polytune.frontend.expression import Binary, Expression, Unary
from polytune.records import dataclass


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
