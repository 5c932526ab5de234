"""The computation of powers: as products where the exponent is a constant integer, as products with a square root where
it is half an odd one, and else by C's library.

The products round differently from the library, which alone gives the bits of Python and NumPy.  So strict kernels have
products of integers only, where they are exact: overflow wraps round in both.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, TypeGuard

from polytune.frontend.expression import (
    Binary,
    Call,
    Compare,
    Constant,
    Expression,
    Power,
    Select,
    Unary,
    map_children,
    walk,
)
from polytune.frontend.program import Guard, Node, Perform, RangeLoop
from polytune.frontend.promotion import COMPLEX

LARGEST_EXPONENT = 64
"""The largest exponent of which a power becomes products; their rounding errors add up."""

LARGEST_WITH_ROOT = 8
"""The largest exponent of which a power becomes products and a square root."""

MOST_OPERATIONS = 8
"""The most nodes that the base of such a power may have, as it is written several times."""


def is_whole(exponent: Expression) -> TypeGuard[Constant]:
    """Return whether an exponent is a constant integer, so that the power is but a few products."""
    if not isinstance(exponent, Constant):
        return False
    number = complex(exponent.value)
    return number.imag == 0.0 and number.real.is_integer()


def choose_powers(node: Node, *, strict: bool) -> Node:
    """The node with its powers computed as is fastest, or in a ``strict`` kernel as is fastest with Python's bits."""
    match node:
        case Perform(operations):
            return replace(node, operations=tuple(_chosen(operation, strict) for operation in operations))
        case Guard(_, then, otherwise):
            then, otherwise = (
                tuple(choose_powers(child, strict=strict) for child in side) for side in (then, otherwise)
            )
            return replace(node, then=then, otherwise=otherwise)
        case RangeLoop(body=body):
            return replace(node, body=tuple(choose_powers(child, strict=strict) for child in body))


def _chosen(node: Any, strict: bool) -> Any:
    node = map_children(node, lambda child: _chosen(child, strict))
    match node:
        case Binary("**", base, exponent, dtype) | Call("pow", (base, exponent), dtype):
            is_float = dtype.startswith("float")
            if dtype in COMPLEX:  # NumPy has products, too, and else the power of C's library
                if is_whole(exponent) and abs(exponent.value) <= LARGEST_EXPONENT:
                    return Power(base, int(exponent.value.real), dtype)
                return Binary("**", base, exponent, dtype)
            if isinstance(exponent, Constant) and not (is_float and strict):
                least = -LARGEST_EXPONENT if is_float else 0
                if least <= exponent.value <= LARGEST_EXPONENT and float(exponent.value).is_integer():
                    return Power(base, int(exponent.value), dtype)
                if is_float and _is_half_of_odd(exponent.value) and sum(1 for _ in walk(base)) <= MOST_OPERATIONS:
                    return _with_root(base, exponent.value, dtype)
            if is_float:
                return Call("pow", (base, exponent), dtype) if strict else Binary("**", base, exponent, dtype)
    return node


def _is_half_of_odd(exponent: float) -> bool:
    return abs(exponent) <= LARGEST_WITH_ROOT and (2.0 * exponent) % 2.0 == 1.0


def _with_root(base: Expression, exponent: float, dtype: str) -> Expression:
    """A power of half an odd number, as the library has it for numbers below 0 (NaN), zeros and infinities of both
    signs: only of the root of the infinity below 0 it has another idea than the square root."""
    infinity = Constant(math.inf, dtype)
    is_least = Compare("==", base, Constant(-math.inf, dtype))
    root = Unary("abs", Call("sqrt", (base,), dtype), dtype)  # abs: of -0.0
    power: Expression = Select(is_least, infinity, root, dtype)
    factors = int(abs(exponent))
    if factors:
        magnitude = Unary("abs", base, dtype)
        power = Binary("*", magnitude if factors == 1 else Power(magnitude, factors, dtype), power, dtype)
    return power if exponent > 0 else Binary("/", Constant(1.0, dtype), power, dtype)
