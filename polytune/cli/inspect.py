"""``polytune inspect``: print what any stage of the compiler made of a kernel."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from polytune.cli.console import print_json, progress
from polytune.cli.options import Debug, Json
from polytune.cli.target import load_kernel
from polytune.signature import ArgumentType, Signature, parse_type

if TYPE_CHECKING:
    from collections.abc import Callable


class Stage(StrEnum):
    """What can be shown, in the order in which it is made."""

    SCOP = "scop"
    DEPENDENCES = "deps"
    SCHEDULE = "schedule"
    LOOPS = "loops"
    CPU = "cpu"
    SPACE = "space"
    COUNTS = "counts"


def inspect(
    target: Annotated[str, typer.Argument(metavar="FILE:KERNEL", help="The kernel to look at.")],
    show: Annotated[Stage, typer.Option(help="The stage to print.")] = Stage.SCHEDULE,
    signature: Annotated[
        str, typer.Option(metavar="TYPES", help='Types of arguments, as in "C: float64[:, ::1], n: int".')
    ] = "",
    strict: Annotated[bool, typer.Option("--strict", help="Keep the source order of every sum.")] = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Print one stage of a kernel's compilation: scop, deps, schedule, loops, cpu, space or counts.

    Arguments whose type is neither annotated nor given are taken for what their use suggests: what is
    subscripted is a contiguous float64 array, what bounds a loop an int, and the rest a float.
    """
    kernel = load_kernel(target)
    if strict:
        kernel = kernel.strict
    with progress.status(f"analysing {kernel.__name__}"):
        types = complete_signature(kernel.__wrapped__, signature)
        text = kernel.stages(types).show(show.value)
    if as_json:
        print_json({"kernel": kernel.__name__, "show": show.value, "text": text})
    else:
        print(text)


def complete_signature(function: Callable, text: str) -> Signature:
    """The signature of a function: the types that ``text`` gives, and for the other arguments those inferred.

    Args:
        text: ``name: type`` pairs with commas between them, types as :func:`polytune.signature.parse_type` reads them.

    Raises:
        typer.BadParameter: a pair cannot be read, or names no argument of the function.
    """
    from polytune.frontend import infer_signature

    given = dict(_parse_pair(pair) for pair in split_pairs(text))
    inferred = infer_signature(function)
    names = [name for name, _ in inferred.arguments]
    for name in given:
        if name not in names:
            raise typer.BadParameter(f"--signature: there is no argument {name!r}; there are {', '.join(names)}")
    return Signature(tuple((name, given.get(name, kind)) for name, kind in inferred.arguments))


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
