"""Calls of functions from outside of the kernel: which are refused, and what their arguments may be."""

from __future__ import annotations

import ast

from polytune.errors import UnsupportedSourceError
from polytune.frontend.array_expressions.calls import handler_of, handler_of_several
from polytune.frontend.array_expressions.reading import mentions_arrays
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.names import outside_object
from polytune.frontend.scalars.functions import is_known
from polytune.frontend.syntax.source import inlinable

ONE_OF_THESE = "use one of these, or compute the value before the kernel is called"
"""The remedy where a call is refused for what it calls."""

_BUILTINS = len, range, enumerate, zip, reversed


def is_method(frame: Frame, node: ast.expr) -> bool:
    """Return whether what is called is a method of an array."""
    return isinstance(node, ast.Attribute) and mentions_arrays(frame, node.value)


def unknown_call(frame: Frame, node: ast.Call) -> UnsupportedSourceError | None:
    """The error for a call of a function from outside that is not compiled, whatever its arguments are; None for any
    other call."""
    function = outside_object(frame, node.func)
    is_outside = function is not None and inlinable(function) is None and not isinstance(function, type)
    is_special = any(function is each for each in _BUILTINS) or is_known(getattr(function, "__self__", None))
    if not is_outside or is_special or is_known(function) or handler_of(function) or handler_of_several(function):
        return None
    name = frame.source.segment(node.func)
    return refused_call(frame, node, f"{name} is called", ONE_OF_THESE)


def refused_call(frame: Frame, node: ast.Call, what: str, remedy: str = ONE_OF_THESE) -> UnsupportedSourceError:
    """The error for a call that is not compiled.

    Args:
        frame: where it stands.
        node: the call.
        what: what is wrong with it.
        remedy: what to do.
    """
    return frame.source.refusal(
        node,
        what,
        "what a call does must be known: a function of numbers from math or numpy, min, max, abs, int, float, len, "
        "or a function of yours whose source can be inlined",
        remedy,
    )


def plain_arguments(frame: Frame, node: ast.Call) -> None:
    """Refuse keyword and starred arguments."""
    for argument in (*node.args, *node.keywords):
        if isinstance(argument, ast.Starred | ast.keyword):
            raise frame.source.refusal(
                argument if isinstance(argument, ast.Starred) else argument.value,
                "a keyword or starred argument in a call",
                "arguments of inlined and mathematical functions are matched by position",
                "pass the arguments by position",
            )
