"""Expressions of the source as numbers and as conditions."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from polytune.frontend import promotion
from polytune.frontend.array_expressions.elementwise import computed
from polytune.frontend.array_expressions.operators import ambiguous
from polytune.frontend.array_expressions.sizes import supposing
from polytune.frontend.array_expressions.values import ArrayValue
from polytune.frontend.expression import (
    Binary,
    Compare,
    Constant,
    Expression,
    Extent,
    Logical,
    ParameterValue,
    map_children,
)
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.promotion import Value
from polytune.frontend.scalars.objects import known_object
from polytune.frontend.syntax.refusals import counted


def read(frame: Frame, node: ast.expr) -> Value:
    """The typed value of an expression that is a number.

    Raises:
        UnsupportedSourceError: it is outside the language, or an array.
    """
    value = computed(frame, node, frame.kernel.evaluate(frame, node))
    if isinstance(value, ArrayValue):
        if not value.shape:
            return value.at(())
        raise frame.source.refusal(
            node,
            f"the array {frame.source.segment(node)!r} is used like a number",
            f"it has {counted(value.ndim, 'dimension')}, and a number is wanted here",
            f"access an element, with {counted(value.ndim, 'subscript')}, or assign to a whole array: A[:] = ...",
        )
    return value


def number(frame: Frame, node: ast.expr) -> Value:
    """The value of an expression, a bool made an integer."""
    return promotion.number(read(frame, node))


def condition(frame: Frame, node: ast.expr) -> Value:
    """The value of an expression as a condition."""
    known = known_object(frame, node)
    if known is not None:
        return promotion.constant(bool(known.value))
    if isinstance(node, ast.BoolOp):
        return _conjunction_of_conditions(frame, node)
    value = computed(frame, node, frame.kernel.evaluate(frame, node))
    if isinstance(value, ArrayValue):
        if value.shape:
            raise ambiguous(frame, node)
        value = value.at(())
    outcome = promotion.truth(value)
    return replace(outcome, expression=_with_extents_compared(frame, outcome.expression))


_HAS_NO_ELEMENT = {
    **{("==", 0): True, ("<=", 0): True, ("<", 1): True},
    **{("!=", 0): False, (">", 0): False, (">=", 1): False},
}
"""The meaning of a comparison between the number of elements and a constant: true where it says that there is none,
false where it says that there are some."""


def _with_extents_compared(frame: Frame, node: Any) -> Any:
    """A condition in which ``A.size == 0`` and its like are conditions on the extents, which are affine: there is no
    element where one of them is 0."""
    if isinstance(node, Compare) and isinstance(node.right, Constant):
        extents = _extents_multiplied(frame, node.left)
        outcome = _HAS_NO_ELEMENT.get((node.operator, node.right.value))
        if extents and len(extents) > 1 and outcome is not None:
            zero = Constant(0, "int64")
            tests = tuple(Compare("==" if outcome else ">", extent, zero) for extent in extents)
            return Logical("or" if outcome else "and", tests)
    return map_children(node, lambda child: _with_extents_compared(frame, child))


def _extents_multiplied(frame: Frame, expression: Expression) -> list[Expression] | None:
    """The extents of arguments that a product is made of; None where anything else is in it."""
    match expression:
        case ParameterValue(name):
            parameter = frame.kernel.parameters.get(name)
            if parameter is None:
                return None
            source = parameter.source
            return [expression] if isinstance(source, Extent) else _extents_multiplied(frame, source)
        case Binary("*", left, right):
            sides = _extents_multiplied(frame, left), _extents_multiplied(frame, right)
            return None if sides[0] is None or sides[1] is None else [*sides[0], *sides[1]]
        case Constant(value) if value > 0:
            return []
    return None


def _behind(frame: Frame, node: ast.BoolOp, operand: Value) -> Frame:
    """Return where the next operand of ``and`` or ``or`` is looked at: where this one decides nothing."""
    test = promotion.truth(operand)
    return supposing(frame, test if isinstance(node.op, ast.And) else promotion.negation(test))


def _conjunction_of_conditions(frame: Frame, node: ast.BoolOp) -> Value:
    """Return whether ``and`` and ``or`` hold; what Python never comes to is not looked at."""
    operands: list[Value] = []
    for operand in node.values:
        operands.append(condition(frame, operand))
        if operands[-1].constant == isinstance(node.op, ast.Or):
            break
        frame = _behind(frame, node, operands[-1])
    return promotion.logical("and" if isinstance(node.op, ast.And) else "or", operands)


def conjunction(frame: Frame, node: ast.BoolOp) -> Value:
    """The value of ``and`` and ``or``, one of the operands; what Python never comes to is not looked at."""
    symbol = "and" if isinstance(node.op, ast.And) else "or"
    operands: list[Value] = []
    for operand in node.values:
        known = known_object(frame, operand)
        value = read(frame, operand) if known is None else promotion.constant(bool(known.value))
        if promotion.truth(value).constant == (symbol == "and"):
            if operand is node.values[-1]:
                operands.append(value)
            continue  # the next one is the value
        operands.append(value)
        if promotion.truth(value).constant is not None:
            break
        frame = _behind(frame, node, value)
    chosen = operands[-1]
    if all(each.dtype == "bool" for each in operands):
        return promotion.logical(symbol, operands)
    for each in reversed(operands[:-1]):
        sides = (chosen, each) if symbol == "and" else (each, chosen)
        chosen = promotion.select(promotion.truth(each), *map(promotion.number, sides))
    return chosen
