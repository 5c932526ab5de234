"""Draws of one number: the text that says which, the compiled form, and the call of Python in its place."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from polytune.draws import Draw, draw_of
from polytune.runtime.draws.distributions import DISTRIBUTIONS, DrawWriter
from polytune.runtime.draws.generators import BIT, DOUBLE, WORD, own_function
from polytune.runtime.draws.states import fill_table, generator_at

__all__ = ["draw", "emit_draw"]

_KINDS = {"float64": DOUBLE, "int64": WORD}


def draw(text: str, result: np.ndarray, arguments: Sequence[np.ndarray]) -> None:
    """Have Python draw a number, and find what compiled code needs to draw the next ones.

    Args:
        text: that of the draw.
        result: where the number is written, an array of one element.
        arguments: what it depends on, of one element each; of a generator that is an argument first the address.
            What comes after that keeps calls in order.
    """
    fill_table()
    drawn = draw_of(text)
    assert drawn is not None
    _, source, name = text.split(" ")
    values = [each.item() for each in arguments[: len(drawn.parameters)]]
    owner: Any = random if source == "python" else np.random
    if source == "generator":
        owner = generator_at(values.pop(0))
    result[...] = getattr(owner, name)(*values)


def emit_draw(
    builder: ir.IRBuilder, text: str, drawn: Draw, result: ir.Value, arguments: Sequence[ir.Value]
) -> ir.Value:
    """Write a draw.  Return whether compiled code has drawn the number: if not, Python has to.

    Args:
        builder: writes it.
        text: that of the draw.
        drawn: what it draws.
        result: the address where the number is written.
        arguments: the addresses of what it depends on.
    """
    kinds = [_KINDS[each] for each in drawn.parameters]
    values = [
        builder.load(builder.inttoptr(address, kind.as_pointer()), align=8, typ=kind)
        for address, kind in zip(arguments, kinds, strict=True)
    ]
    kind = ir.FunctionType(BIT, [WORD, *kinds])
    name = f"polytune_{text.replace(' ', '_')}"
    function = own_function(builder.module, name, kind, functools.partial(_write, text.partition(" ")[2], drawn))
    return builder.call(function, [result, *values])


def _write(key: str, drawn: Draw, builder: ir.IRBuilder, result: ir.Value, *arguments: ir.Value) -> None:
    """Write the function that draws."""
    failed = builder.append_basic_block("left_to_python")
    number = DISTRIBUTIONS[key](DrawWriter(builder, failed), arguments)
    builder.store(number, builder.inttoptr(result, _KINDS[drawn.dtype].as_pointer()), align=8)
    builder.ret(BIT(1))
    builder.position_at_end(failed)
    builder.ret(BIT(0))
