"""Constraints on values that may not go together: a comparison over several parameters, kept as text."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cached_property
from types import CodeType
from typing import Any

from polytune.errors import SpaceError
from polytune.records import dataclass
from polytune.tuner.spaces.condition import Value

_SHOWN = 200  # characters of an expression that cannot be read
_FUNCTIONS = {"min": min, "max": max, "abs": abs}
_GLOBALS = {"__builtins__": {}, **_FUNCTIONS}

# No attribute, subscript, power or shift: a constraint read from a file can neither reach anything nor run for long.
_ALLOWED = (
    *(ast.Expression, ast.Name, ast.Load, ast.Constant, ast.Tuple, ast.Call),
    *(ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod),
    *(ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.IfExp),
)


@dataclass(frozen=True)
class Constraint:
    """A condition that every configuration must satisfy, where all the parameters that it names are active.

    Attributes:
        expression: a Python expression over parameter names with arithmetic, comparisons, ``and``, ``or``, ``not``,
            ``in``, ``if``-``else`` and the functions ``min``, ``max``, ``abs``; for example
            ``"tile_0 * tile_1 <= 4096"``.
        reason: why, for people; it ends up in the sentence that refuses a configuration.

    Raises:
        SpaceError: the text is no such expression.
    """

    expression: str
    reason: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.expression, str):
            raise SpaceError(f"a constraint is an expression written as text, not {self.expression!r}")
        try:
            tree = ast.parse(self.expression.strip(), mode="eval")
        except (SyntaxError, ValueError) as error:
            raise SpaceError(f"constraint {self.expression[:_SHOWN]!r} is not an expression: {error}") from None
        except (MemoryError, RecursionError):  # what Python's parser raises
            raise SpaceError(f"constraint {self.expression[:_SHOWN]!r}... is nested too deeply") from None
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in ast.walk(tree):
            if not isinstance(node, _ALLOWED):
                raise SpaceError(
                    f"constraint {self.expression!r}: {type(node).__name__} is not allowed; use arithmetic, "
                    "comparisons, and, or, not, in, if-else, min, max and abs"
                )
            if isinstance(node, ast.Name) and (id(node) in called) != (node.id in _FUNCTIONS):
                raise SpaceError(
                    f"constraint {self.expression!r}: {node.id!r} is used as a "
                    f"{'function' if id(node) in called else 'parameter'}; the functions are min, max and abs"
                )
            if isinstance(node, ast.Call) and (not isinstance(node.func, ast.Name) or node.keywords):
                raise SpaceError(f"constraint {self.expression!r}: only plain calls of min, max and abs are allowed")
        if not self.names:
            raise SpaceError(f"constraint {self.expression!r} names no parameter")

    @cached_property
    def names(self) -> frozenset[str]:
        """The parameters that the constraint looks at."""
        tree = ast.parse(self.expression.strip(), mode="eval")
        return frozenset(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id not in _FUNCTIONS)

    @cached_property
    def _code(self) -> CodeType:
        return compile(self.expression.strip(), f"<constraint {self.expression}>", "eval")

    def __getstate__(self) -> dict[str, Any]:
        return {"expression": self.expression, "reason": self.reason}  # code objects cannot be pickled

    def holds(self, values: Mapping[str, Value]) -> bool:
        """Return whether the values satisfy the constraint; all its parameters must be among them.

        Raises:
            SpaceError: it cannot be computed from these values (a division by zero, text compared with a number).
        """
        try:
            return bool(eval(self._code, _GLOBALS, values))
        except (ArithmeticError, TypeError, ValueError, MemoryError) as error:
            used = {name: values[name] for name in sorted(self.names)}
            raise SpaceError(f"constraint {self.expression!r} cannot be computed for {used}: {error}") from error

    def __str__(self) -> str:
        text = re.sub(r"\s+", " ", self.expression.strip())
        return f"{text} ({self.reason})" if self.reason else text
