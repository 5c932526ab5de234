"""Typed expressions, and what a kernel returns, as Python text that Numba compiles with the types that nodes say."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, assert_never

import numpy as np

from polytune.codegen.vectors.expressions import (
    VECTOR,
    AnyMask,
    Between,
    Lanes,
    LaneSelect,
    Misalignment,
    Shifted,
    Splat,
    Total,
    Variable,
    VectorExpression,
)
from polytune.frontend.expression import (
    Argument,
    Binary,
    Call,
    Cast,
    Compare,
    Constant,
    Counter,
    Element,
    Expression,
    Extent,
    Iterator,
    Logical,
    ParameterValue,
    Power,
    Select,
    Unary,
)
from polytune.frontend.generated_names import MARK
from polytune.frontend.results import (
    Result,
    ReturnedArray,
    ReturnedAxis,
    ReturnedChoice,
    ReturnedError,
    ReturnedList,
    ReturnedNothing,
    ReturnedPart,
    ReturnedTuple,
)
from polytune.frontend.scalars.functions import NUMPY_NAMES
from polytune.signature import COMPLEX_TYPES, FLOAT_TYPES, SIGNED_TYPES, UNSIGNED_TYPES

ElementText = Callable[[Any], str]

_PRECEDENCE = {
    "or": 1,
    "and": 2,
    "not": 3,
    "compare": 4,
    "+": 6,
    "-": 6,
    "*": 7,
    "/": 7,
    "//": 7,
    "%": 7,
    "unary": 8,
    "**": 9,
}
_ATOM = 10

_DIVISIONS = {"//": "quotient", "%": "remainder"}

_SHIFTS = {"<<": "shifted_left", ">>": "shifted_right"}

_WRAPPED = tuple(dtype for dtype in (*SIGNED_TYPES, *UNSIGNED_TYPES) if dtype != "int64")
"""Integers of which Numba computes with wider ones."""

_BY_WAY_OF = {
    **dict.fromkeys(("int8", "int16", "uint8", "uint16"), "int32"),
    **dict.fromkeys(("uint32", "uint64"), "int64"),
}
"""Integers that floats are converted to by way of others, as NumPy does: of numbers that they cannot hold, LLVM's
vectors would give others than its scalars do."""

_NUMPY_ONLY = ("cbrt", "fmod", "minimum", "maximum", "fmin", "fmax", "sign", "floor", "ceil", "trunc", "rint")
"""Calls that are NumPy's: those that ``math`` or Numba's ``math`` lacks, and those that keep a float a float."""


def no_element(element: Element) -> str:
    """The text of elements where no array is accessed: there is none."""
    raise AssertionError(f"{element.array} is accessed where only parameters may be")


def expression_text(expression: VectorExpression, element: ElementText = no_element, *, compiled: bool = True) -> str:
    """The Python text of an expression.

    Args:
        expression: the expression.
        element: gives the text of array elements and scalars, and of the nodes of vectors.
        compiled: whether the text is for Numba, not for the interpreter, which has no functions of ours.
    """
    return _Printer(element, compiled).text(expression)


class _Printer:
    def __init__(self, element: ElementText, compiled: bool):
        self.element, self.compiled = element, compiled

    def text(self, expression: VectorExpression) -> str:
        return self.render(expression)[0]

    def operand(self, expression: Expression, needed: int) -> str:
        """The text, in parentheses if it binds less tightly than needed."""
        text, precedence = self.render(expression)
        return text if precedence >= needed else f"({text})"

    def render(self, expression: VectorExpression) -> tuple[str, int]:
        """The text and how tightly it binds."""
        match expression:
            case Constant(value, dtype):
                return _constant(value, dtype)
            case Iterator(name) | Counter(name) | ParameterValue(name) | Argument(name):
                return name, _ATOM
            case Extent(array, dimension):
                return f"{array}.shape[{dimension}]", _ATOM
            case Element() | Variable() | Lanes() | Splat() | Total() | Misalignment():
                return self.element(expression), _ATOM
            case Between() | AnyMask() | LaneSelect() | Shifted():
                return self.element(expression), _ATOM
            case Unary():
                return self.unary(expression)
            case Binary():
                return self.binary(expression)
            case Power(operand, exponent):
                return f"{MARK}power({self.text(operand)}, {exponent})", _ATOM
            case Call():
                return self.call(expression)
            case Compare(operator, left, right):
                level = _PRECEDENCE["compare"]
                return f"{self.operand(left, level + 1)} {operator} {self.operand(right, level + 1)}", level
            case Logical(operator, operands):
                level = _PRECEDENCE[operator]
                return f" {operator} ".join(self.operand(operand, level + 1) for operand in operands), level
            case Select(condition, then, otherwise):
                # Both branches have the node's dtype; the conditional expression binds least of all.
                condition_text = self.operand(condition, 1)
                return f"{self.operand(then, 1)} if {condition_text} else {self.operand(otherwise, 0)}", 0
            case Cast():
                return self.cast(expression)
            case _:
                assert_never(expression)

    def cast(self, node: Cast) -> tuple[str, int]:
        operand, dtype = node.operand, node.dtype
        if dtype == "bool":
            return f"{self.operand(operand, _PRECEDENCE['compare'] + 1)} != 0", _PRECEDENCE["compare"]
        number = self.text(operand)
        if node.is_frozen and self.compiled:
            number = f"{MARK}frozen({number})"
        text = f"{MARK}np.{dtype}({number})"
        if not self.compiled or dtype not in _BY_WAY_OF or operand.dtype not in FLOAT_TYPES:
            return text, _ATOM
        wrapped = f"{MARK}np.{dtype}({MARK}np.{_BY_WAY_OF[dtype]}({number}))"
        if dtype != "uint64":
            return wrapped, _ATOM
        compared = number if node.is_frozen else self.operand(operand, _PRECEDENCE["compare"] + 1)
        is_signed = f"{compared} < {2.0**63!r}"
        return f"{wrapped} if {is_signed} else {text}", 0

    def call(self, node: Call) -> tuple[str, int]:
        match node:
            case Call("pow") if self.compiled:
                return f"{MARK}library_pow({self.arguments(node)})", _ATOM
            case Call("real" | "imag" as name, (operand,)):
                return f"{self.operand(operand, _ATOM)}.{name}", _ATOM
            case Call("conjugate", (operand,)):
                return f"{self.operand(operand, _ATOM)}.conjugate()", _ATOM
            case Call("rounded", (operand,)):
                return (f"{MARK}rounded({self.text(operand)})", _ATOM) if self.compiled else self.render(operand)
            case Call("half_value" | "half_bits" | "half_rounded" as name) if self.compiled:
                return f"{MARK}{name}({self.arguments(node)})", _ATOM
            case Call("half_value"):
                return f"{MARK}np.float32({self.arguments(node)})", _ATOM
            case Call("half_rounded"):
                return f"{MARK}np.float32({MARK}np.float16({self.arguments(node)}))", _ATOM
            case Call("complex"):
                return f"{MARK}complex({self.arguments(node)})", _ATOM
            case Call(function, _, dtype) if dtype in COMPLEX_TYPES:
                return f"{MARK}np.{NUMPY_NAMES.get(function, function)}({self.arguments(node)})", _ATOM
            case _:
                pass
        call = f"{MARK}{'np' if node.function in _NUMPY_ONLY else 'math'}.{node.function}({self.arguments(node)})"
        return (call, _ATOM) if node.dtype in ("float64", VECTOR) else (f"{MARK}np.{node.dtype}({call})", _ATOM)

    def arguments(self, node: Call) -> str:
        return ", ".join(self.text(argument) for argument in node.arguments)

    def unary(self, node: Unary) -> tuple[str, int]:
        if node.operator == "not":
            return f"not {self.operand(node.operand, _PRECEDENCE['not'])}", _PRECEDENCE["not"]
        if node.operator == "abs":
            text = f"{MARK}abs({self.text(node.operand)})"
            return (f"{MARK}np.{node.dtype}({text})", _ATOM) if node.dtype in _WRAPPED else (text, _ATOM)
        text = f"{node.operator}{self.operand(node.operand, _PRECEDENCE['unary'])}"
        return (f"{MARK}np.{node.dtype}({text})", _ATOM) if node.dtype in _WRAPPED else (text, _PRECEDENCE["unary"])

    def binary(self, node: Binary) -> tuple[str, int]:
        if node.operator in ("min", "max"):
            return self.extremum(node)
        if self.compiled and node.dtype == "int64" and node.operator in _DIVISIONS:
            match node.right:
                case Constant(divisor) if divisor > 0:
                    name = f"{MARK}{_DIVISIONS[node.operator]}"
                    return f"{name}({self.text(node.left)}, {self.text(node.right)})", _ATOM
            if node.operator == "//":
                return f"{MARK}floor_quotient({self.text(node.left)}, {self.text(node.right)})", _ATOM
        if self.compiled and node.operator == "/" and node.dtype in COMPLEX_TYPES:
            return f"{MARK}complex_quotient({self.text(node.left)}, {self.text(node.right)})", _ATOM
        if node.operator in ("&", "|", "^", "<<", ">>"):
            return self.bits(node), _ATOM
        level = _PRECEDENCE[node.operator]
        # Left to right for equal operators, except for the power, whose operands are always made explicit.
        left = self.operand(node.left, level + 1 if node.operator == "**" else level)
        right = self.operand(node.right, level + 1)
        text = f"{left} {node.operator} {right}"
        # Numba computes with 64-bit integers at least; NumPy's smaller ones wrap round.
        return (f"{MARK}np.{node.dtype}({text})", _ATOM) if node.dtype in _WRAPPED else (text, level)

    def bits(self, node: Binary) -> str:
        """An operation on bits; shifts by more bits than there are are no instructions of processors."""
        match node.right:
            case Constant(amount) if 0 <= amount < np.dtype(node.dtype).itemsize * 8:
                is_plain = True
            case _:
                is_plain = node.operator not in _SHIFTS or not self.compiled
        if is_plain:
            level = _PRECEDENCE["unary"]
            text = f"({self.operand(node.left, level)} {node.operator} {self.operand(node.right, level)})"
        else:
            text = f"{MARK}{_SHIFTS[node.operator]}({self.text(node.left)}, {self.text(node.right)})"
        return f"{MARK}np.{node.dtype}{text if is_plain else f'({text})'}" if node.dtype in _WRAPPED else text

    def extremum(self, node: Binary) -> tuple[str, int]:
        name = {"min": "least", "max": "greatest"}[node.operator] if self.compiled else node.operator
        return f"{MARK}{name}({self.text(node.left)}, {self.text(node.right)})", _ATOM


def _constant(value: Any, dtype: str) -> tuple[str, int]:
    if dtype == "bool":
        return str(bool(value)), _ATOM
    if dtype in COMPLEX_TYPES:
        parts = ", ".join(_constant(part, "float64")[0] for part in (value.real, value.imag))
        text = f"{MARK}complex({parts})"
        return (text if dtype == "complex128" else f"{MARK}np.{dtype}({text})"), _ATOM
    if dtype in (*SIGNED_TYPES, *UNSIGNED_TYPES):
        text = str(int(value))
        if dtype != "int64":
            return f"{MARK}np.{dtype}({text})", _ATOM
        return text, _ATOM if value >= 0 else _PRECEDENCE["unary"]
    if math.isnan(value) or math.isinf(value):
        name = "nan" if math.isnan(value) else "inf"
        sign = "-" if not math.isnan(value) and value < 0 else ""
        return f"{MARK}np.{dtype}({sign}{MARK}np.{name})", _ATOM
    text = repr(float(value))
    if dtype == "float32":
        return f"{MARK}np.float32({text})", _ATOM
    return text, _ATOM if math.copysign(1.0, value) > 0 else _PRECEDENCE["unary"]


def result_text(result: Result, value: Callable[[Expression], str], array: Callable[[str], str]) -> str:
    """The text of an expression that gives what the kernel returns.

    Args:
        result: what it returns.
        value: gives the text of a number.
        array: gives the text of an array.
    """
    match result:
        case ReturnedArray(name):
            return array(name)
        case ReturnedPart(name, axes):
            return f"{array(name)}[{', '.join(_axis_text(axis, value) for axis in axes)}]"
        case ReturnedList(parts, are_weak, kind):
            return _list_text([result_text(part, value, array) for part in parts], are_weak, kind)
        case ReturnedTuple(items, kind, is_list=is_list):
            inner = ", ".join(result_text(item, value, array) for item in items)
            if is_list:
                return f"[{inner}]"
            return f"{kind}({inner},)" if len(items) == 1 else f"{kind}({inner})"
        case ReturnedChoice(condition, then, otherwise):
            texts = (result_text(side, value, array) for side in (then, otherwise))
            yes, no = texts
            return f"({yes} if {value(condition)} else {no})"
        case ReturnedNothing():
            return "None"
        case ReturnedError(text):
            literals = text.replace(MARK, "\\x24")  # it stands in literals of text alone
            return f"{MARK}raised({literals})"
        case _:
            return value(result)


def _list_text(arrays: Sequence[str], are_weak: Sequence[bool], kind: str) -> str:
    """The text of a list with the elements of arrays.

    Args:
        arrays: the texts of the arrays.
        are_weak: of each whether its elements are Python's own numbers.
        kind: what an element of the list is.
    """
    texts = [f"{text}.tolist()" if weak else f"{MARK}list({text})" for text, weak in zip(arrays, are_weak, strict=True)]
    if kind == "number":
        return texts[0]
    zipped = f"{MARK}zip({', '.join(texts)})"
    return f"{MARK}list({zipped})" if kind == "tuple" else f"{MARK}list({MARK}map({MARK}list, {zipped}))"


def _axis_text(axis: ReturnedAxis, value: Callable[[Expression], str]) -> str:
    """The subscript of an axis of which a part is returned."""
    start = value(axis.start)
    if axis.size is None:
        return start
    size = value(axis.size)
    return f"{start}:{start} + {size}" if axis.step == 1 else f"{start}:{start} + {axis.step} * {size}:{axis.step}"
