"""Remainders of what is less than a period away from ``0 .. n - 1``, as neighbours on a ring are: ``(i + 1) % n``.

A remainder by a size is no affine function, and dividing takes as long as some ten additions.  Where the loops around
say that ``-n <= e < 2 * n``, ``e % n`` is ``e``, ``e + n`` or ``e - n``: a choice that is affine, so that a subscript
of it is exact and needs no test.
"""

from __future__ import annotations

from polytune.frontend import promotion
from polytune.frontend.array_expressions.affine_arithmetic import ZERO, add, coefficients
from polytune.frontend.array_expressions.sizes import always
from polytune.frontend.expression import Compare, Counter, Expression, Iterator, Select, walk
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.polyhedral.affine import as_index
from polytune.frontend.promotion import Value

__all__ = ["remainder"]


def remainder(frame: Frame, number: Value, size: Value) -> Value | None:
    """``number % size`` as a choice between three sums at most, where the number is proven to be that near; else None.

    Args:
        frame: where it stands.
        number: what is divided.
        size: the divisor; nothing is done for a constant, by which remainders are exact.
    """
    is_affine = frame.kernel.affine.is_function
    if (number.dtype, size.dtype) != ("int64", "int64") or size.constant is not None:
        return None
    if not (is_affine(number.expression) and is_affine(size.expression)):
        return None
    of, by = as_index(number.expression), as_index(size.expression)
    if not _may_be_near(of, by) or not always(frame, Compare(">", by, ZERO)):
        return None
    is_below = not always(frame, Compare(">=", of, ZERO))
    is_above = not always(frame, Compare("<", of, by))
    if is_below and not always(frame, Compare(">=", of, add(ZERO, by, -1))):
        return None
    if is_above and not always(frame, Compare("<", of, add(by, by))):
        return None
    found = number
    if is_above:
        found = _chosen(promotion.compare(">=", number, size), promotion.binary("-", number, size), found)
    if is_below:
        found = _chosen(
            promotion.compare("<", number, promotion.constant(0)), promotion.binary("+", number, size), found
        )
    return found


def _may_be_near(number: Expression, size: Expression) -> bool:
    """Return whether isl should be asked: the number varies with loops, each of which it follows one to one."""
    if any(isinstance(part, Iterator | Counter) for part in walk(size)):
        return False
    terms, _ = coefficients(number)
    along = [factor for leaf, factor in terms.items() if isinstance(leaf, Iterator | Counter)]
    return bool(along) and all(abs(factor) == 1 for factor in along)


def _chosen(condition: Value, then: Value, otherwise: Value) -> Value:
    choice = Select(condition.expression, then.expression, otherwise.expression, "int64")
    return Value(choice, then.weak and otherwise.weak)
