"""Operations on the bits of integers and truth values: ``& | ^ ~ << >>``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polytune.frontend.expression import Binary, Constant, walk
from polytune.frontend.promotion import (
    INTEGERS,
    Value,
    binary,
    compare,
    constant,
    logical,
    negate,
    negation,
    number,
)

OPERATORS = ("&", "|", "^", "<<", ">>")


def bits(symbol: str, left: Value, right: Value) -> Value:
    """``left symbol right``; of two truth values ``& | ^`` give one.

    Args:
        symbol: ``&``, ``|``, ``^``, ``<<`` or ``>>``.
        left, right: integers or truth values.
    """
    if left.dtype == right.dtype == "bool" and symbol in ("&", "|", "^"):
        if symbol == "^":
            outcome = compare("!=", number(left), number(right))
        else:
            outcome = logical("and" if symbol == "&" else "or", [left, right])
        return replace(outcome, weak=left.weak and right.weak)
    return binary(symbol, number(left), number(right))


def inverted(value: Value) -> Value:
    """``~value``; of a NumPy truth value, which a truth value is taken for, the other one."""
    if value.dtype == "bool":
        return replace(negation(value), weak=False)
    if not value.is_integer:
        return binary("^", value, constant(-1))  # refused as the other operations on bits are
    return binary("-", negate(value), constant(1))


def affine_form(symbol: str, left: Value, right: Value) -> Value | None:
    """An operation on an integer of 64 bits and a constant as arithmetic, of which affine functions are made: a shift
    as a product or quotient, the lowest bits as a remainder.  None for any other.

    Args:
        symbol: ``&``, ``|``, ``^``, ``<<`` or ``>>``.
        left: the integer.
        right: the constant.
    """
    amount = right.constant
    if left.dtype != "int64" or not isinstance(amount, int) or isinstance(amount, bool):
        return None
    if symbol in ("<<", ">>") and 0 <= amount < 62:
        return binary("*" if symbol == "<<" else "//", left, constant(2**amount))
    if symbol == "&" and amount > 0 and amount & (amount + 1) == 0:
        return binary("%", left, constant(amount + 1))
    return None


def what_is_wrong(node: Any) -> tuple[str, str, str] | None:
    """Return what is wrong with the first operation on bits of no integers in an expression or operation, why, and what
    to do; None where there is none."""
    for part in walk(node):
        match part:
            case Binary(operator, _, _, dtype) if operator in OPERATORS and dtype not in INTEGERS:
                why = "only integers of types that have one in common, and truth values, have bits"
                return f"{operator} of numbers of {dtype}", why, "convert them: int(x), or A.astype(np.int64)"
            case Binary("<<" | ">>" as operator, _, Constant(int(amount))) if amount < 0:
                return f"{operator} by a negative number", "Python raises an error here", "shift the other way"
    return None
