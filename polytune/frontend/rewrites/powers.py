"""The computation of powers: as products where the exponent is a constant integer, as products with a square root where
it is half an odd one, and else by C's library.

The products round differently from the library, which alone gives the bits of Python and NumPy.  So strict kernels have
products of integers only, where they are exact: overflow wraps round in both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeGuard

from polytune.frontend.expression import (
    Assign,
    Binary,
    Call,
    Compare,
    Constant,
    Element,
    Expression,
    Logical,
    Power,
    Select,
    Unary,
    map_children,
    walk,
)
from polytune.frontend.lowering.frame import KernelWalk
from polytune.frontend.program import Guard, Node, Perform, RangeLoop
from polytune.frontend.promotion import COMPLEX
from polytune.frontend.scop import Array, ArrayRole

LARGEST_EXPONENT = 64
"""The largest exponent of which a power becomes products; their rounding errors add up."""

LARGEST_WITH_ROOT = 8
"""The largest exponent of which a power becomes products and a square root."""

MOST_OPERATIONS = 8
"""The most nodes that the base of such a power may have, as it is written several times; a longer one is kept in a
variable, where the statement can have one."""


def is_whole(exponent: Expression) -> TypeGuard[Constant]:
    """Return whether an exponent is a constant integer, so that the power is but a few products."""
    if not isinstance(exponent, Constant):
        return False
    number = complex(exponent.value)
    return number.imag == 0.0 and number.real.is_integer()


def choose_powers(nodes: Sequence[Node], kernel: KernelWalk, *, strict: bool) -> tuple[Node, ...]:
    """The nodes with their powers computed as is fastest, or in a ``strict`` kernel as is fastest with Python's bits.

    Args:
        nodes: neighbours in a block.
        kernel: what the walk over the source has found, to which the variables are added that bases of powers are kept
            in.
        strict: whether the bits have to be Python's.
    """
    return tuple(each for node in nodes for each in _nodes(node, kernel, strict))


def _nodes(node: Node, kernel: KernelWalk, strict: bool) -> tuple[Node, ...]:
    match node:
        case Perform((Assign(value=value) as assign,)) if not strict:
            before: list[Perform] = []
            kept = _with_bases_kept(value, node, kernel, before)
            whole = replace(node, operations=(replace(assign, value=kept) if before else assign,))
            return tuple(
                replace(each, operations=tuple(_chosen(part, strict) for part in each.operations))
                for each in (*before, whole)
            )
        case Perform(operations):
            return (replace(node, operations=tuple(_chosen(operation, strict) for operation in operations)),)
        case Guard(_, then, otherwise):
            then, otherwise = (choose_powers(side, kernel, strict=strict) for side in (then, otherwise))
            return (replace(node, then=then, otherwise=otherwise),)
        case RangeLoop(body=body):
            return (replace(node, body=choose_powers(body, kernel, strict=strict)),)


def _with_bases_kept(node: Any, statement: Perform, kernel: KernelWalk, before: list[Perform]) -> Any:
    """The expression with a variable in place of each base of many operations whose power is products with a square
    root, where it is computed in any case.

    Args:
        node: the expression.
        statement: the statement that it stands in.
        kernel: gets the variables.
        before: gets the statements that compute them, in their order.
    """
    if isinstance(node, Select | Logical):
        return node
    node = map_children(node, lambda child: _with_bases_kept(child, statement, kernel, before))
    match node:
        case Binary("**", base, Constant(exponent), dtype) if (
            dtype.startswith("float") and _is_half_of_odd(exponent) and _is_long(base)
        ):
            name = kernel.fresh("base")
            kernel.arrays[name] = Array(name, dtype, ArrayRole.SCALAR, location=statement.location)
            variable = kernel.locations.record(Element(name, (), dtype), statement.location)
            before.append(replace(statement, operations=(Assign(variable, base),)))
            return replace(node, left=variable)
    return node


def _is_long(base: Expression) -> bool:
    return sum(1 for _ in walk(base)) > MOST_OPERATIONS


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
                if is_float and _is_half_of_odd(exponent.value) and not _is_long(base):
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
