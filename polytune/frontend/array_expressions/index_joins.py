"""Arrays, numbers and ranges one after the other, or as columns: the subscripts of ``np.r_`` and ``np.c_``."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from polytune.frontend.array_expressions.calling import array_meaning
from polytune.frontend.array_expressions.elementwise import as_array, computed
from polytune.frontend.array_expressions.readers import Evaluate
from polytune.frontend.array_expressions.values import ArrayValue, Operand
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import ObjectBinding, ValueBinding
from polytune.frontend.promotion import Value
from polytune.frontend.syntax.comprehensions import placed

JOINS: tuple[Any, ...] = (np.r_, np.c_)
"""The objects whose subscripts are joined."""


def is_join(thing: Any) -> bool:
    """Return whether a Python object is one of ``JOINS``."""
    return any(thing is join for join in JOINS)


def joined_subscripts(frame: Frame, node: ast.Subscript, join: Any, evaluate: Evaluate) -> Operand:
    """Return what ``np.r_[x, 0.0, 3:n]`` is, by ``np.concatenate``, or ``np.c_[x, y]``, by ``np.column_stack``.

    Args:
        frame: where it stands.
        node: the whole expression.
        join: ``np.r_`` or ``np.c_``.
        evaluate: reads an expression.

    Raises:
        UnsupportedSourceError: a subscript is a text that says how, or a range with an imaginary step.
    """
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    function = np.concatenate if join is np.r_ else np.column_stack
    parts: list[ast.expr] = [_part(frame, node, item, evaluate) for item in items]
    call = ast.Call(frame.named(ObjectBinding(function)), [ast.Tuple(parts, ast.Load())], [])
    return evaluate(frame, placed(call, node))


def _part(frame: Frame, node: ast.Subscript, item: ast.expr, evaluate: Evaluate) -> ast.expr:
    """One subscript as an array of one dimension or more."""
    if isinstance(item, ast.Constant) and isinstance(item.value, str):
        raise frame.source.refusal(
            item,
            f"{frame.source.segment(node)}, with a text that says how its parts are joined",
            "a kernel joins them along the first dimension, or as columns",
            "use np.concatenate, np.stack or np.block",
        )
    if isinstance(item, ast.Slice):
        return placed(_range(frame, item), node)
    operand = evaluate(frame, item)
    operand = operand if isinstance(operand, Value) else as_array(computed(frame, item, operand))
    if isinstance(operand, ArrayValue) and operand.ndim:
        return frame.named(array_meaning(frame, item, operand))
    number = operand if isinstance(operand, Value) else operand.at(())
    return ast.List([frame.named(ValueBinding(number))], ast.Load())


def _range(frame: Frame, item: ast.Slice) -> ast.expr:
    """The numbers of ``a:b:c``."""
    if item.upper is None or (isinstance(item.step, ast.Constant) and isinstance(item.step.value, complex)):
        raise frame.source.refusal(
            item,
            "a range without an end, or with an imaginary step",
            "its numbers must be known, and as many as numpy.arange gives",
            "use np.linspace(a, b, n)",
        )
    bounds = [item.lower or ast.Constant(0), item.upper, *([item.step] if item.step is not None else [])]
    return ast.Call(frame.named(ObjectBinding(np.arange)), bounds, [])
