"""``--signature``: the types of a kernel's arguments on a command line."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Annotated

import typer

from polytune.argument_types import types_of_source
from polytune.signature import ArgumentType, Signature, parse_type

SignatureOption = Annotated[
    str, typer.Option("--signature", metavar="TYPES", help='Types of arguments, as in "C: float64[:, ::1], n: int".')
]


def complete_signature(function: FunctionType, text: str) -> Signature:
    """The signature of a function: the types that ``text`` gives, and for the other arguments those of its source.

    Args:
        text: ``name: type`` pairs with commas between them, types as :func:`polytune.signature.parse_type` reads them.

    Raises:
        typer.BadParameter: a pair cannot be read, or names no argument of the function.
    """
    given = dict(_parse_pair(pair) for pair in split_pairs(text))
    names = inspect.signature(function).parameters
    for name in given:
        if name not in names:
            raise typer.BadParameter(f"--signature: there is no argument {name!r}; there are {', '.join(names)}")
    return types_of_source(function, given)


def split_pairs(text: str) -> list[str]:
    """Split at the commas that stand outside brackets: ``"A: float64[:, :], n: int"`` has one such comma."""
    pairs, depth = [""], 0
    for character in text:
        depth += {"[": 1, "]": -1}.get(character, 0)
        if character == "," and depth == 0:
            pairs.append("")
        else:
            pairs[-1] += character
    return [pair.strip() for pair in pairs if pair.strip()]


def _parse_pair(pair: str) -> tuple[str, ArgumentType]:
    name, colon, kind = pair.partition(":")
    if not colon:
        raise typer.BadParameter(f"--signature: {pair!r} is not NAME: TYPE, for example A: float64[:, ::1]")
    try:
        return name.strip(), parse_type(kind)
    except ValueError as error:
        raise typer.BadParameter(f"--signature: {error}") from None
