"""The verifier's rules of expressions: names are defined, and types agree.

Each rule gives the type of what it has read, so that the nodes around it can be held against that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, assert_never

from polytune.codegen.loops import Program
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
from polytune.errors import VerificationError
from polytune.frontend.expression import (
    Argument,
    Binary,
    Call,
    Cast,
    Compare,
    Constant,
    Counter,
    Element,
    Extent,
    Iterator,
    Logical,
    ParameterValue,
    Power,
    Select,
    Unary,
)
from polytune.frontend.generated_names import without_marks
from polytune.frontend.scop import Array, Scop
from polytune.records import dataclass

INDEX = "int64"
"""The type of everything that counts."""

MASK = "mask"
"""The type of what chooses lanes."""


@dataclass(frozen=True)
class ValueKind:
    """The type of a value: that of a number, or that of each lane of a vector; the lanes of a mask have none."""

    dtype: str
    lanes: int = 0

    def __str__(self) -> str:
        return self.dtype if not self.lanes else f"{self.lanes} x {self.dtype}"


NUMBER_OF_INDICES = ValueKind(INDEX)
TRUTH = ValueKind("bool")


@dataclass(frozen=True)
class VerifiedProgram:
    """A program that is verified, its kernel, and what is defined everywhere in it."""

    program: Program
    scop: Scop

    def fail(self, reason: str) -> VerificationError:
        return VerificationError(f"version {self.program.name} of {self.scop.name}: {without_marks(reason)}")

    def hold(self, fulfilled: bool, reason: str) -> None:
        if not fulfilled:
            raise self.fail(reason)

    @cached_property
    def arrays(self) -> dict[str, Array]:
        """The arrays by their names."""
        return {array.name: array for array in self.scop.arrays}

    @cached_property
    def outermost(self) -> dict[str, ValueKind]:
        """The names that are defined everywhere: parameters, and what says which part of a region is meant."""
        names = [*(parameter.name for parameter in self.scop.parameters), *self.program.part]
        return dict.fromkeys(names, NUMBER_OF_INDICES)


@dataclass
class ExpressionVerifier:
    """The rules of expressions.

    ``names`` are the variables that are defined where an expression stands.
    """

    program: VerifiedProgram
    names: dict[str, ValueKind]

    def hold(self, fulfilled: bool, reason: str | Callable[[], str], node: Any = None) -> None:
        """Hold that something is fulfilled.

        Args:
            fulfilled: whether it is.
            reason: what is wrong where it is not, or a function that says so.
            node: where, if that is to be told.

        Raises:
            VerificationError: it is not fulfilled.
        """
        if not fulfilled:
            text = reason if isinstance(reason, str) else reason()
            raise self.program.fail(f"{self.about()}{text}{'' if node is None else f', in {node!r}'}")

    def about(self) -> str:
        """Return what a message begins with."""
        return ""

    def index(self, expression: Any) -> None:
        """Hold that an expression counts."""
        kind = self.kind(expression)
        self.hold(kind == NUMBER_OF_INDICES, lambda: f"an index is of type {kind}", expression)

    def kind(self, node: Any) -> ValueKind:
        """The type of an expression, all of whose parts are held to agree."""
        match node:
            case Iterator(name) | Counter(name) | ParameterValue(name):
                self.hold(name in self.names, f"{name} is used where it is not defined")
                self.hold(self.names[name] == NUMBER_OF_INDICES, f"{name} is used as a number, and is none")
                return NUMBER_OF_INDICES
            case Variable(name, dtype):
                self.hold(name in self.names, f"{name} is used where it is not defined")
                found = self.names[name]
                expected = dtype in (VECTOR, MASK) if found.lanes else dtype == found.dtype
                self.hold(expected, lambda: f"{name} is used as {dtype}, and is {found}")
                return found
            case Constant(_, dtype):
                return ValueKind(dtype)
            case Argument(name, dtype):
                known = dict(self.program.scop.signature.arguments)
                self.hold(name in known, f"there is no argument {name}")
                return ValueKind(dtype)
            case Extent(array):
                self.hold(array in self.program.arrays, f"there is no array {array}")
                return NUMBER_OF_INDICES
            case Element():
                return self.element(node)
            case Unary() | Binary() | Power() | Logical() | Compare() | Select() | Call() | Cast():
                return self.operation(node)
            case Lanes() | Splat() | Between() | AnyMask() | LaneSelect() | Shifted() | Total() | Misalignment():
                return self.vector(node)
            case _:
                self.hold(False, f"the grammar has no expression {type(node).__name__}")
                raise AssertionError

    def operation(self, node: Unary | Binary | Power | Logical | Compare | Select | Call | Cast) -> ValueKind:
        """The type of what is computed of numbers, or of vectors lane by lane."""
        match node:
            case Unary(operator, operand, dtype):
                kind = self.kind(operand)
                self.hold(operator != "not" or kind == TRUTH, "what is negated is no truth value", node)
                return self._result(node, dtype, kind)
            case Binary(_, left, right, dtype):
                return self._result(node, dtype, self.kind(left), self.kind(right))
            case Power(operand, exponent, dtype):
                self.hold(isinstance(exponent, int), "an exponent is no integer", node)
                return self._result(node, dtype, self.kind(operand))
            case Logical(_, operands):
                kinds = [self.kind(operand) for operand in operands]
                self.hold(all(kind.dtype == TRUTH.dtype for kind in kinds), "what is joined is no truth value", node)
                return TRUTH
            case Compare(_, left, right):
                kinds = [self.kind(left), self.kind(right)]
                self.hold(kinds[0] == kinds[1], lambda: f"{kinds[0]} is compared with {kinds[1]}", node)
                return replace(kinds[0], dtype=MASK) if kinds[0].lanes else TRUTH
            case Select(condition, then, otherwise, dtype):
                self.hold(self.kind(condition) == TRUTH, "a condition is no truth value", node)
                return self._result(node, dtype, self.kind(then), self.kind(otherwise))
            case Call(function, arguments, dtype):
                kinds = [self.kind(argument) for argument in arguments]
                if dtype == VECTOR or any(kind.lanes for kind in kinds):
                    self.hold(function == "sqrt" and len(kinds) == 1, "a function of numbers is called of lanes", node)
                    return self._result(node, dtype, *kinds)
                return ValueKind(dtype)
            case Cast(operand, dtype):
                self.kind(operand)
                return ValueKind(dtype)
            case _:
                assert_never(node)

    def _result(self, node: Any, dtype: str, first: ValueKind, *others: ValueKind) -> ValueKind:
        """The type of a node that all operands have."""
        kinds = ", ".join(map(str, (first, *others)))
        self.hold(all(kind == first for kind in others), f"operands of one node are {kinds}", node)
        expected = VECTOR if first.lanes else first.dtype
        self.hold(dtype == expected, lambda: f"a node of type {dtype} has operands of type {first}", node)
        return first

    def vector(
        self, node: Lanes | Splat | Between | AnyMask | LaneSelect | Shifted | Total | Misalignment
    ) -> ValueKind:
        """The type of what only vectors have."""
        match node:
            case Lanes(element, lanes, mask, apart):
                kind = self.element(element)
                self.mask(mask, lanes)
                self.apart(apart, element)
                return ValueKind(kind.dtype, lanes)
            case Splat(value, lanes):
                kind = self.kind(value)
                self.hold(not kind.lanes, "a vector is splatted", node)
                return ValueKind(kind.dtype, lanes)
            case Between(first, last, lanes):
                self.index(first)
                self.index(last)
                return ValueKind(MASK, lanes)
            case AnyMask(masks):
                known = [self.names[mask] for mask in masks if mask in self.names]
                same = len(known) == len(masks) and all(kind == known[0] for kind in known)
                self.hold(same and known[0].dtype == MASK, "masks that are joined differ", node)
                return known[0]
            case LaneSelect(mask, value, otherwise):
                kind = self._result(node, VECTOR, self.kind(value), self.kind(otherwise))
                if isinstance(mask, str):
                    self.mask(mask, kind.lanes)
                else:
                    self.hold(self.kind(mask) == ValueKind(MASK, kind.lanes), "a comparison chooses other lanes", node)
                return kind
            case Shifted(before, value, distance):
                kind = self._result(node, VECTOR, self.kind(before), self.kind(value))
                self.hold(0 <= distance <= kind.lanes, f"lanes are shifted by {distance}", node)
                return kind
            case Total(value, dtype):
                kind = self.kind(value)
                self.hold(bool(kind.lanes) and kind.dtype == dtype, f"the lanes of {kind} have no sum of {dtype}", node)
                return ValueKind(dtype)
            case Misalignment(element):
                self.element(element)
                return NUMBER_OF_INDICES
            case _:
                assert_never(node)

    def mask(self, mask: str | None, lanes: int) -> None:
        """Hold that a name is a mask of so many lanes."""
        if mask is not None:
            found = self.names.get(mask)
            self.hold(found == ValueKind(MASK, lanes), lambda: f"{mask} is no mask of {lanes} lanes, but {found}")

    def apart(self, apart: Apart | None, element: Element) -> None:
        if apart is not None:
            self.hold(0 <= apart.axis < len(element.subscripts), f"{element.array} has no axis {apart.axis}")
            self.hold(apart.step != 0, "all lanes are one element")

    def element(self, node: Element) -> ValueKind:
        """The type of an element."""
        dtype, axes = self.memory(node.array)
        self.hold(node.dtype == dtype, f"an element of {node.array}, of {dtype}, is taken for {node.dtype}")
        found = len(node.subscripts)
        self.hold(found == axes, f"{node.array}, of {axes} axes, has {found} subscripts", node)
        for subscript in node.subscripts:
            self.index(subscript)
        return ValueKind(dtype)

    def memory(self, name: str) -> tuple[str, int]:
        """The type of what has a name in memory, and how many axes it has."""
        found = self.program.arrays.get(name)
        if found is None:
            raise self.program.fail(f"{self.about()}there is no array {name}")
        return found.dtype, found.ndim
