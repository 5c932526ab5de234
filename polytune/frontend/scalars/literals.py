"""Constants, of the source or from outside of it, as typed values."""

from __future__ import annotations

import ast

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.promotion import Value
from polytune.frontend.scalars.functions import is_known
from polytune.signature import DATA_TYPES


def constant_value(frame: Frame, node: ast.expr, value: object) -> Value:
    """The typed value of a constant.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        value: the constant, any object.

    Raises:
        UnsupportedSourceError: it is no number, or too large.
    """
    if isinstance(value, np.bool_):
        value = bool(value)
    if isinstance(value, np.generic) and value.dtype.name in DATA_TYPES:
        return promotion.cast(promotion.constant(value.item()), value.dtype.name)
    if isinstance(value, bool | float | complex) or (isinstance(value, int) and -(2**63) < value < 2**64):
        return promotion.constant(value)
    if isinstance(value, int):
        raise frame.source.refusal(
            node, "an integer of more than 64 bits", "integers have 64 bits at most", "use a float or a smaller integer"
        )
    raise frame.source.refusal(
        node,
        f"a value of type {type(value).__name__} in an expression",
        "expressions work on integers of 64 bits, and on real and complex numbers of double precision, at most",
        "pass it as an argument of such a type, or compute it outside the kernel",
    )


def read_text(frame: Frame, node: ast.Call, kind: type) -> Value | None:
    """The number of ``float("inf")`` and its like; None where a call converts no literal text.

    Args:
        frame: where it stands.
        node: the call, with one argument.
        kind: the type that is called.

    Raises:
        UnsupportedSourceError: the text is no number.
    """
    match node.args[0]:
        case ast.Constant(str(text)) if is_known(kind):
            try:
                return constant_value(frame, node, kind(text))
            except ValueError as error:
                raise frame.source.refusal(
                    node, f"{frame.source.segment(node)} is no number", str(error), "write a number"
                ) from None
    return None
