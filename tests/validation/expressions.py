"""Expressions as functions without arguments: index expressions of integers, all others of field elements.

An index expression is made of constants, loop variables, parameters and extents alone.  It stays an integer; where it
is used as a number it becomes the element of the field that it stands for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from polytune.codegen.vectors.expressions import (
    VECTOR,
    AnyMask,
    Apart,
    Between,
    Lanes,
    LaneSelect,
    Misalignment,
    Shifted,
    Splat,
    Total,
    Variable,
)
from polytune.frontend import expression as ir
from tests.validation import field
from tests.validation.field import PRIME
from tests.validation.memory import Cells

Value = Callable[[], Any]

_INTEGERS = ("int32", "int64")

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "//": lambda left, right: left // right,
    "%": lambda left, right: left % right,
    "**": lambda left, right: left**right,
    "min": min,
    "max": max,
}


class Expressions:
    """Translates expressions for some memory.

    Attributes:
        strict: whether sums, products and quotients of floats may not be regrouped.
        constants: the values of parameters, extents and scalar arguments: integers, and elements.
        names: the values of loop variables, and of variables of generated code, while something runs.
        memory: the arrays and scalars of the place that runs.
        contiguous: which axis of an array's elements lie next to one another; None where none does.
    """

    def __init__(
        self,
        strict: bool,
        parameters: Mapping[str, int],
        arguments: Mapping[str, int],
        extents: Mapping[str, tuple[int, ...]],
    ):
        self.strict, self.parameters, self.arguments, self.extents = strict, parameters, arguments, extents
        self.names: dict[str, Any] = dict(parameters)
        self.memory: dict[str, Cells] = {}
        self.contiguous: Callable[[str], int | None] = lambda array: -1
        self.lane_types: dict[str, str] = {}

    # Index expressions

    def is_index(self, node: Any) -> bool:
        """Whether an expression is one of constants, loop variables, parameters and extents."""
        match node:
            case ir.Iterator() | ir.ParameterValue() | ir.Extent() | Misalignment():
                return True
            case ir.Constant(dtype=dtype):
                return dtype in ("int64", "bool")
            case ir.Unary(_, operand, dtype):
                return dtype in ("int64", "bool") and self.is_index(operand)
            case ir.Binary(operator, left, right, dtype):
                return dtype == "int64" and operator in _ARITHMETIC and self.is_index(left) and self.is_index(right)
            case ir.Power(operand, exponent, dtype):
                return dtype == "int64" and exponent >= 0 and self.is_index(operand)
            case ir.Compare(_, left, right):
                return self.is_index(left) and self.is_index(right)
            case ir.Logical(_, operands):
                return all(map(self.is_index, operands))
            case ir.Select(condition, then, otherwise, dtype):
                return dtype == "int64" and all(map(self.is_index, (condition, then, otherwise)))
            case ir.Cast(operand, dtype):
                return dtype == "int64" and operand.dtype == "int64" and self.is_index(operand)
        return False

    def index(self, node: Any) -> Value:
        """An index expression, or a condition on such: a function to an integer, or to a bool."""
        names = self.names
        match node:
            case ir.Constant(value):
                return lambda: value
            case ir.Iterator(name):
                return lambda: names[name]
            case ir.ParameterValue(name):
                value = self.parameters[name]
                return lambda: value
            case ir.Extent(array, dimension):
                extent = self.extents[array][dimension]
                return lambda: extent
            case Misalignment(element, lanes):
                return self._past(element, lanes)
            case ir.Binary("+" | "-" as sign, ir.Iterator(name), ir.Constant(value)):
                added = value if sign == "+" else -value
                return lambda: names[name] + added
            case ir.Binary("+", left, right):
                first, second = self.index(left), self.index(right)
                return lambda: first() + second()
            case ir.Binary("-", left, right):
                first, second = self.index(left), self.index(right)
                return lambda: first() - second()
            case ir.Binary(operator, left, right):
                function, first, second = _ARITHMETIC[operator], self.index(left), self.index(right)
                return lambda: function(first(), second())
            case ir.Power(operand, exponent):
                base = self.index(operand)
                return lambda: base() ** exponent
            case ir.Unary("not", operand):
                inner = self.index(operand)
                return lambda: not inner()
            case ir.Unary(operator, operand):
                inner = self.index(operand)
                return {"-": lambda: -inner(), "+": inner, "abs": lambda: abs(inner())}[operator]
            case ir.Compare(operator, left, right):
                return _applied(field.compare_integers(operator), self.index(left), self.index(right))
            case ir.Logical(operator, operands):
                return _combined(operator, [self.index(operand) for operand in operands])
            case ir.Select(condition, then, otherwise):
                return _selected(self.index(condition), self.index(then), self.index(otherwise))
            case ir.Cast(operand):
                return self.index(operand)
        raise AssertionError(f"no index expression: {node!r}")

    # Numbers

    def value(self, node: Any) -> Value:
        """An expression as a function to an element, or a list of such, or a bool."""
        if self.is_index(node):
            inner = self.index(node)
            return inner if node.dtype == "bool" else lambda: inner() % PRIME
        names = self.names
        match node:
            case ir.Constant(value, dtype):
                constant = field.constant(value, dtype)
                return lambda: constant
            case ir.Argument(name):
                given = self.arguments[name]
                return lambda: given
            case ir.Element():
                return self.element(node)
            case Variable(name):
                return lambda: names[name] % PRIME if isinstance(names[name], int) else names[name]
            case ir.Unary("not", operand):
                inner = self.value(operand)
                return lambda: not inner()
            case ir.Unary("+", operand):
                return self.value(operand)
            case ir.Unary(operator, operand, dtype):
                return self._lane_by_lane(_unary(operator), dtype, self.value(operand))
            case ir.Power(operand, exponent, dtype):
                power = field.power(exponent, self.lane_type(node), self.strict)
                return self._lane_by_lane(power, dtype, self.value(operand))
            case ir.Binary(operator, left, right, dtype):
                function = field.binary(operator, self.lane_type(node), self.strict)
                return self._lane_by_lane(function, dtype, self.value(left), self.value(right))
            case ir.Compare(operator, left, right):
                return _applied(field.compare(operator), self.value(left), self.value(right))
            case ir.Logical(operator, operands):
                return _combined(operator, [self.value(operand) for operand in operands])
            case ir.Select(condition, then, otherwise):
                return _selected(self.value(condition), self.value(then), self.value(otherwise))
            case ir.Cast(operand, dtype):
                return self._cast(operand, dtype)
            case ir.Call(name, arguments, dtype):
                values = [self.value(argument) for argument in arguments]
                if dtype == VECTOR:
                    kind = field.tag(f"{name} {self.lane_type(arguments[0])}")
                    return self._lane_by_lane(partial(field.hashed, kind), dtype, *values)
                return self._call(name, values, dtype)
            case Lanes():
                return self._lanes(node)
            case Splat(value, lanes):
                inner = self.value(value)
                return lambda: [inner()] * lanes
            case Between(first, last, lanes):
                low, high = self.index(first), self.index(last)
                return lambda: _between(low(), high(), lanes)
            case AnyMask(masks):
                return lambda: [any(lane) for lane in zip(*(names[mask] for mask in masks), strict=True)]
            case LaneSelect(mask, value, otherwise):
                return self._chosen(mask, self.value(value), self.value(otherwise))
            case Shifted(before, value, distance):
                return _shifted(self.value(before), self.value(value), distance)
            case Total(value):
                lanes_of = self.value(value)
                total = field.binary("+", self.lane_type(value), self.strict)
                return lambda: _total(lanes_of(), total)
        raise AssertionError(f"no expression: {node!r}")

    def variable(self, name: str, value: Any) -> Value:
        """What a variable of the generated code is set to."""
        self.lane_types[name] = self.lane_type(value)
        return self.index(value) if self.is_index(value) else self.value(value)

    def lane_type(self, node: Any) -> str:
        """The type of an expression, or of the lanes of a vector."""
        match node:
            case Variable(name):
                return self.lane_types.get(name, node.dtype)
            case Lanes(element):
                return element.dtype
            case Splat(value):
                return self.lane_type(value)
            case (
                LaneSelect(_, value)
                | Shifted(_, value)
                | ir.Unary(_, value, "vector")
                | ir.Binary(_, value, _, "vector")
                | ir.Call(_, (value,), "vector")
            ):
                return self.lane_type(value)
            case ir.Power(value, _, "vector"):
                return self.lane_type(value)
        return node.dtype

    def _lane_by_lane(self, function: Callable[..., Any], dtype: str, *operands: Value) -> Value:
        if dtype != VECTOR:
            return _applied(function, *operands)
        if len(operands) == 1:
            (operand,) = operands
            return lambda: [function(lane) for lane in operand()]
        left, right = operands
        return lambda: [function(*lanes) for lanes in zip(left(), right(), strict=True)]

    def _cast(self, operand: Any, dtype: str) -> Value:
        inner = self.value(operand)
        if dtype == "bool":
            return lambda: inner() != 0
        if operand.dtype == "bool":
            return lambda: int(inner())
        if operand.dtype == dtype or self.is_index(operand):
            return inner
        kind = field.tag(f"{operand.dtype} to {dtype}")
        return lambda: field.hashed(kind, inner())

    def _call(self, name: str, arguments: list[Value], dtype: str) -> Value:
        kind = field.tag(f"{name} {dtype}")
        if dtype == "bool":
            return lambda: bool(field.hashed(kind, *(int(argument()) for argument in arguments)) & 1)
        return lambda: field.hashed(kind, *(argument() for argument in arguments))

    # Memory

    def place(self, element: ir.Element) -> Callable[[], tuple[Cells, int]]:
        """The array of an element, and the element's number in it."""
        memory, name = self.memory, element.array
        subscripts = [self.index(subscript) for subscript in element.subscripts]
        match subscripts:
            case []:
                return lambda: (memory[name], 0)
            case [only]:

                def place() -> tuple[Cells, int]:
                    cells, number = memory[name], only()
                    return cells, (number if 0 <= number < len(cells.values) else cells.number((number,)))

                return place
            case [row, column]:

                def place_in_matrix() -> tuple[Cells, int]:
                    cells, first, second = memory[name], row(), column()
                    shape = cells.shape
                    if len(shape) == 2 and 0 <= first < shape[0] and 0 <= second < shape[1]:
                        return cells, first * shape[1] + second
                    return cells, cells.number((first, second))

                return place_in_matrix

        def place_in_any() -> tuple[Cells, int]:
            cells = memory[name]
            return cells, cells.number([subscript() for subscript in subscripts])

        return place_in_any

    def element(self, element: ir.Element) -> Value:
        """The value of an element."""
        place = self.place(element)

        def read() -> int:
            cells, number = place()
            return cells.read(number)

        return read

    def lanes(self, element: ir.Element, apart: Apart | None) -> Callable[[int], tuple[Cells, list[Any]]]:
        """The array of a vector's elements, and the subscripts of each of so many of them."""
        subscripts = [self.index(subscript) for subscript in element.subscripts]
        memory, name = self.memory, element.array
        axis, step = self.moving_axis(element, apart)

        def found(count: int) -> tuple[Cells, list[Any]]:
            first = [subscript() for subscript in subscripts]
            head, moved, tail = first[:axis], first[axis], first[axis + 1 :]
            return memory[name], [(*head, moved + step * lane, *tail) for lane in range(count)]

        return found

    def moving_axis(self, element: ir.Element, apart: Apart | None) -> tuple[int, int]:
        """Along which axis the lanes of a vector lie, and how far they are apart."""
        if apart is not None:
            assert apart.step, f"lanes of {element.array} that are one element"
            return apart.axis, apart.step
        axis = self.contiguous(element.array)
        assert axis is not None, f"a vector of {element.array}, no elements of which are known to be neighbours"
        return axis % len(element.subscripts), 1

    def _lanes(self, node: Lanes) -> Value:
        places, names, count = self.lanes(node.element, node.apart), self.names, node.lanes
        if node.mask is None:

            def load() -> list[int]:
                cells, lanes = places(count)
                return [cells.read(cells.number(lane)) for lane in lanes]

            return load

        def load_masked() -> list[int]:
            cells, lanes = places(count)
            chosen = zip(lanes, names[node.mask], strict=True)
            return [cells.read(cells.number(lane)) if there else 0 for lane, there in chosen]

        return load_masked

    def _past(self, element: ir.Element, lanes: int) -> Value:
        """Where a row begins in memory is anyone's guess; another place for every row."""
        subscripts = [self.index(subscript) for subscript in element.subscripts]
        axis, _ = self.moving_axis(element, None)

        def past() -> int:
            index = [subscript() for subscript in subscripts]
            row = hash((*index[:axis], *index[axis + 1 :]))
            return (row + index[axis]) % lanes

        return past

    def _chosen(self, mask: str | ir.Compare, value: Value, otherwise: Value) -> Value:
        names = self.names
        if isinstance(mask, str):
            choice: Value = lambda: names[mask]  # noqa: E731
        else:
            left, right, test = self.value(mask.left), self.value(mask.right), field.compare(mask.operator)
            choice = lambda: [test(*lanes) for lanes in zip(left(), right(), strict=True)]  # noqa: E731

        def choose() -> list[int]:
            lanes = zip(choice(), value(), otherwise(), strict=True)
            return [yes if chosen else no for chosen, yes, no in lanes]

        return choose


