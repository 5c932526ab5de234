"""Expressions over vector registers, beside the scalar ones of ``polytune.frontend.expression``.

    expression = ...
               | Variable(name, dtype)              -- a variable of the generated code, set by a ``Let``
               | Lanes(element, lanes, mask, apart) -- consecutive elements, or some apart, the first given; a vector
               | Splat(value, lanes)                -- a scalar in every lane
               | Between(first, last, lanes)        -- the lanes l with first <= l < last; a mask
               | Either(masks)                      -- the lanes of any of some masks; a mask
               | LaneSelect(mask, value, otherwise) -- lane by lane, by a mask or by a comparison
               | Shifted(before, value, distance)   -- the lanes so far below those of value, which before precedes
               | Total(value, dtype)                -- the sum of the lanes, in any order; a scalar
               | Misalignment(element, lanes)       -- the number of elements from where a vector begins, of memory as a
                                                       sequence of vectors, up to an element; an integer

Binary, Power and Unary nodes and calls of ``sqrt`` of the type ``VECTOR`` work lane by lane; all of their operands are
vectors, and so are those of a comparison that chooses lanes.  A mask is the name of a variable.
"""

from __future__ import annotations

from typing import Any

from polytune.frontend.expression import Compare, Element, Expression
from polytune.records import dataclass

VECTOR = "vector"
"""The type of what is computed lane by lane."""


@dataclass(frozen=True)
class Variable:
    name: str
    dtype: str


@dataclass(frozen=True)
class Apart:
    """The distance of lanes: by how much the subscript of an axis grows from one to the next."""

    axis: int
    step: int


@dataclass(frozen=True)
class Lanes:
    element: Element
    lanes: int
    mask: str | None = None
    apart: Apart | None = None
    dtype: str = VECTOR


@dataclass(frozen=True)
class Splat:
    value: Expression
    lanes: int
    dtype: str = VECTOR


@dataclass(frozen=True)
class Between:
    first: Expression
    last: Expression
    lanes: int
    dtype: str = "mask"


@dataclass(frozen=True)
class AnyMask:
    masks: tuple[str, ...]
    dtype: str = "mask"


@dataclass(frozen=True)
class LaneSelect:
    mask: str | Compare
    value: VectorExpression
    otherwise: VectorExpression
    dtype: str = VECTOR


@dataclass(frozen=True)
class Shifted:
    before: VectorExpression
    value: VectorExpression
    distance: int
    dtype: str = VECTOR


@dataclass(frozen=True)
class Total:
    value: VectorExpression
    dtype: str


@dataclass(frozen=True)
class Misalignment:
    element: Element
    lanes: int
    dtype: str = "int64"


VectorExpression = (
    Expression | Variable | Lanes | Splat | Between | AnyMask | LaneSelect | Shifted | Total | Misalignment
)


def operands(node: VectorExpression) -> list[Any]:
    """Return the expressions that the value of an expression is computed of, those in vector registers included."""
    found: list[Any] = []
    for name in ("operand", "left", "right", "condition", "then", "otherwise", "value", "before"):
        child = getattr(node, name, None)
        if hasattr(child, "__dataclass_fields__"):
            found.append(child)
    for name in ("operands", "arguments"):
        found += [child for child in getattr(node, name, ()) if hasattr(child, "__dataclass_fields__")]
    return found
