"""Where each array and scalar of a program lives, and the order in which everything is passed."""

from __future__ import annotations

from dataclasses import dataclass

from polytune.codegen.own_names import OWN
from polytune.codegen.loops import Compute, For, If, Node, RegionCode, walk_nodes
from polytune.frontend.expression import Argument, Element, Extent, Iterator, ParameterValue, walk
from polytune.frontend.scop import ArrayRole, Scop
from polytune.signature import ScalarType



def private_name(array: str) -> str:
    """The name of a worker's own copy of an array, to be finished by ``finish_names``."""
    return f"{OWN}{array}_private"


@dataclass(frozen=True)
class Storage:
    """The variables of a kernel in memory.

    Attributes:
        arrays: array arguments, in the order of the call.
        scratch: local arrays and scalars that outlive a region or are shared between workers; made anew for every call, a
            scalar as an array of one element.
        scalars: scalar arguments.
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
    return Storage(
        tuple(array.name for array in scop.arrays if array.role is ArrayRole.ARGUMENT),
        tuple(array.name for array in scop.arrays if array.role is not ArrayRole.ARGUMENT),
        tuple(
            name
            for name, kind in scop.signature.arguments
            if isinstance(kind, ScalarType) and name not in parameters
        ),
        parameters,
    )


@dataclass(frozen=True)
class Used:
    """What a piece of code refers to: memory (arrays and scalars), scalar arguments, parameters, other names."""

    elements: frozenset[str]
    arguments: frozenset[str]
    names: frozenset[str]


def used_in(node: Node) -> Used:
    """The names that a node and all below it use."""
    elements, arguments, names = set(), set(), set()
    for part in walk_nodes(node):
        expressions: list = []
        match part:
            case For(start=start, stop=stop):
                expressions = [start, stop]
            case If(condition=condition):
                expressions = [condition]
            case Compute(operations=operations):
                expressions = list(operations)
        for expression in expressions:
            for leaf in walk(expression):
                match leaf:
                    case Element(array=array) | Extent(array=array):
                        elements.add(array)
                    case Argument(name=name):
                        arguments.add(name)
                    case Iterator(name=name) | ParameterValue(name=name):
                        names.add(name)
    return Used(frozenset(elements), frozenset(arguments), frozenset(names))


def body_parameters(region: RegionCode, storage: Storage, copies: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """The parameters of a region's body and what the worker passes for each, in order.

    ``copies`` names the arrays of which each worker has its own, to be passed in place of the shared one.
    """
    used = used_in(region.body)
    memory = [
        (name, private_name(name) if name in copies and name in region.private else name)
        for name in storage.memory
        if name in used.elements and name not in region.local
    ]
    scalars = [name for name in storage.scalars if name in used.arguments]
    # A parameter's name may also be that of a loop around or a bound of the window.
    values = [name for name in (*storage.parameters, *region.outer) if name in used.names]
    windows = [name for window in region.windows for name in window]
    return (*memory, *((name, name) for name in (*scalars, *values, *windows)))
