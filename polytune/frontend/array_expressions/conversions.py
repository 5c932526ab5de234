"""Tests of what NumPy converts to the type of elements that it updates, or that a function writes: not floats to
integers, as where elements are simply assigned."""

from __future__ import annotations

import ast

import numpy as np

from polytune.frontend.array_expressions.values import ArrayValue, Operand
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.promotion import Value

__all__ = ["check_update", "check_written"]


def check_update(frame: Frame, node: ast.AST, symbol: str, target: ArrayValue, types: tuple[str, str]) -> None:
    """See to it that elements can be updated with numbers of a type.

    Args:
        frame: where it stands.
        node: the update.
        symbol: its operator.
        target: the array.
        types: those of the right side and of the result.

    Raises:
        UnsupportedSourceError: NumPy does not convert the result to the array's type.
    """
    operand, result = types
    # The sum and the product of NumPy's truth values are truth values, of which there is no type in arithmetic here.
    if target.dtype == operand == "bool" and symbol in ("+", "*"):
        return
    if np.can_cast(result, target.dtype, "same_kind"):
        return
    place = frame.source.segment(node.target) if isinstance(node, ast.AugAssign) else "A[:]"
    raise frame.source.refusal(
        node,
        f"elements of {target.dtype} are updated with numbers of {result}",
        "NumPy raises an error here, as the result would be cut off",
        f"assign what is to be cut off, {place} = {place} {symbol} ..., of whole arrays A[:] = A {symbol} ...",
    )


def check_written(frame: Frame, node: ast.AST, name: str, target: ArrayValue, result: Operand) -> None:
    """See to it that a function can write its result, of numbers of a type, to an array.

    Args:
        frame: where it stands.
        node: the call.
        name: what the function is called in the source.
        target: the array.
        result: what is written.

    Raises:
        UnsupportedSourceError: NumPy does not convert the result to the array's type.
    """
    dtype = result.dtype
    if isinstance(result, Value) and result.weak and dtype == "int64" and target.dtype != "bool":
        return  # NumPy takes a number of Python's for one of the array's type
    if not np.can_cast(dtype, target.dtype, "same_kind"):
        raise frame.source.refusal(
            node,
            f"{name} writes numbers of {dtype} to an array of {target.dtype}",
            "NumPy raises an error here, as they would be cut off",
            "assign the result, which cuts it off: A[:] = ..., A[mask] = ...",
        )
