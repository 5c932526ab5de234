"""Which operations vectors have, with exactly the meaning that they have for scalars, lane by lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polytune.codegen.vectors.expressions import VECTOR, Chosen, VectorExpression
from polytune.frontend.expression import Binary, Compare, Expression, Power, Select, Unary


def lane_operands(node: Expression, dtype: str) -> tuple[Expression, ...] | None:
    """What an operation computes its lanes from, all of one type; None where vectors of that type have no such one.

    Sums, differences and products of integers wrap round in vectors as they do in NumPy; quotients of integers and the
    magnitude of the least of them are left to scalars.
    """
    is_float = dtype.startswith("float")
    match node:
        case Binary("+" | "-" | "*" | "min" | "max", left, right, own) if own == dtype:
            return left, right
        case Binary("/", left, right, own) if own == dtype and is_float:
            return left, right
        case Power(operand, _, own) if own == dtype:
            return (operand,)
        case Unary("-", operand, own) if own == dtype:
            return (operand,)
        case Unary("abs", operand, own) if own == dtype and is_float:
            return (operand,)
        case Select(Compare(_, left, right), then, otherwise, own) if own == dtype:
            return left, right, then, otherwise
    return None


def in_lanes(node: Expression, operands: Sequence[Any]) -> VectorExpression:
    """The operation on vectors, given what ``lane_operands`` names as vectors."""
    match node:
        case Binary(operator):
            return Binary(operator, operands[0], operands[1], VECTOR)
        case Power(_, exponent):
            return Power(operands[0], exponent, VECTOR)
        case Unary(operator):
            return Unary(operator, operands[0], VECTOR)
        case Select(Compare(operator)):
            left, right, then, otherwise = operands
            return Chosen(Compare(operator, left, right), then, otherwise)
    raise AssertionError(f"no operation of vectors: {node!r}")
