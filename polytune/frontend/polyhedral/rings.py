"""Subscripts on rings: ``(i + shift[k]) % n``, as lattices and rolls have them.

Which element that is depends on data.  But for one shift different i in ``0 .. n - 1`` lead to different elements, and
the shift is the same wherever k is: what matters for dependences is i.
"""

from __future__ import annotations

from collections.abc import Mapping

from polytune.frontend.array_expressions.affine_arithmetic import ZERO, add, coefficients, normal
from polytune.frontend.expression import (
    Binary,
    Cast,
    Compare,
    Element,
    Expression,
    Logical,
    counted_from_either_end,
)
from polytune.frontend.polyhedral.affine import INTEGER_TYPES, AffineBuilder
from polytune.records import dataclass

__all__ = ["RingSubscript", "on_ring"]


@dataclass(frozen=True)
class RingSubscript:
    """A subscript ``(place + shifts) % size``.

    Attributes:
        place: affine.
        shifts: elements of arrays at affine subscripts, and how often each is added.
        size: affine.
    """

    place: Expression
    shifts: Mapping[Element, int]
    size: Expression

    @property
    def is_within(self) -> Expression:
        """``0 <= place < size``."""
        return Logical("and", (Compare(">=", self.place, ZERO), Compare("<", self.place, self.size)))


def on_ring(affine: AffineBuilder, subscript: Expression) -> RingSubscript | None:
    """A subscript on a ring with shifts that depend on data; None for any other one."""
    match counted_from_either_end(subscript) or subscript:
        case Binary("%", dividend, divisor, "int64") if affine.is_function(divisor):
            pass
        case _:
            return None
    place, shifts = dividend, dict[Element, int]()
    for leaf, factor in coefficients(dividend)[0].items():
        if affine.is_function(leaf):
            continue
        shift = leaf.operand if isinstance(leaf, Cast) else leaf
        if not isinstance(shift, Element) or not shift.subscripts or shift.dtype not in INTEGER_TYPES:
            return None
        if shift in shifts or not all(map(affine.is_function, shift.subscripts)):
            return None
        shifts[shift] = factor
        place = add(place, leaf, -factor)
    if not shifts or not affine.is_function(place):
        return None
    return RingSubscript(place, shifts, normal(divisor))
