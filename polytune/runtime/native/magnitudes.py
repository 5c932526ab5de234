"""Comparisons of magnitudes, as ``abs(z) > 2.0``: by squares where these leave no doubt.

The ``hypot`` of C's library takes as long as some twenty additions.  With the rounded square ``s`` of a magnitude and
``t`` of the number that it is compared with, ``s < t * (1 - e)`` and ``s > t * (1 + e)`` say what ``hypot`` would,
where ``e`` is more than all that is rounded on either way.  What is left, numbers that are nearly equal, NaN, and
numbers with squares that are too large or too small, ``hypot`` decides.  So the outcome is the same for all numbers.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba.core import types

from polytune.runtime.native.kinds import BIT, cast

__all__ = ["RELATIONS_OF_MAGNITUDES", "compared_magnitude"]

RELATIONS_OF_MAGNITUDES = ("<", "<=", ">", ">=")

_DOUBT = {types.float32: 2.0**-18, types.float64: 2.0**-47}
"""The part of a square that is in doubt, 64 units in its last place: ``hypot`` is within two of its own, which are four
of the square's, and a square, its sum with another one, and what it is compared with are within six."""

_PLAIN = {types.float32: (1e-30, 1e30), types.float64: (1e-140, 1e140)}
"""The numbers with squares that are in range, and with magnitudes as large that lose nothing below the least number."""


def compared_magnitude(
    builder: ir.IRBuilder,
    relation: str,
    kind: types.Float,
    parts: tuple[ir.Value, ir.Value],
    bound: ir.Value,
    compared: Callable[[], ir.Value],
) -> ir.Value:
    """Write ``hypot(x, y) < bound`` or its like, as one bit.

    Args:
        builder: where the code goes.
        relation: one of ``RELATIONS_OF_MAGNITUDES``.
        kind: the type of the two numbers.
        parts: these.
        bound: a float64.
        compared: writes the comparison with what ``hypot`` gives, for what squares leave in doubt.
    """
    real, imaginary = (cast(builder, part, kind, types.float64) for part in parts)
    number = bound.type
    square = builder.fadd(builder.fmul(real, real), builder.fmul(imaginary, imaginary))
    limit = builder.fmul(bound, bound)
    is_less = builder.fcmp_ordered("<", square, builder.fmul(limit, number(1.0 - _DOUBT[kind])))
    is_more = builder.fcmp_ordered(">", square, builder.fmul(limit, number(1.0 + _DOUBT[kind])))
    least, most = map(number, _PLAIN[kind])
    is_plain = builder.and_(builder.fcmp_ordered(">=", bound, least), builder.fcmp_ordered("<=", bound, most))
    is_sure = builder.and_(is_plain, builder.or_(is_less, is_more))
    before = builder.block
    with builder.if_then(builder.not_(is_sure), likely=False):
        found = compared()
        doubtful = builder.block
    outcome = builder.phi(BIT)
    outcome.add_incoming(is_less if relation in ("<", "<=") else is_more, before)
    outcome.add_incoming(found, doubtful)
    return outcome