def parameter_values(sources: Mapping[str, ir.Expression], arguments: Mapping[str, Any]) -> dict[str, int]:
    """The parameters of a kernel for actual arguments, in Python's own numbers."""
    found: dict[str, int] = {}

    def value(node: Any) -> Any:
        match node:
            case ir.Constant(value=constant):
                return constant
            case ir.ParameterValue(name):
                return found[name]
            case ir.Argument(name):
                return arguments[name]
            case ir.Extent(array, dimension):
                return arguments[array].shape[dimension]
            case ir.Unary(operator, operand):
                inner = value(operand)
                return {"-": lambda: -inner, "+": lambda: inner, "abs": lambda: abs(inner)}[operator]()
            case ir.Binary("/", left, right):
                return value(left) / value(right)
            case ir.Binary(operator, left, right):
                return _ARITHMETIC[operator](value(left), value(right))
            case ir.Select(ir.Compare(operator, left, right), then, otherwise):
                return value(then if field.compare_integers(operator)(value(left), value(right)) else otherwise)
            case ir.Cast(operand, dtype):
                return np.dtype(dtype).type(value(operand))
            case ir.Call(name, operands):
                function = getattr(math, name) if hasattr(math, name) else getattr(np, name)
                return function(*map(value, operands))
        raise AssertionError(f"no source of a parameter: {node!r}")

    for name, source in sources.items():
        found[name] = int(value(source))
    return found


def _unary(operator: str) -> Callable[[int], int]:
    if operator == "-":
        return field.negate
    kind = field.tag(operator)
    return lambda element: field.hashed(kind, element)


def _applied(function: Callable[..., Any], *operands: Value) -> Value:
    if len(operands) == 2:
        left, right = operands
        return lambda: function(left(), right())
    (operand,) = operands
    return lambda: function(operand())


def _combined(operator: str, operands: list[Value]) -> Value:
    combine = all if operator == "and" else any
    return lambda: combine(operand() for operand in operands)


def _selected(condition: Value, then: Value, otherwise: Value) -> Value:
    return lambda: then() if condition() else otherwise()


def _between(first: int, last: int, lanes: int) -> list[bool]:
    return [first <= lane < last for lane in range(lanes)]


def _shifted(before: Value, value: Value, distance: int) -> Value:
    def shift() -> list[int]:
        earlier, own = before(), value()
        lanes = len(own)
        return [*earlier, *own][lanes - distance : 2 * lanes - distance]

    return shift


def _total(lanes: list[int], add: Callable[[int, int], int]) -> int:
    total = lanes[0]
    for lane in lanes[1:]:
        total = add(total, lane)
    return total
