"""Recognition of reductions: ``x op= e`` where ``e`` does not depend on ``x``."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from polytune.frontend.expression import Assign, Binary, Call, Checked, Element, Expression, Operation
from polytune.frontend.scop import Access, Reduction

_NEUTRAL = {
    "+": -0.0,
    "*": 1.0,
    "min": math.inf,
    "max": -math.inf,
    "minimum": math.inf,
    "maximum": -math.inf,
}
_GROUPS = {"+": ("+", "-"), "*": ("*",), "min": ("min",), "max": ("max",)}
_OPERATORS = {operator: group for group, operators in _GROUPS.items() for operator in operators}


def find_reduction(operations: Sequence[Operation], accesses: Sequence[Access]) -> Reduction | None:
    """The reduction that a statement is a step of, or None.

    The target must be one operand of a tree of one operator, in the target's own type, and no other read of the same
    instance may touch the element that it writes.  ``x = e - x`` is none, for its sign alternates.  Of floating-point
    numbers ``x = min(e, x)`` is none either: in Python it is e where e is NaN, and the next number after that, so that
    the order matters.  ``min(x, e)`` leaves e out where that is NaN, and stays NaN where x is.  NumPy's ``minimum`` and
    ``maximum`` are NaN where either operand is, so that neither order nor side matters.

    Args:
        operations: those of the statement.
        accesses: its accesses in evaluation order, so that the reads come in the order of their elements.
    """
    if len(operations) == 1 and isinstance(operations[0], Checked) and not operations[0].leaves:
        operations = operations[0].body  # an update that is left out changes nothing
    if len(operations) != 1 or not isinstance(operations[0], Assign):
        return None
    target, value = operations[0].target, operations[0].value
    operator = _operator(value, target)
    if operator is None:
        return None
    write = accesses[-1]
    touching = [
        access
        for access in accesses[:-1]
        if access.array == write.array and not access.relation.intersect(write.relation).is_empty()
    ]
    if len(touching) != 1:
        return None
    return Reduction(operator, touching[0].reference, write.reference)


def _operator(value: Expression, target: Element) -> str | None:
    """The operator of a tree that has the target as an operand."""
    match value:
        case Binary(operator) if operator in _OPERATORS:
            is_step = _accumulates(value, target, _GROUPS[_OPERATORS[operator]])
            return _OPERATORS[operator] if is_step else None
        case Call("minimum" | "maximum" as function) if _is_operand(value, target, function):
            return function
    return None


def _is_operand(expression: Expression, target: Element, function: str) -> bool:
    """Return whether the target is an operand of the calls of a function at the expression's root."""
    if expression == target:
        return True
    if not isinstance(expression, Call) or expression.function != function or expression.dtype != target.dtype:
        return False
    return any(_is_operand(each, target, function) for each in expression.arguments)


def _accumulates(expression: Expression, target: Element, operators: tuple[str, ...]) -> bool:
    """Return whether the target is an operand of the tree of ``operators`` at the expression's root, with positive
    sign."""
    if expression == target:
        return True
    if not isinstance(expression, Binary) or expression.operator not in operators or expression.dtype != target.dtype:
        return False
    if _accumulates(expression.left, target, operators):
        return True
    ordered = expression.operator in ("min", "max") and expression.dtype.startswith("float")
    return expression.operator != "-" and not ordered and _accumulates(expression.right, target, operators)


def joined_by(operator: str, target: Element, operand: Expression) -> Expression:
    """The value of an element after a step of a reduction.

    Args:
        operator: the reduction's.
        target: the element.
        operand: what it is taken together with.
    """
    if operator in ("minimum", "maximum"):
        return Call(operator, (target, operand), target.dtype)
    return Binary(operator, target, operand, target.dtype)


def neutral_element(operator: str, dtype: str) -> int | float:
    """Return the number of a type that changes no result of a reduction; ``-0.0 + 0.0`` would be ``0.0``."""
    number = _NEUTRAL[operator]
    if dtype.startswith("float"):
        return number
    if math.isfinite(number):
        return int(number)
    limits = np.iinfo(dtype)
    return int(limits.max if number > 0 else limits.min)
