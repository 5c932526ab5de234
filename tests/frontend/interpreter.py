"""Executes a SCoP instance by instance: what the model says, to be compared with what Python does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import islpy as isl
import numpy as np

from polytune.frontend import expression as ir
from polytune.frontend.generated_names import REPORT
from polytune.frontend.results import (
    Result,
    ReturnedArray,
    ReturnedChoice,
    ReturnedList,
    ReturnedNothing,
    ReturnedPart,
    ReturnedTuple,
)
from polytune.frontend.scop import Access, AccessKind, ArrayRole, Scop, Statement
from polytune.runtime.intrinsics import library

Point = tuple[int, ...]
Instance = tuple[str, Point]

_ARITHMETIC = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "//": lambda left, right: left // right,
    "%": lambda left, right: left % right,
    "**": lambda left, right: left**right,
    "&": lambda left, right: left & right,
    "|": lambda left, right: left | right,
    "^": lambda left, right: left ^ right,
    "<<": lambda left, right: left << right,
    ">>": lambda left, right: left >> right,
    "min": lambda left, right: right if right < left else left,
    "max": lambda left, right: right if right > left else left,
}
_COMPARISON = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
}


class _BreakError(Exception):
    pass


class _ContinueError(Exception):
    pass


@dataclass
class Run:
    """A run of a SCoP: its memory, and every access that it made."""

    scop: Scop
    arguments: Mapping[str, Any]
    parameters: dict[str, int] = field(default_factory=dict)
    memory: dict[str, np.ndarray] = field(default_factory=dict)
    reads: set[tuple[Instance, str, Point]] = field(default_factory=set)
    writes: set[tuple[Instance, str, Point]] = field(default_factory=set)
    result: Any = None
    _instance: Instance = ("", ())
    _iterators: dict[str, int] = field(default_factory=dict)
    _counters: dict[str, int] = field(default_factory=dict)

    def execute(self) -> Run:
        """Run every instance in the order of the schedule tree."""
        for parameter in self.scop.parameters:
            self.parameters[parameter.name] = int(self._value(parameter.source))
        for array in self.scop.arrays:
            if array.role is ArrayRole.ARGUMENT:
                self.memory[array.name] = self.arguments[array.name]
                continue
            shape = tuple(int(self._value(extent)) for extent in array.shape)
            content = 0 if array.zeroed else -777
            self.memory[array.name] = np.full(shape, content).astype(array.dtype)
            if array.role is ArrayRole.CONSTANT:
                self.memory[array.name].flat[:] = array.values
            if array.initial is not None:
                self.memory[array.name][()] = self.arguments[array.initial]
        for statement, point in self._instances():
            self._instance = (statement.name, point)
            self._iterators = dict(zip(statement.iterators, point, strict=True))
            self._perform(statement.operations)
        self._instance = ("", ())
        if self.scop.result is not None:
            self.result = self._returned(self.scop.result)
        return self

    def _returned(self, result: Result) -> Any:
        match result:
            case ReturnedArray(name):
                return self.memory[name]
            case ReturnedPart(name, axes):
                found = self.memory[name]
                for dimension, axis in reversed(list(enumerate(axes))):
                    first = int(self._value(axis.start))
                    count = 1 if axis.size is None else int(self._value(axis.size))
                    places = first + axis.step * np.arange(count)
                    found = np.take(found, places[0] if axis.size is None else places, axis=dimension)
                return found
            case ReturnedList(parts, are_weak, kind):
                arrays = [self._returned(part) for part in parts]
                rows = [each.tolist() if weak else list(each) for each, weak in zip(arrays, are_weak, strict=True)]
                return rows[0] if kind == "number" else list(zip(*rows, strict=True))
            case ReturnedTuple(items):
                return tuple(map(self._returned, items))
            case ReturnedChoice(condition, then, otherwise):
                return self._returned(then if self._value(condition) else otherwise)
            case ReturnedNothing():
                return None
        return self._value(result)

    def _instances(self) -> list[tuple[Statement, Point]]:
        schedule = self.scop.schedule.get_map().intersect_domain(self.scop.schedule.get_domain())
        schedule = schedule.intersect_params(self.parameter_values())
        found: list[tuple[Point, str, Point]] = []
        for relation in maps_of(schedule):
            name = relation.get_tuple_name(isl.dim_type.in_)
            dimensions = relation.dim(isl.dim_type.in_)
            for point in points_of(relation.wrap()):
                found.append((point[dimensions:], name, point[:dimensions]))
        times = [time for time, _, _ in found]
        assert len(set(times)) == len(times), "two instances at one time"
        return [(self.scop.statement(name), point) for _, name, point in sorted(found)]

    def parameter_values(self) -> isl.Set:
        """The one point of parameter space that the run is at."""
        values = self.scop.context
        for name, value in self.parameters.items():
            position = values.find_dim_by_name(isl.dim_type.param, name)
            values = values.fix_val(isl.dim_type.param, position, isl.Val(value, values.get_ctx()))
        assert not values.is_empty()
        return values

    def _perform(self, operations: Iterable[ir.Operation]) -> None:
        for operation in operations:
            match operation:
                case ir.Assign(target, value):
                    assert value.dtype == target.dtype
                    computed = self._value(value)
                    index = self._index(target)
                    self.writes.add((self._instance, target.array, index))
                    self.memory[target.array][index] = computed
                case ir.Branch(condition, then, otherwise):
                    self._perform(then if self._value(condition) else otherwise)
                case ir.While(condition, body):
                    while self._value(condition) and self._goes_on(body):
                        pass
                case ir.Loop(counter, start, stop, step, body):
                    for value in range(int(self._value(start)), int(self._value(stop)), step):
                        self._counters[counter] = value
                        if not self._goes_on(body):
                            break
                case ir.Break():
                    raise _BreakError
                case ir.Continue():
                    raise _ContinueError
                case ir.Checked(violation, report, site, body, leaves):
                    reads = set(self.reads)
                    if self._value(violation):
                        self.memory[report.array][()] = site
                        if leaves:
                            raise _BreakError
                    else:
                        self.reads = reads
                        self._perform(body)

                case ir.LibraryCall(function, results, arguments, _):
                    given = []
                    for part in arguments:
                        places = self._places(part)
                        self.reads |= {(self._instance, part.element.array, place) for place in places.flat}
                        values = [self.memory[part.element.array][place] for place in places.flat]
                        given.append(np.array(values, part.element.dtype).reshape(places.shape))
                    found = [np.zeros(self._places(part).shape, part.element.dtype) for part in results]
                    library.run(function, found, given)
                    for part, values in zip(results, found, strict=True):
                        places = self._places(part)
                        self.writes |= {(self._instance, part.element.array, place) for place in places.flat}
                        for place, value in zip(places.flat, values.flat, strict=True):
                            self.memory[part.element.array][place] = value

    def _places(self, part: ir.ArrayPart) -> np.ndarray:
        """The subscripts of the elements of a part of an array, in its shape."""
        shape = tuple(int(self._value(extent)) for extent in part.extents)
        places = np.empty(shape, object)
        for index in np.ndindex(shape):
            self._counters.update(zip((counter.name for counter in part.counters), index, strict=True))
            places[index] = self._index(part.element)
        return places

    def _goes_on(self, body: Iterable[ir.Operation]) -> bool:
        """Perform an iteration of a loop inside of a statement; whether it has not ended the loop."""
        try:
            self._perform(body)
        except _BreakError:
            return False
        except _ContinueError:
            pass
        return True

    def _index(self, element: ir.Element) -> Point:
        index = tuple(int(self._value(subscript)) for subscript in element.subscripts)
        assert all(0 <= i < n for i, n in zip(index, self.memory[element.array].shape, strict=True))
        return index

    def _value(self, node: ir.Expression) -> Any:
        scalar = np.dtype(node.dtype).type
        match node:
            case ir.Constant(value):
                return scalar(value)
            case ir.Counter(name):
                return scalar(self._counters[name])
            case ir.Iterator(name):
                return scalar(self._iterators[name])
            case ir.ParameterValue(name):
                return scalar(self.parameters[name])
            case ir.Argument(name):
                return scalar(self.arguments[name])
            case ir.Extent(array, dimension):
                return scalar(self.arguments[array].shape[dimension])
            case ir.Element(array):
                assert self.memory[array].dtype == node.dtype
                index = self._index(node)
                if array == REPORT:
                    return self.memory[array][()]
                access = (self._instance, array, index)
                # A variable that the instance itself has assigned has no value from before.
                if index or access not in self.writes:
                    self.reads.add(access)
                return self.memory[array][index]
            case ir.Unary(operator, operand):
                value = self._value(operand)
                return not value if operator == "not" else abs(value) if operator == "abs" else -value
            case ir.Binary(operator, left, right):
                assert left.dtype == right.dtype and (left.dtype == node.dtype or operator == "/")
                return scalar(_ARITHMETIC[operator](self._value(left), self._value(right)))
            case ir.Power(operand, exponent):
                assert operand.dtype == node.dtype
                return self._value(operand) ** scalar(exponent)
            case ir.Call("pow", (base, power)):
                return scalar(self._value(base) ** self._value(power))
            case ir.Compare(operator, left, right):
                assert left.dtype == right.dtype
                return bool(_COMPARISON[operator](self._value(left), self._value(right)))
            case ir.Logical("and", operands):
                return all(self._value(operand) for operand in operands)
            case ir.Logical("or", operands):
                return any(self._value(operand) for operand in operands)
            case ir.Select(condition, then, otherwise):
                return self._value(then if self._value(condition) else otherwise)
            case ir.Cast(operand):
                return scalar(self._value(operand))
            case ir.Call("real" | "imag" as name, (operand,)):
                return scalar(getattr(self._value(operand), name))
            case ir.Call("conjugate" | "complex" as function, arguments):
                values = [self._value(argument) for argument in arguments]
                return scalar(complex(*values) if function == "complex" else np.conjugate(*values))
            case ir.Call("rounded", (operand,)):
                return scalar(self._value(operand))
            case ir.Call("half_value" | "half_bits" | "half_rounded", (operand,)):
                return scalar(np.float16(self._value(operand)))
            case ir.Call(function, arguments):
                of_numpy = node.dtype == "float32" or node.dtype.startswith("complex")
                compute = getattr(np, function) if of_numpy else getattr(math, function, None)
                return scalar((compute or getattr(np, function))(*(self._value(a) for a in arguments)))
        raise AssertionError(node)


def maps_of(union: isl.UnionMap) -> list[isl.Map]:
    found: list[isl.Map] = []
    union.foreach_map(found.append)
    return found


def points_of(domain: isl.Set) -> list[Point]:
    """All points of a finite set without parameters to choose."""
    points: list[Point] = []
    if domain.is_params():
        return [()]
    dimensions = domain.dim(isl.dim_type.set)

    def note(point: isl.Point) -> None:
        values = (point.get_coordinate_val(isl.dim_type.set, d) for d in range(dimensions))
        points.append(tuple(int(value.to_python()) for value in values))

    domain.foreach_point(note)
    return points


def check_accesses(run: Run) -> None:
    """What was accessed is in the relations, and what they say without doubt was accessed."""
    parameters = run.parameter_values()
    for statement in run.scop.statements:
        may = {kind: _access_points(statement.accesses, kind, parameters) for kind in AccessKind}
        writes = {write for write in run.writes if write[0][0] == statement.name}
        reads = {read for read in run.reads if read[0][0] == statement.name}
        assert may[AccessKind.MUST_WRITE] <= writes <= may[AccessKind.MUST_WRITE] | may[AccessKind.MAY_WRITE]
        assert reads <= may[AccessKind.READ]
        if not _chooses_by_data(statement):
            assert reads == may[AccessKind.READ]


def _chooses_by_data(statement: Statement) -> bool:
    """Whether what the statement reads depends on what it has read."""
    choices = (
        node
        for operation in statement.operations
        for node in ir.walk(operation)
        if isinstance(node, ir.Select | ir.Logical | ir.Branch | ir.While | ir.Loop | ir.Checked)
    )
    parts = [
        node for operation in statement.operations for node in ir.walk(operation) if isinstance(node, ir.ArrayPart)
    ]
    sizes = (node for part in parts for extent in part.extents for node in ir.walk(extent))
    decided = (node for choice in choices for node in ir.walk(choice))
    elements = (
        node for operation in statement.operations for node in ir.walk(operation) if isinstance(node, ir.Element)
    )
    subscripts = (node for element in elements for each in element.subscripts for node in ir.walk(each))
    return any(isinstance(node, ir.Element) for node in (*decided, *sizes, *subscripts))


def _access_points(
    accesses: Iterable[Access], kind: AccessKind, parameters: isl.Set
) -> set[tuple[Instance, str, Point]]:
    found = set()
    for access in accesses:
        if access.kind is kind:
            relation = access.relation.intersect_params(parameters)
            split = relation.dim(isl.dim_type.in_)
            for point in points_of(relation.wrap()):
                found.add(((access.statement, point[:split]), access.array, point[split:]))
    return found
