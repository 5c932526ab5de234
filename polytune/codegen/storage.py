"""The places of the arrays and scalars of a program, and the order in which everything is passed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never

from polytune.codegen.loops import Block, Compute, For, If, Let, Node, Prefetch, RegionCall, Store, walk_nodes
from polytune.frontend.expression import (
    Argument,
    Checked,
    Element,
    Extent,
    Iterator,
    ParameterValue,
    arrays_written,
    walk,
)
from polytune.frontend.generated_names import generated
from polytune.frontend.scop import ArrayRole, Scop
from polytune.records import dataclass
from polytune.signature import ArrayType, ScalarType

PART, TILES = "part of a region", "tile sizes"
"""Places in a context, beside those of the variables, whose names have no spaces."""

STATE_WORDS = 1040
"""Words at the beginning of a context that belong to the team (``polytune.runtime.teams.team.STATE_LENGTH``)."""


def private_name(array: str) -> str:
    """The name of a worker's own copy of an array."""
    return generated(array, "private")


def expanded_name(array: str) -> str:
    """The name of a worker's copies of an array, one for each point of a tile."""
    return generated(array, "points")


def summed_name(array: str) -> str:
    """The name of a worker's copy of an array to add up in."""
    return generated(array, "sums")


def copy_name(array: str) -> str:
    """The name of the memory of a worker's own copy of an array."""
    return generated(array, "copy")


def copies_name(array: str) -> str:
    """The name of the memory of a worker's copies of an array, one for each point of a tile."""
    return generated(array, "copies")


def added_name(array: str) -> str:
    """The name of the memory of a worker's copy of an array to add up in."""
    return generated(array, "added")


def scratch_name(array: str) -> str:
    """The name of the memory that a local array, or a scalar that workers share, has for one call."""
    return generated("scratch", array)


def shared_name(scalar: str) -> str:
    """The name of a scalar that is in memory: where it is a variable, in another region maybe, it has its own name."""
    return generated(scalar, "shared")


@dataclass(frozen=True)
class Storage:
    """The variables of a kernel in memory.

    Attributes:
        arrays: array arguments, in the order of the call.
        scratch: local arrays and scalars that outlive a region or are shared between workers, for one call;
            a scalar as an array of one element.
        scalars: scalar arguments that are only read; those that the kernel assigns to, and complex ones, are in memory
            that begins with them.
        parameters: parameters of the SCoP.
    """

    arrays: tuple[str, ...]
    scratch: tuple[str, ...]
    scalars: tuple[str, ...]
    parameters: tuple[str, ...]

    @property
    def memory(self) -> tuple[str, ...]:
        return self.arrays + self.scratch

    @property
    def everything(self) -> tuple[str, ...]:
        """Names passed to every version, in order."""
        return self.arrays + self.scratch + self.scalars + self.parameters


def storage_of(scop: Scop) -> Storage:
    """The storage of a kernel, the same for all of its versions."""
    parameters = tuple(parameter.name for parameter in scop.parameters)
    scratch = tuple(array.name for array in scop.arrays if array.role is not ArrayRole.ARGUMENT)
    return Storage(
        tuple(array.name for array in scop.arrays if array.role is ArrayRole.ARGUMENT),
        scratch,
        tuple(
            name
            for name, kind in scop.signature.arguments
            if isinstance(kind, ScalarType) and name not in parameters and name not in scratch
        ),
        parameters,
    )


@dataclass(frozen=True)
class Used:
    """The names that a piece of code refers to: memory (arrays and scalars), scalar arguments, parameters, other
    names."""

    elements: frozenset[str]
    arguments: frozenset[str]
    names: frozenset[str]


def used_in(node: Node) -> Used:
    """The names that a node and all below it use."""
    elements, arguments, names = set(), set(), set()
    for part in walk_nodes(node):
        expressions: list[Any] = []
        match part:
            case For(start=start, stop=stop):
                expressions = [start, stop]
            case If(condition=condition):
                expressions = [condition]
            case Compute(operations=operations):
                expressions = list(operations)
            case Let(value=value):
                expressions = [value]
            case Store(element=element, value=value):
                expressions = [element, value]
            case Prefetch(element=element):
                expressions = [element]
            case RegionCall(prefix=prefix):
                expressions = list(prefix)
            case Block():
                pass
            case _:
                assert_never(part)
        for expression in expressions:
            for leaf in walk(expression):
                match leaf:
                    case Element(array=array) | Extent(array=array):
                        elements.add(array)
                    case Argument(name=name):
                        arguments.add(name)
                    case Iterator(name=name) | ParameterValue(name=name):
                        names.add(name)
                    case _:
                        pass
    return Used(frozenset(elements), frozenset(arguments), frozenset(names))


def written_in(node: Node) -> frozenset[str]:
    """The names of the memory that a node, or one below it, may write."""
    written: set[str] = set()
    for part in walk_nodes(node):
        match part:
            case Compute(operations=operations):
                for operation in operations:
                    written.update(arrays_written(operation))
                    written.update(each.report.array for each in walk(operation) if isinstance(each, Checked))
            case Store(element=element):
                written.add(element.array)
            case _:
                pass
    return frozenset(written)


def array_types(storage: Storage, scop: Scop) -> dict[str, ArrayType]:
    """The types of everything in memory; scratch is contiguous, and a scalar is an array of one element."""
    kinds = {}
    for name in storage.memory:
        array = scop.array(name)
        if array.role is ArrayRole.ARGUMENT:
            kind = scop.signature[name]
            assert isinstance(kind, ArrayType)
            kinds[name] = kind
        else:
            kinds[name] = ArrayType(array.dtype, max(1, array.ndim))
    return kinds


def contiguous_axis(scop: Scop, copies: frozenset[str]) -> Callable[[Element], int | None]:
    """A function that tells which subscript of an element walks through neighbours in memory; None where none does.

    Args:
        scop: the kernel.
        copies: arrays of which a worker has a copy of its own, which is contiguous.
    """
    kinds = array_types(storage_of(scop), scop)

    def axis(element: Element) -> int | None:
        kind = kinds.get(element.array)
        if kind is None or kind.layout == "C" or element.array in copies:
            return len(element.subscripts) - 1
        return 0 if kind.layout == "F" else None

    return axis


def dynamic_axes(kind: ArrayType) -> range:
    """The axes of an array whose strides its type leaves open."""
    return range(1 if kind.layout == "F" else 0, kind.ndim - (kind.layout == "C"))


def context_positions(storage: Storage, scop: Scop, part_words: int = 0) -> dict[str, int]:
    """Return where everything lies in the context of a call, in words behind the team's state; the tile sizes under
    ``TILES``, and before them, under ``PART``, the words that say which part of a region is meant.

    ``polytune.runtime.teams.context`` describes the layout, ``polytune.runtime.teams.context_memory`` fills it in.

    Args:
        storage: what the program uses.
        scop: its kernel.
        part_words: how many words contexts of the module have for the part of a region.
    """
    positions, position = {}, STATE_WORDS
    for name, kind in array_types(storage, scop).items():
        positions[name] = position
        position += 1 + len(dynamic_axes(kind))
    for name in (*storage.scalars, *storage.parameters):
        positions[name] = position
        position += 1
    positions[PART] = position
    positions[TILES] = position + part_words
    return positions
