"""Conditions on integers that hold where a subscript is evaluated, and what follows from them for it.

In ``while j > 0 and window[j - 1] > value`` no subscript is below 0, in ``if 0 <= k < len(A): y = A[k]`` none is out of
range: a test would never fail, and nothing counts from the end.

Integers wrap round where they are too large for their type, so that nothing is concluded for a number that is computed
otherwise than the one in the condition, but for ``j - 1`` where j is known to be 1 or more, and its like.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from polytune.frontend.array_expressions.affine_arithmetic import coefficients, normal
from polytune.frontend.expression import Compare, Constant, Element, Expression, Logical, Unary, walk

__all__ = ["holding", "is_below", "is_not_negative", "unchanged"]

_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}


def holding(condition: Expression, outcome: bool) -> Iterator[Compare]:
    """Give the comparisons of integers that hold where a condition has an outcome.

    Args:
        condition: any condition.
        outcome: what it is.
    """
    match condition:
        case Unary("not", operand):
            yield from holding(operand, not outcome)
        case Logical(operator, operands) if (operator == "and") == outcome:
            for operand in operands:
                yield from holding(operand, outcome)
        case Compare(operator, left, right) if left.dtype == right.dtype == "int64":
            operator = operator if outcome else _NEGATED[operator]
            if operator in _MIRRORED:
                yield Compare(operator, left, right)
                yield Compare(_MIRRORED[operator], right, left)


def unchanged(conditions: Collection[Compare], written: Collection[str]) -> tuple[Compare, ...]:
    """Return the conditions that still hold when arrays and variables have been written."""
    return tuple(
        each
        for each in conditions
        if not any(isinstance(part, Element) and part.array in written for part in walk(each))
    )


def is_not_negative(subscript: Expression, conditions: Collection[Compare]) -> bool:
    """Return whether conditions say that a number is 0 or more."""
    if subscript.dtype != "int64":
        return False
    terms, constant = coefficients(subscript)
    for each in conditions:
        match each:
            case Compare(">" | ">=" | "==" as operator, left, Constant(value)):
                least = int(value) + (operator == ">")
                is_same = normal(left) == normal(subscript)
                if is_same and least >= 0:
                    return True
                if terms == {left: 1} and constant <= 0 and least + constant >= 0:
                    return True
    return False


def is_below(subscript: Expression, extent: Expression, conditions: Collection[Compare]) -> bool:
    """Return whether conditions say that a number is less than an extent.

    Args:
        subscript: the number.
        extent: that of its axis.
        conditions: comparisons that hold.
    """
    return subscript.dtype == "int64" and any(
        each.operator == "<" and normal(each.left) == normal(subscript) and normal(each.right) == normal(extent)
        for each in conditions
    )
