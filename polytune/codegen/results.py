"""What a kernel returns, as Python text."""

from __future__ import annotations

from collections.abc import Callable

from polytune.frontend.expression import Expression
from polytune.frontend.results import Result, ReturnedArray, ReturnedChoice, ReturnedNothing, ReturnedTuple


def result_text(result: Result, value: Callable[[Expression], str], array: Callable[[str], str]) -> str:
    """The text of an expression that gives what the kernel returns.

    Args:
        result: what it returns.
        value: gives the text of a number.
        array: gives the text of an array.
    """
    match result:
        case ReturnedArray(name):
            return array(name)
        case ReturnedTuple(items):
            inner = ", ".join(result_text(item, value, array) for item in items)
            return f"({inner},)" if len(items) == 1 else f"({inner})"
        case ReturnedChoice(condition, then, otherwise):
            texts = (result_text(side, value, array) for side in (then, otherwise))
            yes, no = texts
            return f"({yes} if {value(condition)} else {no})"
        case ReturnedNothing():
            return "None"
    return value(result)
