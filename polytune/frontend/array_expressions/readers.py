"""The functions that read expressions of the source, which passes on arrays are given."""

from __future__ import annotations

import ast
from collections.abc import Callable

from polytune.frontend.array_expressions.values import Operand
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.promotion import Value

__all__ = ["Evaluate", "Number", "ShapeOf"]

Evaluate = Callable[[Frame, ast.expr], Operand]
"""Reads an expression: a number, an array, or sums that are still to be computed."""

Number = Callable[[Frame, ast.expr], Value]
"""Reads an expression that is a number; what is none is refused."""

ShapeOf = Callable[[Frame, ast.expr], tuple[Value, ...] | None]
"""Reads a tuple of integers, such as a shape; None for what is none."""
