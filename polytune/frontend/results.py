"""The results of a kernel: numbers, arrays that it has made, its own arguments, tuples of these, and exceptions.

A result is computed where its ``return`` stands, and put together by Python when the kernel has run.
"""

from __future__ import annotations

from polytune.frontend.expression import Expression, walk
from polytune.records import dataclass


@dataclass(frozen=True)
class ReturnedArray:
    """An array that is made for each call anew and handed out, or the very argument of this name."""

    name: str


@dataclass(frozen=True)
class ReturnedAxis:
    """The subscripts of one axis of an array of which a part is returned: one, or a slice.

    Attributes:
        start: the first.
        size: how many there are; None where the axis is left out.
        step: the distance between them, above 0.
    """

    start: Expression
    size: Expression | None
    step: int


@dataclass(frozen=True)
class ReturnedPart:
    """A part of an array that depends on what the kernel has computed, as NumPy shows it.

    Attributes:
        name: the array, as that of `ReturnedArray`.
        axes: which of its elements.
    """

    name: str
    axes: tuple[ReturnedAxis, ...]


@dataclass(frozen=True)
class ReturnedList:
    """A list, whose elements are those of arrays.

    Attributes:
        parts: the arrays; several for a list of tuples.
        are_weak: of each whether its elements are Python's own numbers.
        kind: what an element is: ``number``, ``tuple`` or ``list``.
    """

    parts: tuple[Result, ...]
    are_weak: tuple[bool, ...]
    kind: str


@dataclass(frozen=True)
class ReturnedTuple:
    """Several results, as a tuple or a list.

    Attributes:
        items: what stands in it.
        kind: a Python expression for the class of a named tuple; empty for a plain tuple and for a list.
        imports: statements that give the names in it their meaning.
        is_list: whether it is a list.
    """

    items: tuple[Result, ...]
    kind: str = ""
    imports: tuple[str, ...] = ()
    is_list: bool = False


@dataclass(frozen=True)
class ReturnedChoice:
    """The result of one of two returns, by a condition on scalars and parameters."""

    condition: Expression
    then: Result
    otherwise: Result


@dataclass(frozen=True)
class ReturnedNothing:
    """None."""


@dataclass(frozen=True)
class ReturnedError:
    """An exception that is raised in place of a result.

    Attributes:
        text: a Python expression on the kernel's arguments, which makes the exception.
        imports: statements that give the names in it their meaning.
    """

    text: str
    imports: tuple[str, ...] = ()


Result = (
    Expression
    | ReturnedArray
    | ReturnedPart
    | ReturnedList
    | ReturnedTuple
    | ReturnedChoice
    | ReturnedNothing
    | ReturnedError
)


def imports_of(result: Result) -> list[str]:
    """The statements that give names in a result their meaning, each once."""
    parts = (each for each in walk(result) if isinstance(each, ReturnedError | ReturnedTuple))
    return list(dict.fromkeys(line for each in parts for line in each.imports))


def raised_errors(result: Result | None) -> list[ReturnedError]:
    """The exceptions that a kernel raises in place of returning its result."""
    return [] if result is None else [each for each in walk(result) if isinstance(each, ReturnedError)]
