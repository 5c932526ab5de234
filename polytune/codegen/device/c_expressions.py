"""Typed expressions as C text, in the words of ``polytune.runtime.devices.backend``."""

from __future__ import annotations

import math
from collections.abc import Callable

from polytune.codegen.python_expressions import no_element
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
from polytune.frontend.generated_names import is_generated, plain
from polytune.records import dataclass

C_TYPES = {"int32": "i32", "int64": "i64", "float32": "f32", "float64": "f64", "bool": "int"}
"""The names of the element types in device text."""

_FUNCTIONS = {"//": "floordiv", "%": "mod", "**": "pow", "min": "min", "max": "max"}
_WRAPPING = {"+": "add", "-": "subtract", "*": "multiply"}
_EXTREMA = {"min": "pt_least", "max": "pt_greatest"}
_DIVISIONS = {"//": "pt_quotient", "%": "pt_remainder"}
_LOGIC = {"and": "&&", "or": "||"}


def c_name(name: str) -> str:
    """The name of a variable of the source in device text, another one for each.

    No word of C, and no name of the text's own, begins with ``v_`` or ``u_``.  Under ``u_`` are names with letters that
    C lacks, each of which is its number between underscores there, and an underscore two of them.
    """
    if name.isascii():
        return f"v_{name}"
    return "u_" + "".join(
        "__" if letter == "_" else letter if letter.isascii() else f"_{ord(letter):x}_" for letter in name
    )


def extent_name(array: str, dimension: int) -> str:
    """The kernel argument that holds an extent of an array."""
    return f"e{dimension}_{c_name(array)}"


def origin_name(array: str, dimension: int) -> str:
    """The kernel argument that holds the first subscript of what there is of an array."""
    return f"o{dimension}_{c_name(array)}"


@dataclass(frozen=True)
class Context:
    """The spelling of names at some place of device text.

    Attributes:
        element: gives the text of array elements and scalars.
        index: whether it is a subscript or a loop bound: these never overflow, and their divisors are positive.
        constant: whether it is a constant expression, which has no calls.
    """

    element: Callable[[Element], str] = no_element
    index: bool = False
    constant: bool = False

    def name(self, name: str) -> str:
        return plain(name) if is_generated(name) else c_name(name)

    def extent(self, array: str, dimension: int) -> str:
        return extent_name(array, dimension)

    def type_name(self, dtype: str) -> str:
        return C_TYPES[dtype]


def c_text(expression: Expression, place: Context) -> str:
    """The C text of an expression, in parentheses unless it is a single word or call."""

    def text(part: Expression) -> str:
        return c_text(part, place)

    match expression:
        case Constant(value, dtype):
            return _constant(value, dtype)
        case Iterator(name) | Counter(name) | ParameterValue(name) | Argument(name):
            return place.name(name)
        case Extent(array, dimension):
            return place.extent(array, dimension)
        case Element():
            return place.element(expression)
        case Unary():
            return _unary(expression, text(expression.operand), place)
        case Binary():
            return _binary(expression, text, place)
        case Power(operand, exponent, dtype):
            return f"pt_power_{C_TYPES[dtype]}({text(operand)}, {exponent})"
        case Compare(operator, left, right):
            return f"({text(left)} {operator} {text(right)})"
        case Logical(operator, operands):
            return f"({f' {_LOGIC[operator]} '.join(text(operand) for operand in operands)})"
        case Select(condition, then, otherwise):
            return f"({text(condition)} ? {text(then)} : {text(otherwise)})"
        case Cast(operand, dtype):
            return f"({text(operand)} != 0)" if dtype == "bool" else f"(({place.type_name(dtype)}){text(operand)})"
        case Call(function, arguments, dtype):
            call = f"pt_{function}_{C_TYPES[arguments[0].dtype]}({', '.join(map(text, arguments))})"
            return call if dtype == arguments[0].dtype else f"(({place.type_name(dtype)}){call})"
    raise AssertionError(f"no such expression: {expression!r}")


def _unary(node: Unary, operand: str, place: Context) -> str:
    if node.operator == "not":
        return f"(!{operand})"
    kind = C_TYPES[node.dtype]
    if node.operator == "abs":
        return f"pt_abs_{kind}({operand})"
    if node.operator == "-" and node.dtype.startswith("int") and not place.index:
        return f"pt_negate_{kind}({operand})"
    return f"({node.operator}{operand})"


def _binary(node: Binary, text: Callable[[Expression], str], place: Context) -> str:
    left, right = text(node.left), text(node.right)
    kind, index = C_TYPES[node.dtype], place.index
    if place.constant:
        if node.operator in _EXTREMA:
            return f"({left} {'<' if node.operator == 'min' else '>'} {right} ? {left} : {right})"
        return f"({left} {'/' if node.operator == '//' else node.operator} {right})"
    if index and node.operator in _EXTREMA:
        return f"{_EXTREMA[node.operator]}({left}, {right})"
    if index and node.operator in _DIVISIONS:
        return f"{_DIVISIONS[node.operator]}({left}, {right})"
    if node.operator in _FUNCTIONS:
        return f"pt_{_FUNCTIONS[node.operator]}_{kind}({left}, {right})"
    if node.operator in _WRAPPING and node.dtype.startswith("int") and not index:
        return f"pt_{_WRAPPING[node.operator]}_{kind}({left}, {right})"
    return f"({left} {node.operator} {right})"


def _constant(value: float, dtype: str) -> str:
    if dtype == "bool":
        return str(int(bool(value)))
    kind = C_TYPES[dtype]
    if dtype.startswith("int"):
        number = int(value)
        if number == -(2**63):
            return f"((i64){-(2**63 - 1)} - 1)"
        if abs(number) >= 2**31:
            return f"(({kind}){number})"
        return str(number) if number >= 0 else f"({number})"
    if math.isnan(value):
        return f"PT_NAN_{kind}"
    if math.isinf(value):
        return f"PT_INFINITY_{kind}" if value > 0 else f"(-PT_INFINITY_{kind})"
    text = repr(float(value)) + ("f" if dtype == "float32" else "")
    return text if math.copysign(1.0, value) > 0 else f"({text})"
