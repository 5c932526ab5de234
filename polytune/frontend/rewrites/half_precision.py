"""Numbers of 16 bits: elements are read and written as float16, and computed with as float32.

``lower_half_precision`` takes the typed program in which ``float16`` is a type like any other, by NumPy's promotion,
to one in which only elements of arrays have it, as their bits: every read of one is ``half_value``, and what is
assigned to one is ``half_bits``.  Everything in between is float32.  Strict kernels round the result of each operation
to the nearest float16, as NumPy does, which computes in float32 too; others keep its digits until it is assigned to an
element, as compilers do where the standard of C lets them (``FLT_EVAL_METHOD``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from polytune.errors import UnsupportedSourceError
from polytune.frontend.expression import (
    Argument,
    Assign,
    Binary,
    Call,
    Cast,
    Constant,
    Element,
    Expression,
    LibraryCall,
    Power,
    Select,
    Unary,
    map_children,
    walk,
)
from polytune.frontend.lowering.frame import KernelWalk
from polytune.frontend.program import ElementLocations, Guard, Node, Perform, RangeLoop
from polytune.frontend.results import Result, ReturnedChoice, ReturnedList, ReturnedPart, ReturnedTuple

__all__ = ["HALF", "lower_half_precision"]

HALF = "float16"
_WIDE = "float32"

_EXACT = ("min", "max")
"""The operators whose results are one of their operands."""

_EXACT_CALLS = ("rounded", "floor", "ceil", "trunc", "rint", "sign", "minimum", "maximum", "fmin", "fmax", "copysign")
"""The functions whose results are float16 where their arguments are."""


def lower_half_precision(nodes: Sequence[Node], kernel: KernelWalk) -> tuple[Node, ...]:
    """Return a program in which only elements of arrays are float16, as their bits.

    The kernel's scalars and its result are changed with it.  Accesses stay the same, and so does what depends on them.

    Args:
        nodes: the typed program.
        kernel: its arrays, scalars and result.

    Raises:
        UnsupportedSourceError: a library is called with elements of float16.
    """
    if all(array.dtype != HALF for array in kernel.arrays.values()) and not _has_arguments(kernel):
        return tuple(nodes)
    lowering = _Lowering(kernel.locations, is_strict=kernel.strict)
    kernel.arrays.update(
        {
            name: replace(array, dtype=_WIDE)
            for name, array in kernel.arrays.items()
            if array.dtype == HALF and array.ndim == 0
        }
    )
    if kernel.result is not None:
        kernel.result = lowering.result(kernel.result)
    return tuple(lowering.node(node) for node in nodes)


def _has_arguments(kernel: KernelWalk) -> bool:
    return any(kind.dtype == HALF for _, kind in kernel.signature.arguments)


class _Lowering:
    def __init__(self, locations: ElementLocations, *, is_strict: bool):
        self._locations, self._is_strict = locations, is_strict

    def node(self, node: Node) -> Node:
        """Return a node of the program with its operations lowered; loops and affine guards have no float16."""
        match node:
            case Perform(operations, location):
                if any(isinstance(each, LibraryCall) and _has_halves(each) for each in walk(node)):
                    raise UnsupportedSourceError(
                        location,
                        "a library call on an array of float16",
                        "what is compiled apart from the kernel is given arrays of 32 bits and more",
                        "give it a copy, A.astype(np.float32), and assign what it returns",
                    )
                return replace(node, operations=tuple(map(self.operation, operations)))
            case Guard(_, then, otherwise):
                return replace(node, then=tuple(map(self.node, then)), otherwise=tuple(map(self.node, otherwise)))
            case RangeLoop(body=body):
                return replace(node, body=tuple(map(self.node, body)))

    def operation(self, operation: Any) -> Any:
        """Return an operation, or an expression in one, with what it computes lowered."""
        match operation:
            case Assign(target, value) if target.dtype == HALF and target.subscripts:
                return Assign(self._moved(target, map_children(target, self.operation)), self._bits(value))
            case Assign(target, value) if target.dtype == HALF:
                return Assign(self._scalar(target), self.expression(value))
            case _ if getattr(operation, "dtype", None) is not None:
                return self.expression(operation)
            case _:
                return map_children(operation, self.operation)

    def expression(self, node: Expression) -> Expression:
        """Return an expression of float32 in place of one of float16; any other with its operands lowered."""
        match node:
            case Constant(value, "float16"):
                return Constant(value, _WIDE)
            case Argument(name, "float16"):
                return Argument(name, _WIDE)
            case Element(_, (), "float16"):
                return self._scalar(node)
            case Element():
                read = self._moved(node, map_children(node, self.expression))
                return Call("half_value", (read,), _WIDE) if node.dtype == HALF else read
            case Cast(operand, "float16"):
                return Call("half_rounded", (self._operand(operand),), _WIDE)
            case Cast(operand, "float32") if operand.dtype == HALF:
                return self.expression(operand)
            case Binary() | Power() | Call() if node.dtype == HALF:
                wide: Expression = self._wide(node)
                return wide if _is_exact(node) or not self._is_strict else Call("half_rounded", (wide,), _WIDE)
            case Unary() | Select() if node.dtype == HALF:
                return self._wide(node)
            case _:
                other: Expression = map_children(node, self.expression)
                return other

    def _wide(self, node: Binary | Power | Call | Unary | Select) -> Expression:
        """Return an operation on float32 in place of one on float16."""
        return replace(map_children(node, self.expression), dtype=_WIDE)  # type: ignore[no-any-return]

    def _operand(self, node: Expression) -> Expression:
        """Return what becomes a float16: a float, of which the nearest is the result; integers become float32 first, as
        in NumPy."""
        lowered = self.expression(node)
        return lowered if lowered.dtype in ("float32", "float64") else Cast(lowered, _WIDE)

    def _bits(self, value: Expression) -> Expression:
        """Return the bits of a value of float16; those of an element that is copied are what they are."""
        match value:
            case Element(_, (_, *_)):
                return self._moved(value, map_children(value, self.expression))
            case Cast(operand):
                return Call("half_bits", (self._operand(operand),), HALF)
            case Binary() | Power() | Call():
                return Call("half_bits", (self._wide(value),), HALF)
            case _:
                return Call("half_bits", (self.expression(value),), HALF)

    def _scalar(self, element: Element) -> Element:
        return self._moved(element, Element(element.array, (), _WIDE))

    def _moved(self, element: Element, changed: Element) -> Element:
        """Return what a reference to an array has become, which stands where that does."""
        location = self._locations.find(element)
        return changed if changed is element or location is None else self._locations.record(changed, location)

    def result(self, result: Result) -> Result:
        """Return a kernel's result: its numbers are float16 as before."""
        match result:
            case ReturnedTuple(items):
                return replace(result, items=tuple(map(self.result, items)))
            case ReturnedChoice(condition, then, otherwise):
                return ReturnedChoice(self.expression(condition), self.result(then), self.result(otherwise))
            case ReturnedList(parts):
                return replace(result, parts=tuple(map(self.result, parts)))
            case ReturnedPart():
                part: ReturnedPart = map_children(result, self.operation)
                return part
            case _ if getattr(result, "dtype", None) == HALF:
                return Cast(self.expression(result), HALF)  # type: ignore[arg-type]
            case _ if getattr(result, "dtype", None) is not None:
                return self.expression(result)  # type: ignore[arg-type]
            case _:
                return result


def _has_halves(call: LibraryCall) -> bool:
    return any(part.element.dtype == HALF for part in (*call.results, *call.arguments))


def _is_exact(node: Binary | Power | Call) -> bool:
    """Return whether an operation on numbers that are float16 gives one of them."""
    return node.operator in _EXACT if isinstance(node, Binary) else getattr(node, "function", "") in _EXACT_CALLS
