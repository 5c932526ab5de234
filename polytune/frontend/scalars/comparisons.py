"""Comparisons, of numbers and arrays, of shapes, and with what a tuple holds."""

from __future__ import annotations

import ast

from polytune.frontend import promotion
from polytune.frontend.array_expressions.elementwise import compared
from polytune.frontend.array_expressions.operators import ambiguous
from polytune.frontend.array_expressions.values import Operand
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import ValueBinding
from polytune.frontend.promotion import Value
from polytune.frontend.scalars.numbers import number
from polytune.frontend.scalars.objects import compared_objects
from polytune.frontend.scalars.tuples import items_of, read_shape_or_tuple
from polytune.relations import RELATIONS

__all__ = ["comparison"]


def comparison(frame: Frame, node: ast.Compare) -> Operand:
    """The value of a comparison, of numbers, arrays or shapes.

    Raises:
        UnsupportedSourceError: such things are not compared.
    """
    outcome = compared_objects(frame, node)
    if outcome is not None:
        return outcome
    if len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
        is_in = _membership(frame, node)
        if is_in is not None:
            return is_in
    if any(type(operator) not in RELATIONS for operator in node.ops):
        raise frame.source.refusal(
            node,
            "a comparison by is or in",
            "numbers are compared by their values; in finds one among values that are seen in the source",
            "use == or !=, or in with a tuple, x in (1, 2)",
        )
    sides = (node.left, *node.comparators)
    shapes = [read_shape_or_tuple(frame, side) for side in sides]
    if len(shapes) == 2 and isinstance(node.ops[0], ast.Eq | ast.NotEq):
        left, right = shapes
        if left is not None and right is not None:
            return _same_tuples(left, right, isinstance(node.ops[0], ast.Eq))
    return _compared(frame, node, [frame.kernel.evaluate(frame, operand) for operand in sides])


def _compared(frame: Frame, node: ast.Compare, found: list[Operand]) -> Operand:
    """The value of a comparison of numbers and arrays.

    Args:
        frame: where it stands.
        node: the comparison.
        found: its operands.
    """
    symbols = [RELATIONS[type(operator)] for operator in node.ops]
    if not all(isinstance(operand, Value) for operand in found):
        if len(symbols) > 1:
            raise ambiguous(frame, node)
        return compared(frame, node, symbols[0], *found)
    operands = [promotion.number(operand) for operand in found if isinstance(operand, Value)]
    pairs = zip(symbols, operands, operands[1:], strict=False)
    return promotion.logical("and", [promotion.compare(symbol, left, right) for symbol, left, right in pairs])


def _membership(frame: Frame, node: ast.Compare) -> Value | None:
    """``x in (1, 2)``, or ``not in``; None where the values are not seen in the source."""
    container = node.comparators[0]
    if isinstance(container, ast.Tuple | ast.List | ast.Set):
        values = [number(frame, element) for element in container.elts]
    else:
        items = items_of(frame, container) if isinstance(container, ast.Name | ast.Attribute) else None
        if items is None or not all(isinstance(item, ValueBinding) for item in items):
            return None
        values = [promotion.number(item.value) for item in items if isinstance(item, ValueBinding)]
    wanted = number(frame, node.left)
    if not values:
        return promotion.constant(isinstance(node.ops[0], ast.NotIn))
    same = promotion.logical("or", [promotion.compare("==", wanted, value) for value in values])
    return same if isinstance(node.ops[0], ast.In) else promotion.negation(same)


def _same_tuples(left: tuple[Value, ...], right: tuple[Value, ...], equal: bool) -> Value:
    """Return whether two shapes are the same, or are not."""
    if len(left) != len(right):
        return promotion.constant(not equal)
    pairs = [promotion.compare("==", one, other) for one, other in zip(left, right, strict=True)]
    same = promotion.logical("and", pairs)
    return same if equal else promotion.negation(same)
