"""The symbols of Python's operators, and operators on numbers."""

from __future__ import annotations

import ast
from dataclasses import replace

from polytune.frontend import promotion
from polytune.frontend.array_expressions.sizes import require_exponent, require_range
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.promotion import Value
from polytune.frontend.rewrites.remainders import remainder
from polytune.frontend.scalars import bits

SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}


def operator_symbol(frame: Frame, node: ast.AST, operator: ast.operator) -> str:
    """The symbol of an arithmetic operator.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        operator: one of Python's.
    """
    symbol = SYMBOLS.get(type(operator))
    if symbol is not None:
        return symbol
    raise frame.source.refusal(
        node,
        "a matrix product (@) of numbers",
        "Python has none of numbers, and in the types that the kernel is compiled for these are no arrays",
        "write * for a product of numbers, or pass arrays",
    )


def combined(frame: Frame, node: ast.AST, symbol: str, left: Value, right: Value) -> Value:
    """``left symbol right`` of numbers; operations on bits of affine functions, and remainders, stay affine where they
    can.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        symbol: the operator.
        left, right: the numbers.
    """
    if symbol != "/":
        dtype = promotion.join(promotion.kind_of(left), promotion.kind_of(right)).dtype
        require_range(frame, node, left, dtype)
        require_range(frame, node, right, dtype)
    if symbol not in bits.OPERATORS:
        if promotion.meets_truth_value(left, right):
            made = combined(frame, node, symbol, promotion.number(left), promotion.number(right))
            return replace(made, weak=False)
        left, right = promotion.number(left), promotion.number(right)
        if symbol == "**":
            require_exponent(frame, node, promotion.kind_of(left), right)
        near = remainder(frame, left, right) if symbol == "%" else None
        return near if near is not None else promotion.binary(symbol, left, right)
    result = bits.bits(symbol, left, right)
    form = bits.affine_form(symbol, left, right)
    return form if form is not None and frame.kernel.affine.is_function(form.expression) else result
