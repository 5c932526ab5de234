"""Python's operators on arrays."""

from __future__ import annotations

import ast

from polytune.frontend.array_expressions.elementwise import (
    arithmetic,
    compared,
    inverted,
    is_truth,
    logical,
    negated,
)
from polytune.frontend.array_expressions.products import matrix_product
from polytune.frontend.array_expressions.values import Operand
from polytune.frontend.frame import Frame
from polytune.frontend.promotion import Value

_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}


def operation(frame: Frame, node: ast.AST, operator: ast.operator, left: Operand, right: Operand) -> Operand:
    """``left operator right``, where one of them at least is no number.

    Raises:
        UnsupportedSourceError: the operator is not compiled for arrays of these types.
    """
    symbol = _ARITHMETIC.get(type(operator))
    if symbol is not None:
        return arithmetic(frame, node, symbol, left, right)
    if isinstance(operator, ast.MatMult):
        return matrix_product(frame, node, left, right)
    truths = all(is_truth(side) or (isinstance(side, Value) and side.dtype == "bool") for side in (left, right))
    if truths and isinstance(operator, ast.BitAnd | ast.BitOr):
        return logical(frame, node, "and" if isinstance(operator, ast.BitAnd) else "or", left, right)
    if truths and isinstance(operator, ast.BitXor):
        return compared(frame, node, "!=", left, right)
    raise frame.source.refusal(
        node,
        "an operation on bits",
        "of arrays, only truth values are combined by & | ^ ~",
        "use arithmetic: x * 2 for x << 1, x // 2 for x >> 1, x % 2 for x & 1",
    )


def unary(frame: Frame, node: ast.UnaryOp, operand: Operand) -> Operand:
    """An operator on one array.

    Raises:
        UnsupportedSourceError: the operator is not compiled for arrays of this type.
    """
    match node.op:
        case ast.USub():
            return negated(frame, node, operand)
        case ast.UAdd() if not is_truth(operand):
            return operand
        case ast.Invert() if is_truth(operand):
            return inverted(frame, node, operand)
        case ast.Not():
            raise ambiguous(frame, node.operand)
    raise frame.source.refusal(
        node, "the operator ~ on bits", "of arrays, only truth values are inverted", "use arithmetic: -x - 1 for ~x"
    )


def ambiguous(frame: Frame, node: ast.AST) -> Exception:
    """The error for an array where a condition is wanted."""
    return frame.source.refusal(
        node,
        f"the array {frame.source.segment(node)} as a condition",
        "whether all of its elements must be true, or one, is not said, and NumPy raises an error",
        "write np.all(...) or np.any(...); element by element use & | ~, or np.where",
    )
