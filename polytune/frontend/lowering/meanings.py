"""The meanings of names in a function that is walked: values, variables in memory, arrays, tuples and objects."""

from __future__ import annotations

from typing import Any

from polytune.frontend.array_expressions.values import ArrayValue, Selection
from polytune.frontend.expression import Expression
from polytune.frontend.promotion import Value
from polytune.records import dataclass


@dataclass(frozen=True)
class ArrayBinding:
    array: str


@dataclass(frozen=True)
class ValueBinding:
    """The name stands for an expression."""

    value: Value


@dataclass(frozen=True)
class ScalarBinding:
    """The name is a scalar variable in memory."""

    scalar: str


@dataclass(frozen=True)
class ShapeBinding:
    """The name is a tuple of integers, such as ``A.shape``."""

    extents: tuple[Value, ...]


@dataclass(frozen=True)
class TupleBinding:
    """The name is a tuple, or a list, of numbers, arrays and tuples.

    Attributes:
        fields: the names of a named tuple's items; empty where it is a plain tuple.
        kind: the class of a named tuple, where it is known; it is not of an argument.
        is_list: whether Python has a list.
    """

    items: tuple[Meaning, ...]
    fields: tuple[str, ...] = ()
    kind: type | None = None
    is_list: bool = False


@dataclass(frozen=True)
class ListBinding:
    """A list of tuples that is returned.

    Attributes:
        parts: an array for each place of a tuple.
        kind: what an element is: ``tuple`` or ``list``.
    """

    parts: tuple[Meaning, ...]
    kind: str


@dataclass(frozen=True)
class ObjectBinding:
    """The name is a Python object from outside the kernel, or a type."""

    value: Any


@dataclass(frozen=True)
class SliceObject:
    """A slice that a name means, as an object.

    Attributes:
        bounds: the meanings of its start, stop and step; None for one that is left out.
    """

    bounds: tuple[Meaning | None, ...]


@dataclass(frozen=True)
class GeneratorObject:
    """A generator of random numbers that a name means, as an object.

    Attributes:
        address: where it is, an integer.
    """

    address: Value


@dataclass(frozen=True)
class GeneratorMethod:
    """A method of a generator of random numbers.

    Attributes:
        generator: the generator.
        name: the method's.
    """

    generator: GeneratorObject
    name: str


@dataclass(frozen=True)
class ViewBinding:
    """The name stands for a part of an array, or for truth values in one."""

    view: ArrayValue


@dataclass(frozen=True)
class SelectionBinding:
    """The name stands for the elements that a mask selects."""

    selection: Selection


@dataclass(frozen=True)
class UnsizedBinding:
    """The name stands for a part of what a call gives that is as large as the data say, and that nothing can use."""

    call: str


@dataclass(frozen=True)
class Stale:
    """The name's value differs between the ways that lead here.

    Attributes:
        array: whether it is an array on some of them.
        branches: the branches at whose ends it means different arrays, by their files, places and the name.
        made: the array that a loop has made for it in its last iteration, if it has had any.
        has_run: whether the loop has had any.
    """

    array: bool = False
    branches: frozenset[tuple[str, int, int, str]] = frozenset()
    made: ArrayBinding | None = None
    has_run: Expression | None = None


@dataclass(frozen=True)
class Unknown:
    """A name whose meaning is not known, as the statement that assigns it is refused."""


Meaning = (
    ArrayBinding
    | ValueBinding
    | ScalarBinding
    | ShapeBinding
    | TupleBinding
    | ListBinding
    | ObjectBinding
    | ViewBinding
    | SelectionBinding
    | UnsizedBinding
)
Binding = Meaning | Stale | Unknown
