"""Runs a version in the loop IR as plain Python, in an order that is as unfavourable as its regions allow.

What a region promises is used to the full: tiles of a parallel region, and those on one diagonal of a wavefront, run in
random order, and before each of them the arrays of which its worker has a copy are filled with poison.  A missing
dependence, a copy that should have been shared or a wrong window then gives a wrong result.  Where workers have copies
to add up in, so has each tile, with zeros where something may be added and poison everywhere else.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from polytune.codegen.loops import Block, Compute, For, If, Node, PrivateSum, Program, RegionCall, RegionCode
from polytune.frontend import expression as ir
from polytune.frontend.scop import Array, ArrayRole, Scop

POISON = {"float32": np.nan, "float64": np.nan, "int32": -(2**31), "int64": -(2**63)}

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "//": lambda left, right: left // right,
    "%": lambda left, right: left % right,
    "**": lambda left, right: left**right,
    "min": lambda left, right: right if right < left else left,
    "max": lambda left, right: right if right > left else left,
}
_COMPARISON: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
}
_UNARY: dict[str, Callable[[Any], Any]] = {"-": lambda x: -x, "+": lambda x: +x, "abs": abs, "not": lambda x: not x}

Value = Callable[[], Any]
Action = Callable[[], None]


class Interpreter:
    """One version of a kernel, translated to closures once and run as often as wanted.

    Attributes:
        executed: how often each statement was run by the last call of ``run``.
    """

    def __init__(self, program: Program, scop: Scop):
        self.program, self.scop = program, scop
        self.random = random.Random(0)
        self.names: dict[str, int] = {}
        self.memory: dict[str, np.ndarray] = {}
        self.tiles: Sequence[int] = ()
        self.executed: Counter[str] = Counter()
        self._bodies = [self._action(region.body) for region in program.regions]
        self._calls = {region.index: self._region(region) for region in program.regions}
        self._skeleton = self._action(program.skeleton)

    def run(self, arguments: Mapping[str, Any], tiles: Sequence[int], seed: int) -> Any:
        """Run once: the arguments' arrays are updated in place, the kernel's result is returned.

        Args:
            arguments: the kernel's arguments by name.
            tiles: as many tile sizes as the version has.
            seed: decides the order of tiles.
        """
        self.random = random.Random(seed)
        self.names, self.tiles, self.executed = {}, tiles, Counter()
        self.memory = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
        self.names.update({name: value for name, value in arguments.items() if name not in self.memory})
        for parameter in self.scop.parameters:
            self.names[parameter.name] = int(self._value(parameter.source)())
        for array in self.scop.arrays:
            if array.role is not ArrayRole.ARGUMENT:
                self.memory[array.name] = self._allocated(array)
        self._skeleton()
        return None if self.scop.result is None else self._value(self.scop.result)()

    # Memory

    def _allocated(self, array: Array) -> np.ndarray:
        shape = tuple(max(0, int(self._value(extent)())) for extent in array.shape)
        if array.initial is not None:
            return np.full(shape, self.names[array.initial], array.dtype)
        return np.full(shape, 0 if array.zeroed else POISON[array.dtype], array.dtype)

    def _fresh(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        """New copies of arrays, with poison in them."""
        return {name: np.full_like(self.memory[name], POISON[self.memory[name].dtype.name]) for name in names}

    # Nodes

    def _action(self, node: Node) -> Action:
        match node:
            case Block(children):
                return _in_turn([self._action(child) for child in children])
            case For():
                return self._loop(node)
            case If(condition, then, otherwise):
                test, yes = self._value(condition), self._action(then)
                no = self._action(otherwise) if otherwise is not None else lambda: None
                return lambda: yes() if test() else no()
            case Compute(statement, operations):
                step = _in_turn([self._operation(operation) for operation in operations])

                def compute() -> None:
                    self.executed[statement] += 1
                    step()

                return compute
            case RegionCall(region, prefix):
                values = [self._value(value) for value in prefix]
                return lambda: self._calls[region](tuple(value() for value in values))
        raise AssertionError(node)

    def _loop(self, node: For) -> Action:
        start, stop, body = self._value(node.start), self._value(node.stop), self._action(node.body)

        def loop() -> None:
            for value in range(start(), stop(), node.step):
                self.names[node.variable] = value
                body()
            self.names.pop(node.variable, None)

        return loop

    def _operation(self, operation: ir.Operation) -> Action:
        match operation:
            case ir.Assign(target, value):
                place, compute = self._place(target), self._value(value)

                def assign() -> None:
                    computed = compute()
                    self.memory[target.array][place()] = computed

                return assign
            case ir.Branch(condition, then, otherwise):
                test = self._value(condition)
                yes, no = (_in_turn([self._operation(o) for o in branch]) for branch in (then, otherwise))
                return lambda: yes() if test() else no()
            case ir.While(condition, body):
                test, step = self._value(condition), _in_turn([self._operation(o) for o in body])

                def repeat() -> None:
                    while test():
                        step()

                return repeat
            case ir.LibraryCall(ir.MATRIX_PRODUCT, (result,), (left, right)):
                places, one, other = self._places(result), self._places(left), self._places(right)

                def multiply() -> None:
                    first, second = (self.memory[each.element.array] for each in (left, right))
                    found = first[one()] @ second[other()]
                    self.memory[result.element.array][places()] = found

                return multiply
        raise AssertionError(operation)

    def _places(self, part: ir.ArrayPart) -> Callable[[], tuple[np.ndarray, ...]]:
        """The subscripts of all elements of a part of an array."""
        extents, place = [self._value(extent) for extent in part.extents], self._place(part.element)

        def places() -> tuple[np.ndarray, ...]:
            shape = tuple([extent() for extent in extents])
            found = [np.zeros(shape, int) for _ in part.element.subscripts]
            for index in np.ndindex(shape):
                self.names.update(zip((counter.name for counter in part.counters), index, strict=True))
                for axis, subscript in zip(found, place(), strict=True):
                    axis[index] = subscript
            return tuple(found)

        return places

    # Regions

    def _region(self, region: RegionCode) -> Callable[[tuple[int, ...]], None]:
        ranges = [(self._value(member.lower), self._value(member.upper)) for member in region.members]
        elements = [self._summed(own) for own in region.sums]

        def call(outer: tuple[int, ...]) -> None:
            names = dict(self.names)
            self.names.update(zip(region.outer, outer, strict=True))
            bounds = [(low(), high()) for low, high in ranges]
            # The skeleton calls a region only where it has work to do.
            assert all(low < high for low, high in bounds)
            copies: list[dict[str, np.ndarray]] = []
            for task in self._tasks(region, bounds):
                copies.append(self._cleared(region))
                self._tile(region, task, bounds, copies[-1])
            for number, own in enumerate(region.sums):
                part = elements[number]()
                for copy in copies:
                    self.memory[own.array][part] += copy[own.array][part]
            self.names = names

        return call

    def _tasks(self, region: RegionCode, bounds: list[tuple[int, int]]) -> list[tuple[int, ...]]:
        """The origins of tiles along the shared members, in an order that the region's kind allows."""
        if region.kind == "serial":
            return [()]
        shared = zip(bounds[: region.shared], self.tiles, strict=False)
        counts = [range(len(range(low, high, size))) for (low, high), size in shared]
        tasks = list(product(*counts))
        self.random.shuffle(tasks)
        if region.kind == "wavefront":
            tasks.sort(key=sum)
        return [
            tuple(low + step * size for step, (low, _), size in zip(task, bounds, self.tiles, strict=False))
            for task in tasks
        ]

    def _summed(self, own: PrivateSum) -> Value:
        """The index of the elements that a private sum is of."""
        if own.elements is None:
            return lambda: ()
        low, high = self._value(own.elements.lower), self._value(own.elements.upper)
        return lambda: slice(low(), high())

    def _cleared(self, region: RegionCode) -> dict[str, np.ndarray]:
        """Copies to add up in: zeros where something may be added."""
        copies = self._fresh(own.array for own in region.sums)
        for own in region.sums:
            copies[own.array][self._summed(own)()] = 0
        return copies

    def _tile(
        self, region: RegionCode, task: tuple[int, ...], bounds: list[tuple[int, int]], sums: dict[str, np.ndarray]
    ) -> None:
        """The work of one task: the tiles along the other members, one after another."""
        shared = self.memory
        self.memory = {**shared, **self._fresh(region.private), **sums}
        if region.expansion is not None:
            copies = self.tiles[region.expansion.member]
            self.memory.update({name: np.stack([self.memory[name]] * copies) for name in region.expanded})
        inner = [range(low, high, self.tiles[k]) for k, (low, high) in enumerate(bounds) if k >= region.shared]
        for rest in product(*inner):
            for member, low in enumerate(task + rest):
                names = region.windows[member]
                self.names[names[0]] = low
                self.names[names[1]] = min(low + self.tiles[member], bounds[member][1])
            # A local scalar is a variable of the tile's function.
            self.memory.update(self._fresh(region.local))
            self._bodies[region.index]()
        self.memory = shared

    # Expressions

    def _place(self, element: ir.Element) -> Value:
        subscripts = [self._value(subscript) for subscript in element.subscripts]

        def place() -> tuple[int, ...]:
            index = tuple([int(subscript()) for subscript in subscripts])
            if index and min(index) < 0:
                raise IndexError(f"{element.array}{list(index)}")
            return index

        return place

    def _value(self, node: ir.Expression) -> Value:
        scalar: Any = int if node.dtype == "int64" else np.dtype(node.dtype).type
        match node:
            case ir.Constant(value):
                constant = scalar(value)
                return lambda: constant
            case ir.Iterator(name) | ir.ParameterValue(name) | ir.Counter(name):
                return lambda: self.names[name]
            case ir.Argument(name):
                return lambda: scalar(self.names[name])
            case ir.Extent(array, dimension):
                return lambda: self.memory[array].shape[dimension]
            case ir.Element(array):
                place = self._place(node)
                return lambda: self.memory[array][place()]
            case ir.Unary(operator, operand):
                return _applied(_UNARY[operator], self._value(operand))
            case ir.Binary(operator, left, right):
                function = _ARITHMETIC[operator]
                first, second = self._value(left), self._value(right)
                if node.dtype == "int64":
                    return lambda: function(first(), second())
                return lambda: scalar(function(first(), second()))
            case ir.Power(operand, exponent):
                return _applied(lambda base: scalar(base**exponent), self._value(operand))
            case ir.Compare(operator, left, right):
                return _applied(_COMPARISON[operator], self._value(left), self._value(right))
            case ir.Logical(operator, operands):
                values = [self._value(operand) for operand in operands]
                combine = all if operator == "and" else any
                return lambda: combine(value() for value in values)
            case ir.Select(condition, then, otherwise):
                test, yes, no = self._value(condition), self._value(then), self._value(otherwise)
                return lambda: yes() if test() else no()
            case ir.Cast(operand):
                return _applied(scalar, self._value(operand))
            case ir.Call():
                return self._call(node, scalar)
        raise AssertionError(node)

    def _call(self, node: ir.Call, scalar: Callable[..., Any]) -> Value:
        arguments = [self._value(argument) for argument in node.arguments]
        if node.function == "pow":
            return _applied(lambda base, power: scalar(base**power), *arguments)
        source = np if node.dtype == "float32" or not hasattr(math, node.function) else math
        return _applied(scalar, _applied(getattr(source, node.function), *arguments))


def _in_turn(actions: Sequence[Action]) -> Action:
    def all_of_them() -> None:
        for action in actions:
            action()

    return all_of_them


def _applied(function: Callable[..., Any], *values: Value) -> Value:
    return lambda: function(*(value() for value in values))
