"""Random choices, and what may be named at a place of a program."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

T = TypeVar("T")

ITERATORS = ("i", "j", "k", "l")


class Choices(random.Random):
    """Random choices that a seed decides."""

    def chance(self, percent: float) -> bool:
        """True in so many of a hundred cases."""
        return self.random() * 100 < percent

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, each as likely."""
        return options[int(self.random() * len(options))]


@dataclass(frozen=True)
class Element:
    """An array of a program, as far as its text needs it.

    Attributes:
        name: its name.
        dtype: the type of its elements.
        rank: its number of dimensions.
    """

    name: str
    dtype: str
    rank: int

    @property
    def is_integer(self) -> bool:
        return self.dtype.startswith("int")


@dataclass(frozen=True)
class Scope:
    """What may be named at a place.

    Attributes:
        iterators: variables of the loops around, outermost first.
        indices: integer variables that are affine in them.
        scalars: variables that certainly have a value, with their types.
        truths: variables that hold truth values, and whether these are NumPy's for certain.
    """

    iterators: tuple[str, ...] = ()
    indices: tuple[str, ...] = ()
    scalars: tuple[tuple[str, str], ...] = ()
    truths: tuple[tuple[str, bool], ...] = ()

    def within(self, iterator: str) -> Scope:
        return replace(self, iterators=(*self.iterators, iterator))

    def counting(self, index: str) -> Scope:
        return replace(self, indices=(*self.indices, index))

    def knowing(self, name: str, kind: str) -> Scope:
        return replace(self, scalars=(*self.scalars, (name, kind)))

    def deciding(self, name: str, of_numpy: bool) -> Scope:
        return replace(self, truths=(*self.truths, (name, of_numpy)))
