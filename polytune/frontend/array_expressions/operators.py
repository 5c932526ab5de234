"""Python's operators on arrays."""

from __future__ import annotations

import ast

from polytune.frontend.array_expressions.elementwise import (
    arithmetic,
    elementwise,
    is_truth,
    negated,
)
from polytune.frontend.array_expressions.products import matrix_product
from polytune.frontend.array_expressions.values import Operand
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.scalars import bits
from polytune.frontend.scalars.operators import SYMBOLS


def operation(frame: Frame, node: ast.AST, operator: ast.operator, left: Operand, right: Operand) -> Operand:
    """``left operator right``, where one of them at least is no number.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        operator: one of Python's, that of matrix products among them.
        left, right: arrays, or one array and one number.

    Raises:
        UnsupportedSourceError: the operator is not compiled for arrays of these types.
    """
    symbol = SYMBOLS.get(type(operator))
    if symbol is not None:
        return arithmetic(frame, node, symbol, left, right)
    return matrix_product(frame, node, left, right)


def unary(frame: Frame, node: ast.UnaryOp, operand: Operand) -> Operand:
    """An operator on one array.

    Args:
        frame: where it stands.
        node: the whole expression.
        operand: its operand, an array.

    Raises:
        UnsupportedSourceError: the operator is not compiled for arrays of this type.
    """
    match node.op:
        case ast.USub():
            return negated(frame, node, operand)
        case ast.UAdd() if not is_truth(operand):  # a new array, not another name
            return elementwise(frame, node, lambda values: values[0], [operand])
        case ast.Invert():
            return elementwise(frame, node, lambda values: bits.inverted(values[0]), [operand])
        case ast.Not():
            raise ambiguous(frame, node.operand)
    raise frame.source.refusal(
        node, "+ of an array of truth values", "NumPy raises an error here", "convert it: mask.astype(np.int64)"
    )


def ambiguous(frame: Frame, node: ast.AST) -> Exception:
    """The error for an array where a condition is wanted."""
    return frame.source.refusal(
        node,
        f"the array {frame.source.segment(node)} as a condition",
        "whether all of its elements must be true, or one, is not said, and NumPy raises an error",
        "write np.all(...) or np.any(...); element by element use & | ~, or np.where",
    )
