"""The results of a kernel: numbers, arrays that it has made, its own arguments, and tuples of these.

A result is computed where its ``return`` stands, and put together by Python when the kernel has run.
"""

from __future__ import annotations

from polytune.frontend.expression import Expression
from polytune.records import dataclass


@dataclass(frozen=True)
class ReturnedArray:
    """An array that is made for each call anew and handed out, or the very argument of this name."""

    name: str


@dataclass(frozen=True)
class ReturnedPart:
    """The first elements of an array that is made for each call anew, as many as a variable counts."""

    name: str
    count: Expression


@dataclass(frozen=True)
class ReturnedTuple:
    items: tuple[Result, ...]


@dataclass(frozen=True)
class ReturnedChoice:
    """The result of one of two returns, by a condition on scalars and parameters."""

    condition: Expression
    then: Result
    otherwise: Result


@dataclass(frozen=True)
class ReturnedNothing:
    """None."""


Result = Expression | ReturnedArray | ReturnedPart | ReturnedTuple | ReturnedChoice | ReturnedNothing
