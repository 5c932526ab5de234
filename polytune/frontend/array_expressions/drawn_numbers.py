"""Random numbers drawn one at a time, by compiled code, in the order of the source."""

from __future__ import annotations

from collections.abc import Sequence

from polytune.draws import draw_of, draw_text
from polytune.frontend.array_expressions.calls import ArrayCall
from polytune.frontend.array_expressions.library import library_call
from polytune.frontend.array_expressions.values import ArrayValue, Operand
from polytune.frontend.promotion import Value, cast

__all__ = ["STATES", "drawn_number"]

STATES = {"numpy": "random_state", "generator": "generator_state", "python": "python_random_state"}
"""The resources by which calls of random functions keep their order: of NumPy's global generator, of all that are
arguments, as two of these may be one, and of Python's."""


def drawn_number(call: ArrayCall, source: str, name: str, parameters: Sequence[ArrayValue | Value]) -> Operand | None:
    """One number, drawn by compiled code; None where that has no form of it.

    Args:
        call: the call.
        source: the generator, see ``polytune.draws``.
        name: of its function.
        parameters: what the number depends on, numbers.
    """
    text = draw_text(source, name)
    drawn = None if text is None else draw_of(text)
    if text is None or drawn is None or len(parameters) != len(drawn.parameters):
        return None
    arguments: list[ArrayValue | Value] = []
    for value, dtype in zip(parameters, drawn.parameters, strict=True):
        one = value if isinstance(value, Value) else value.at(())
        if (dtype == "int64" and not one.is_integer) or one.dtype.startswith("complex"):
            return None
        arguments.append(cast(one, dtype))
    return library_call(call.frame, call.node, text, arguments, [((), drawn.dtype)], state=STATES[source])[0]
