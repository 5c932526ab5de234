"""The options that several commands share, and those that take several values in a row.

``--budget 25 50 100`` is one of these, as a shell's brace expansion also writes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
"""Accepted before and after the command's name; ``main`` looks for it in the command line itself, because it must
also work for an error that keeps the options from being read."""

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


class ValueListCommand(TyperCommand):
    """A command whose repeatable options take every word up to the next option.

    So ``--budget 25 50`` is ``--budget 25 --budget 50``; both may be written.  If the first value is a number, the
    others are.  Arguments go before an option for text, or after ``--``.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        options = [parameter for parameter in self.params if getattr(parameter, "multiple", False)]
        return super().parse_args(ctx, repeat_options(args, {name for option in options for name in option.opts}))


def repeat_options(words: Sequence[str], repeatable: set[str]) -> list[str]:
    """The command line with the name of a repeatable option before each of its values.

    Args:
        words: the command line.
        repeatable: the names of the options, as ``"--budget"``.
    """
    written: list[str] = []
    option, first = "", ""
    for position, word in enumerate(words):
        if word == "--":
            return [*written, *words[position:]]
        if word.startswith("-") and len(word) > 1:
            name, _, first = word.partition("=")
            option = name if name in repeatable else ""
            written.append(word)
        elif option and not first:
            first = word
            written.append(word)
        elif option and (word.isdecimal() or not first.isdecimal()):
            written += [option, word]
        else:
            option = ""
            written.append(word)
    return written
