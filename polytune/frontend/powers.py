"""The computation of powers: as products where the exponent is a constant integer, and else by C's library.

The products round differently from the library, which alone gives the bits of Python and NumPy.  So strict kernels have
products of integers only, where they are exact: overflow wraps round in both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polytune.frontend.expression import Binary, Call, Constant, Power, map_children
from polytune.frontend.program import Guard, Node, Perform, RangeLoop
from polytune.frontend.promotion import COMPLEX

LARGEST_EXPONENT = 64
"""The largest exponent of which a power becomes products; their rounding errors add up."""


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
                number = exponent.value if isinstance(exponent, Constant) else 0.5
                if number.imag == 0.0 and number.real.is_integer() and abs(number.real) <= LARGEST_EXPONENT:
                    return Power(base, int(number.real), dtype)
                return Binary("**", base, exponent, dtype)
            if isinstance(exponent, Constant) and not (is_float and strict):
                least = -LARGEST_EXPONENT if is_float else 0
                if least <= exponent.value <= LARGEST_EXPONENT and float(exponent.value).is_integer():
                    return Power(base, int(exponent.value), dtype)
            if is_float:
                return Call("pow", (base, exponent), dtype) if strict else Binary("**", base, exponent, dtype)
    return node
