"""Calls of ``print``: library calls that keep their order, with numbers and arrays in the places of expressions."""

from __future__ import annotations

import ast
import copy

from polytune.errors import UnsupportedSourceError
from polytune.frontend.array_expressions.elementwise import computed
from polytune.frontend.array_expressions.library import library_call
from polytune.frontend.array_expressions.values import ArrayValue
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.promotion import Value
from polytune.frontend.scalars.expressions import evaluate
from polytune.frontend.scalars.objects import known_object

__all__ = ["lower_print"]

_STATE = "printed"
"""The resource by which prints keep their order."""

_KEYWORDS = ("sep", "end", "flush")


def lower_print(frame: Frame, call: ast.Call, function: object) -> bool:
    """Lower a call of ``print``.  Return whether it is one.

    Args:
        frame: where it stands.
        call: any call that is a statement.
        function: what is called.

    Raises:
        UnsupportedSourceError: it prints something other than text, numbers and arrays.
    """
    if function is not print:
        return False
    for keyword in call.keywords:
        if keyword.arg not in _KEYWORDS or not isinstance(keyword.value, ast.Constant):
            raise _refusal(frame, keyword.value)
    given = _Given(frame)
    shown = ast.Call(ast.Name("print", ast.Load()), [given.shown(each) for each in call.args], call.keywords)
    names = ", ".join(f"x{place}" for place in range(len(given.values)))
    text = f"def shown({names}): {ast.unparse(ast.fix_missing_locations(shown))}"
    library_call(frame, call, f"show {text}", given.values, [], state=_STATE)
    return True


def _refusal(frame: Frame, node: ast.expr) -> UnsupportedSourceError:
    return frame.source.refusal(
        node,
        f"{frame.source.segment(node)} in a call of print",
        "kernels print texts, f-strings, numbers and arrays, with constants as sep and end",
        "print the numbers one by one, or print outside the kernel",
    )


class _Given(ast.NodeTransformer):
    """Puts names in the places of numbers and arrays.

    Args:
        frame: where these are evaluated.
    """

    def __init__(self, frame: Frame):
        self._frame = frame
        self.values: list[ArrayValue | Value] = []

    def shown(self, node: ast.expr) -> ast.expr:
        """An argument of the call as it is printed."""
        made = self.visit(copy.deepcopy(node))
        assert isinstance(made, ast.expr)
        return made

    def visit(self, node: ast.AST) -> ast.AST:
        """Return what is printed for a part of the call."""
        match node:
            case ast.JoinedStr():
                return self.generic_visit(node)
            case ast.FormattedValue(value, conversion, described):
                inner = None if described is None else self.visit(described)
                return ast.FormattedValue(self.visit(value), conversion, inner)  # type: ignore[arg-type]
            case ast.Constant():
                return node
            case ast.Starred() | ast.Tuple() | ast.List():
                raise _refusal(self._frame, node)
            case ast.expr():
                return self._value(node)
        return self.generic_visit(node)

    def _value(self, node: ast.expr) -> ast.expr:
        """The name of a number or an array, or a text that is known."""
        known = known_object(self._frame, node)
        if known is not None:
            return ast.Constant(known.value)
        value = computed(self._frame, node, evaluate(self._frame, node))
        self.values.append(value)
        name: ast.expr = ast.Name(f"x{len(self.values) - 1}", ast.Load())
        if isinstance(value, Value) and value.weak:  # one of Python's
            name = ast.Call(ast.Attribute(name, "item", ast.Load()), [], [])
        return name
