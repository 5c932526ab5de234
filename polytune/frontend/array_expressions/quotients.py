"""Functions of numbers that give several: quotients with remainders, and the subscripts of a position."""

from __future__ import annotations

import builtins

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.calls import ArrayCall, compiles_several
from polytune.frontend.array_expressions.elementwise import arithmetic, cast_array, computed, elementwise, strong
from polytune.frontend.array_expressions.temporaries import kept
from polytune.frontend.array_expressions.values import ArrayValue, Operand
from polytune.frontend.promotion import Value
from polytune.frontend.scalars import functions


def _operand(call: ArrayCall, name: str) -> ArrayValue | Value:
    """An argument that is read twice, computed once."""
    value = call.value(name)
    is_computed = isinstance(value, ArrayValue) and value.region is None and value.shape
    return kept(call.frame, call.node, value) if is_computed else value  # type: ignore[arg-type]


@compiles_several(builtins.divmod, "x", "y")
@compiles_several(np.divmod, "x", "y")
def _divmod(call: ArrayCall) -> list[Operand | None]:
    left, right = _operand(call, "x"), _operand(call, "y")
    parts = (arithmetic(call.frame, call.node, symbol, left, right) for symbol in ("//", "%"))
    return [computed(call.frame, call.node, part) for part in parts]


@compiles_several(np.modf, "x")
def _modf(call: ArrayCall) -> list[Operand | None]:
    """The fraction and the whole part, both with the sign of the number."""
    value = _operand(call, "x")

    def whole(values: list[Value]) -> Value:
        (number,) = values
        return functions.apply(np.trunc, [promotion.cast(number, "float64") if number.is_integer else number])

    def fraction(values: list[Value]) -> Value:
        number = promotion.cast(values[0], "float64") if values[0].is_integer else values[0]
        infinite = functions.apply(np.isinf, [number])
        rest = promotion.select(infinite, promotion.constant(0.0), promotion.binary("-", number, whole(values)))
        return functions.apply(np.copysign, [rest, number])

    return [elementwise(call.frame, call.node, build, [value]) for build in (fraction, whole)]


@compiles_several(np.unravel_index, "indices", "shape")
def _unravel_index(call: ArrayCall) -> tuple[Operand | None, ...]:
    """The subscripts of an element of an array, of its place among all elements."""
    given = cast_array(call.frame, call.node, _operand(call, "indices"), "int64")
    rest: Operand = strong(given) if isinstance(given, Value) else given
    found: list[Operand | None] = []
    shape = call.shape("shape")
    for size in reversed(shape[1:]):
        length = Value(size)
        found.append(computed(call.frame, call.node, arithmetic(call.frame, call.node, "%", rest, length)))
        rest = computed(call.frame, call.node, arithmetic(call.frame, call.node, "//", rest, length))
    return (rest, *reversed(found))
