"""The elements of an array in the order of their subscripts, in another shape.

Dimensions are taken together as far as they have to be: of ``(b, h, w)`` in the shape ``(b, h // 2, 2, w)`` the first
and the last dimension stay, and ``h`` is two of the others.  So subscripts are affine where one dimension becomes
several, and divisions are left where several become one.
"""

from __future__ import annotations

import math
from collections import Counter as Multiset
from collections.abc import Sequence

from polytune.frontend.array_expressions.affine_arithmetic import ZERO, add, constant_of, normal, quotient
from polytune.frontend.array_expressions.values import ArrayValue, Shape, Subscripts
from polytune.frontend.expression import Argument, Binary, Constant, Expression, ParameterValue
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.promotion import Value

__all__ = ["divided", "in_shape", "product_of"]

_Group = tuple[range, range]
"""Dimensions of an array, and those of the other shape that have the same elements."""


def in_shape(frame: Frame, array: ArrayValue, shape: Shape) -> ArrayValue:
    """The elements of an array in the order of their subscripts, in another shape of as many, not computed yet.

    Args:
        frame: where it stands.
        array: the array.
        shape: the extents of the result.
    """
    groups = _groups(frame, array.shape, shape)

    def at(subscripts: Subscripts) -> Value:
        places: list[Expression] = []
        for old, new in groups:
            places += _places([array.shape[axis] for axis in old], [(subscripts[axis], shape[axis]) for axis in new])
        return array.at(places)

    return ArrayValue(shape, array.dtype, at)


def _places(sizes: Sequence[Expression], subscripts: Sequence[tuple[Expression, Expression]]) -> list[Expression]:
    """The subscripts along some dimensions of an array.

    Args:
        sizes: the extents of these.
        subscripts: those along the dimensions of the other shape, each with its extent.
    """
    position: Expression = ZERO
    for subscript, size in subscripts:
        position = add(product_of(position, size), subscript)
    places: list[Expression] = []
    for size in reversed(sizes[1:]):
        places.append(divided("%", position, size))
        position = divided("//", position, size)
    return [position, *reversed(places)] if sizes else []


def _groups(frame: Frame, old: Sequence[Expression], new: Sequence[Expression]) -> list[_Group]:
    """The smallest groups of neighbouring dimensions that have as many elements in both shapes, in their order.

    Shapes have as many elements altogether, which calls are checked for.  So where a group has no more elements than
    its counterpart, as ``(h // 2, 2)`` of ``h``, and all other groups have as many, it has as many, too.
    """
    whole = [(range(len(old)), range(len(new)))]
    found: list[_Group] = []
    is_exact = True
    first, second = 0, 0
    while first < len(old) or second < len(new):
        group = _next_group(frame, old[first:], new[second:])
        if group is None:
            if not is_exact:
                return whole
            return [*found, (range(first, len(old)), range(second, len(new)))]
        taken, made, is_equal = group
        is_exact = is_exact and is_equal
        found.append((range(first, first + taken), range(second, second + made)))
        first, second = first + taken, second + made
    return found


def _next_group(frame: Frame, old: Sequence[Expression], new: Sequence[Expression]) -> tuple[int, int, bool] | None:
    """Return how many of the first dimensions of two shapes belong together, and whether they are known to have as many
    elements, or the second ones are known to have no more; None where that is not seen."""
    for taken in range(min(1, len(old)) + 1):
        for made in range(1 - taken, len(new) + 1):
            if _factors(frame, old[:taken]) == _factors(frame, new[:made]):
                return taken, made, True
    for taken in range(2, len(old) + 1 if new else 0):
        if _factors(frame, old[:taken]) == _factors(frame, new[:1]):
            return taken, 1, True
    for made in range(2, len(new) + 1 if old else 0):
        if _is_rounded_down(old[0], new[:made]):
            return 1, made, False
    return None


def _factors(frame: Frame, sizes: Sequence[Expression]) -> tuple[int, Multiset[Expression]]:
    """The number of elements of dimensions as a product of a constant and other numbers.

    Those of one shape are extents of an array, 0 or more, and so are the same ones in the other shape: ``max(0, n)`` is
    ``n`` there.
    """
    constant, others = 1, Multiset[Expression]()
    for size in sizes:
        match size:
            case Binary("max", Constant(0), inner):
                size = inner
        known = constant_of(size)
        source = frame.kernel.parameters[size.name].source if isinstance(size, ParameterValue) else None
        match source if isinstance(source, Binary) else size:
            case _ if known is not None:
                constant *= known
            case Binary("*", left, right):
                number, factors = _factors(frame, [_as_parameter(left), _as_parameter(right)])
                constant, others = constant * number, others + factors
            case _:
                others[normal(size)] += 1
    return constant, others


def _as_parameter(size: Expression) -> Expression:
    return ParameterValue(size.name) if isinstance(size, Argument) else size


def _is_rounded_down(size: Expression, parts: Sequence[Expression]) -> bool:
    """Return whether the product of some extents is ``size // n * n``, for a constant ``n``."""
    known = [constant_of(part) for part in parts]
    others = [part for part, number in zip(parts, known, strict=True) if number is None]
    divisor = math.prod(number for number in known if number is not None)
    return divisor > 0 and len(others) == 1 and normal(others[0]) == normal(quotient(size, divisor))


def product_of(left: Expression, right: Expression) -> Expression:
    """``left * right``, affine where one of them is a constant."""
    for one, other in ((left, right), (right, left)):
        factor = constant_of(one)
        if factor is not None:
            return add(ZERO, other, factor)
    return Binary("*", left, right, "int64")


def divided(operator: str, left: Expression, right: Expression) -> Expression:
    """``left // right`` or ``left % right``.

    Args:
        operator: which of them.
        left: an integer that is not negative.
        right: a positive integer.
    """
    if constant_of(right) == 1:
        return left if operator == "//" else ZERO
    return Binary(operator, left, right, "int64")
