"""A kernel executed instance by instance in the order of the source: what every version is held against."""

from __future__ import annotations

import random
import zlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import islpy as isl
import numpy as np

from polytune.frontend.expression import Argument, Iterator, Operation, map_children
from polytune.frontend.scop import Array, ArrayRole, Scop, Statement
from tests.validation.expressions import Expressions, parameter_values
from tests.validation.field import PRIME, random_element
from tests.validation.memory import Cells, Clock, Point
from tests.validation.operations import Operations, Write

Kind = str
"""The name that statements of equal operations, whose instances may stand for one another, have in common: that of the
first one."""

Instance = tuple[Kind, Point]


@dataclass
class Reference:
    """What the source does.

    Attributes:
        scop: the kernel.
        parameters: the values of its parameters.
        scalars: the elements that stand for scalar arguments.
        initial: what the arrays hold at first.
        instances: for each instance what it writes, in order; several where statements with equal operations share it.
        kinds: the kind of each statement.
        reductions: the kinds of updates that may run in another order, so that what they write differs meanwhile.
        final: what the arrays hold at last.
        counts: how often each element of an array is written.
        result: what the kernel returns.
    """

    scop: Scop
    parameters: dict[str, int]
    scalars: dict[str, int]
    extents: dict[str, Point]
    initial: dict[str, list[int | None]]
    kinds: dict[str, Kind]
    reductions: frozenset[Kind]
    instances: dict[Instance, list[tuple[Write, ...]]] = field(default_factory=dict)
    final: dict[str, list[int | None]] = field(default_factory=dict)
    counts: dict[str, list[int]] = field(default_factory=dict)
    result: Any = None

    @property
    def size(self) -> int:
        """How many instances there are."""
        return sum(map(len, self.instances.values()))

    def shape(self, array: Array) -> Point:
        """The shape of an array, for the actual parameters."""
        expressions = self.expressions()
        return tuple(max(0, expressions.index(extent)()) for extent in array.shape)

    def expressions(self) -> Expressions:
        """A translation of expressions for these arguments."""
        return Expressions(self.scop.strict, self.parameters, self.scalars, self.extents)

    def content(self, array: Array) -> list[int | None]:
        """What an array, or a scalar, holds at first: garbage in a local array that is not filled with zeros."""
        if array.initial is not None:
            return [self.scalars[array.initial]]
        size = int(np.prod(self.shape(array), dtype=int))
        if array.zeroed or array.role is ArrayRole.SCALAR:
            return [0] * size
        numbers = random.Random(zlib.crc32(array.name.encode()))
        return [random_element(numbers) for _ in range(size)]

    def points_of(self, domain: isl.Set) -> list[Point]:
        """The instances of a domain for the actual parameters."""
        return _points(domain.intersect_params(self.here()))

    def here(self) -> isl.Set:
        """The one point of parameter space that the run is at."""
        here = self.scop.context
        for name, value in self.parameters.items():
            position = here.find_dim_by_name(isl.dim_type.param, name)
            if position >= 0:
                here = here.fix_val(isl.dim_type.param, position, isl.Val(value, here.get_ctx()))
        if here.is_empty():
            raise ValueError(f"{self.scop.name} is not made for the parameters {self.parameters}")
        return here


