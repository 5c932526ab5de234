"""Recognition of reductions: ``x op= e`` where ``e`` does not depend on ``x``."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from polytune.frontend.expression import Assign, Binary, Checked, Element, Expression, Operation
from polytune.frontend.scop import Access, Reduction

_NEUTRAL = {"+": -0.0, "*": 1.0, "min": math.inf, "max": -math.inf}
_GROUPS = {"+": ("+", "-"), "*": ("*",), "min": ("min",), "max": ("max",)}


def find_reduction(operations: Sequence[Operation], accesses: Sequence[Access]) -> Reduction | None:
    """The reduction that a statement is a step of, or None.

    The target must be one operand of a tree of one operator, in the target's own type, and no other read of the same
    instance may touch the element that it writes.  ``x = e - x`` is none, for its sign alternates.  Of floating-point
    numbers ``x = min(e, x)`` is none either: in Python it is e where e is NaN, and the next number after that, so that
    the order matters.  ``min(x, e)`` leaves e out where that is NaN, and stays NaN where x is.

    Args:
        operations: those of the statement.
        accesses: its accesses in evaluation order, so that the reads come in the order of their elements.
    """
    if len(operations) == 1 and isinstance(operations[0], Checked) and not operations[0].leaves:
        operations = operations[0].body  # an update that is left out changes nothing
    if len(operations) != 1 or not isinstance(operations[0], Assign):
        return None
    target, value = operations[0].target, operations[0].value
    if not isinstance(value, Binary):
        return None
    operator = "+" if value.operator == "-" else value.operator
    if operator not in _GROUPS or not _accumulates(value, target, _GROUPS[operator]):
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


def neutral_element(operator: str, dtype: str) -> int | float:
    """Return the number of a type that changes no result of one of ``+ * min max``; ``-0.0 + 0.0`` would be ``0.0``."""
    number = _NEUTRAL[operator]
    if dtype.startswith("float"):
        return number
    if math.isfinite(number):
        return int(number)
    limits = np.iinfo(dtype)
    return int(limits.max if number > 0 else limits.min)
