"""Subscripts that are arrays of truth values, and choices by them."""

from __future__ import annotations

import ast
from dataclasses import dataclass

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.calls import ArrayCall, Evaluate, compiles
from polytune.frontend.array_expressions.elementwise import arithmetic, as_array, chosen, computed
from polytune.frontend.array_expressions.shapes import agree
from polytune.frontend.array_expressions.stores import store
from polytune.frontend.array_expressions.values import ArrayValue, Operand
from polytune.frontend.frame import Frame
from polytune.frontend.promotion import Value


@compiles(np.where, "condition", "x", "y")
def _where(call: ArrayCall) -> Operand:
    if not (call.given("x") and call.given("y")):
        raise call.refusal(
            "np.where of one argument",
            "how many elements it gives depends on data; loop over the elements, under an if",
        )
    return chosen(call.frame, call.node, call.value("condition"), call.value("x"), call.value("y"))


def selected(
    frame: Frame, node: ast.Subscript, base: ArrayValue, items: list[ast.expr], evaluate: Evaluate
) -> ArrayValue | Value:
    """``A[mask]``, whose number of elements depends on data."""
    raise frame.source.refusal(
        node,
        "elements selected by an array",
        "how many there are, or which, depends on data",
        "loop over the elements, under an if; to compute with selected ones, use np.where(mask, A, 0), and to change "
        "them, A[mask] = ...",
    )


@dataclass(frozen=True)
class Masked:
    """The target ``A[mask]``: an array and the elements of it that are assigned."""

    target: ArrayValue
    mask: ArrayValue


def masked_target(frame: Frame, node: ast.Subscript, evaluate: Evaluate) -> Masked | None:
    """A subscript as such a target; None where the subscript is no array of truth values.

    Raises:
        UnsupportedSourceError: the mask is not of the array's shape.
    """
    mask = computed(frame, node, evaluate(frame, node.slice))
    if not isinstance(mask, ArrayValue) or mask.dtype != "bool":
        return None
    target = as_array(computed(frame, node, evaluate(frame, node.value)))
    if mask.ndim != target.ndim:
        raise frame.source.refusal(
            node,
            f"a mask of {mask.ndim} dimensions on an array of {target.ndim}",
            "each element needs a truth value of its own",
            "stretch the mask: np.broadcast_to(mask[:, None], A.shape)",
        )
    for left, right in zip(target.shape, mask.shape, strict=True):
        agree(frame, node, left, right, (target.shape, mask.shape), "an array and its mask,")
    return Masked(target, mask)


def store_masked(frame: Frame, node: ast.AST, masked: Masked, value: Operand, symbol: str | None) -> None:
    """``A[mask] = value``, or with a ``symbol`` ``A[mask] symbol= value``, for a number.

    Raises:
        UnsupportedSourceError: the value has dimensions.
    """
    number = computed(frame, node, value)
    if isinstance(number, ArrayValue) and number.ndim:
        raise frame.source.refusal(
            node,
            "an array is assigned to elements that a mask selects",
            "which of its elements goes where depends on data",
            "choose element by element: A[:] = np.where(mask, value, A)",
        )
    target = masked.target
    new: Operand = arithmetic(frame, node, symbol, target, number) if symbol else _converted(number, target.dtype)
    new = computed(frame, node, new)
    if isinstance(new, ArrayValue):
        at, dtype = new.at, target.dtype
        new = ArrayValue(new.shape, dtype, lambda subscripts: _cast(at(subscripts), dtype))
    store(frame, node, target, chosen(frame, node, masked.mask, new, target))


def _converted(value: ArrayValue | Value, dtype: str) -> Value:
    number = value.at(()) if isinstance(value, ArrayValue) else value
    return _cast(number, dtype)


def _cast(value: Value, dtype: str) -> Value:
    return promotion.truth(value) if dtype == "bool" else promotion.cast(promotion.number(value), dtype)
