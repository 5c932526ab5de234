"""Subscripts that depend on data and are in range by how they are computed, as ``cell % n`` and ``code & 255``.

Tests that cannot fail take time in every iteration, and so does the choice between a subscript and one that counts from
the end.  A remainder of the axis' own extent needs one test, that the axis has elements at all, which no iteration has
an influence on.
"""

from __future__ import annotations

from polytune.frontend.array_expressions.affine_arithmetic import ZERO, normal
from polytune.frontend.expression import Binary, Cast, Compare, Constant, Expression, Extent, Select

__all__ = ["is_never_negative", "range_violations"]

_GREATEST = {"bool": 1, "uint8": 2**8 - 1, "uint16": 2**16 - 1, "uint32": 2**32 - 1}
"""The greatest number of each type that has none below 0 and fits into a subscript."""


def is_never_negative(subscript: Expression, extent: Expression) -> bool:
    """Return whether a subscript of int64 is proven to be 0 or more.

    Args:
        subscript: the number.
        extent: that of the axis, which is 0 or more.
    """
    match subscript:
        case Constant(value):
            return bool(value >= 0)
        case Extent():
            return True
        case Cast(operand):
            return operand.dtype in _GREATEST
        case Binary("%", _, divisor):  # of the divisor's sign; 0 where that is 0
            return divisor == extent or is_never_negative(divisor, extent) or _is(divisor, extent)
        case Binary("&", left, right):
            return any(isinstance(side, Constant) and side.value >= 0 for side in (left, right))
        case Binary("max", left, right):
            return is_never_negative(left, extent) or is_never_negative(right, extent)
        case Binary("min", left, right):
            return is_never_negative(left, extent) and is_never_negative(right, extent)
        case Binary("//" | ">>", left, Constant(value)):
            return value > 0 and is_never_negative(left, extent)
        case Select(_, then, otherwise):
            return is_never_negative(then, extent) and is_never_negative(otherwise, extent)
    return _is(subscript, extent)


def range_violations(subscript: Expression, least: Expression, extent: Expression) -> list[Expression]:
    """Return the conditions under which a subscript is out of range, without those that never hold.

    Args:
        subscript: the number.
        least: the least that is in range: 0, or minus the extent where subscripts count from either end.
        extent: that of the axis.
    """
    found: list[Expression] = []
    if not is_never_negative(subscript, extent):
        found.append(Compare("<", subscript, least))
    match subscript:
        case Binary("%", _, divisor) if _is(divisor, extent):
            return [*found, Compare("<=", extent, ZERO)]
    greatest = _greatest(subscript)
    if greatest is None or not isinstance(extent, Constant) or greatest >= extent.value:
        found.append(Compare(">=", subscript, extent))
    return found


def _is(left: Expression, right: Expression) -> bool:
    """Return whether two expressions are the same affine function."""
    return normal(left) == normal(right)


def _greatest(subscript: Expression) -> int | None:
    """The greatest number that a subscript may be, where the expression alone says so."""
    match subscript:
        case Constant(value):
            return int(value)
        case Cast(operand):
            return _GREATEST.get(operand.dtype)
        case Binary("%", _, Constant(value)) if value > 0:
            return int(value) - 1
        case Binary("&", left, right):
            sides = [int(side.value) for side in (left, right) if isinstance(side, Constant) and side.value >= 0]
            return min(sides, default=None)
        case Binary("min", left, right):
            bounds = [bound for bound in (_greatest(left), _greatest(right)) if bound is not None]
            return min(bounds, default=None)
    return None