def execute_source(scop: Scop, arguments: Mapping[str, Any], seed: int) -> Reference:
    """Run a kernel in the order of the source.

    Args:
        scop: the kernel.
        arguments: its arguments by name; of arrays and of floats only shapes and types matter, as random elements take
            the place of their contents.
        seed: decides these.

    Raises:
        ValueError: an access leaves its array: such a call is refused before it begins.
    """
    numbers = random.Random(seed)
    arrays = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
    parameters = parameter_values({each.name: each.source for each in scop.parameters}, arguments)
    used = {each.source.name for each in scop.parameters if isinstance(each.source, Argument)}
    scalars = {
        name: int(value) % PRIME
        if name in used or not isinstance(value, (float, np.floating))
        else random_element(numbers)
        for name, value in arguments.items()
        if name not in arrays
    }
    kinds = _kinds(scop)
    reference = Reference(
        scop,
        parameters,
        scalars,
        {name: array.shape for name, array in arrays.items()},
        {},
        kinds,
        frozenset(kinds[each.name] for each in scop.statements if each.reduction is not None and not scop.strict),
    )
    for array in scop.arrays:
        if array.role is ArrayRole.ARGUMENT:
            size = arrays[array.name].size
            reference.initial[array.name] = [random_element(numbers) for _ in range(size)]
        else:
            reference.initial[array.name] = reference.content(array)
    _run(reference)
    return reference


def _run(reference: Reference) -> None:
    scop, expressions = reference.scop, reference.expressions()
    for array in scop.arrays:
        content = list(reference.initial[array.name])
        shape = reference.extents.get(array.name) or reference.shape(array)
        reference.counts[array.name] = [0] * len(content)
        expressions.memory[array.name] = Cells(array.name, shape, Clock(), content, reference.counts[array.name])
    operations = Operations(expressions)
    actions = {each.name: operations.actions(each.operations) for each in scop.statements}
    found: dict[Instance, list[tuple[Write, ...]]] = defaultdict(list)
    for statement, point in _in_source_order(reference):
        expressions.names.update(zip(statement.iterators, point, strict=True))
        operations.written = []
        try:
            for action in actions[statement.name]:
                action()
        except AssertionError as error:
            raise ValueError(f"{scop.name} refuses these arguments: {statement.name}{list(point)}: {error}") from None
        found[reference.kinds[statement.name], point].append(tuple(operations.written))
    reference.instances = dict(found)
    reference.final = {name: cells.values for name, cells in expressions.memory.items()}
    reference.result = None if scop.result is None else expressions.value(scop.result)()


def _in_source_order(reference: Reference) -> list[tuple[Statement, Point]]:
    """The instances in the order of the schedule that the frontend has made."""
    scop = reference.scop
    order = scop.schedule.get_map().intersect_domain(scop.schedule.get_domain()).intersect_params(reference.here())
    found: list[tuple[Point, str, Point]] = []

    def note(part: isl.Map) -> None:
        name, depth = part.get_tuple_name(isl.dim_type.in_), part.dim(isl.dim_type.in_)
        found.extend((point[depth:], name, point[:depth]) for point in _points(part.wrap()))

    order.foreach_map(note)
    found.sort()
    return [(scop.statement(name), point) for _, name, point in found]


def _points(domain: isl.Set) -> list[Point]:
    if domain.is_params() or domain.dim(isl.dim_type.set) == 0:
        return [] if domain.is_empty() else [()]
    dimensions = domain.dim(isl.dim_type.set)
    found: list[Point] = []

    def note(point: isl.Point) -> None:
        values = (point.get_coordinate_val(isl.dim_type.set, axis) for axis in range(dimensions))
        found.append(tuple([value.to_python() for value in values]))

    domain.foreach_point(note)
    return found


def _kinds(scop: Scop) -> dict[str, Kind]:
    """Statements by what they compute of their iterators."""
    kinds: dict[str, Kind] = {}
    first: dict[Any, Kind] = {}
    for statement in scop.statements:
        key = (len(statement.iterators), renamed(statement.operations, statement.iterators))
        kinds[statement.name] = first.setdefault(key, statement.name)
    return kinds


def renamed(operations: tuple[Operation, ...], iterators: tuple[str, ...]) -> tuple[Any, ...]:
    """Operations with their iterators numbered."""
    numbers = {name: Iterator(str(number)) for number, name in enumerate(iterators)}

    def change(part: Any) -> Any:
        return numbers.get(part.name, part) if isinstance(part, Iterator) else map_children(part, change)

    return tuple(map(change, operations))
