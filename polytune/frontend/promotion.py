"""Types of values: NumPy's promotion (NEP 50) on typed expressions.

A *weak* value comes from Python's own numbers (literals, loop variables, plain ``int`` and ``float`` arguments) and
takes the type of what it meets; a *strong* one has a NumPy type (array elements, ``np.float32(x)``).  Every operation
made here has both operands of its own type: a ``Cast`` stands where the source mixes types.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from polytune.frontend.expression import (
    Binary,
    Call,
    Cast,
    Compare,
    Constant,
    Element,
    Expression,
    Logical,
    Select,
    Unary,
    walk,
)
from polytune.records import dataclass
from polytune.signature import COMPLEX_TYPES, FLOAT_TYPES, SIGNED_TYPES, UNSIGNED_TYPES

INTEGERS = (*SIGNED_TYPES, *UNSIGNED_TYPES)
FLOATS = FLOAT_TYPES
COMPLEX = COMPLEX_TYPES

_WEAK = ("int64", "float64", "complex128")
"""The types of weak values, each holding the ones before it."""

_LESS_THAN_A_WORD = tuple(dtype for dtype in INTEGERS if np.dtype(dtype).itemsize < 8)


@dataclass(frozen=True)
class Value:
    """A typed expression, and whether its type is weak: of a truth value, whether it may be Python's own ``bool``."""

    expression: Expression
    weak: bool = False

    @property
    def dtype(self) -> str:
        return self.expression.dtype

    @property
    def is_integer(self) -> bool:
        return self.dtype in INTEGERS

    @property
    def constant(self) -> Any:
        """The value, a number of Python's, where it is known at compile time; else None."""
        return self.expression.value if isinstance(self.expression, Constant) else None


@dataclass(frozen=True)
class ScalarKind:
    """The type of a value, and whether it is weak."""

    dtype: str
    weak: bool


@dataclass(frozen=True)
class VariableKind:
    """The type of a scalar variable in memory: the promotion of all that is assigned to it.

    Attributes:
        kind: the type of what is in memory; truth values are weak integers of 64 bits there, 0 and 1.
        holds: which of these are assigned to it: ``number``; ``bool``, Python's truth values; ``bool_``, NumPy's.
    """

    kind: ScalarKind
    holds: frozenset[str]

    @property
    def is_truth(self) -> bool:
        """Return whether all that is assigned to it are truth values."""
        return "number" not in self.holds

    @property
    def is_mixed(self) -> bool:
        """Return whether it holds a truth value at one place and a number at another."""
        return "number" in self.holds and len(self.holds) > 1

    @property
    def may_be_python_truth(self) -> bool:
        return "bool" in self.holds

    def joined(self, other: VariableKind) -> VariableKind:
        """Return that of a variable to which both are assigned."""
        return VariableKind(join(self.kind, other.kind), self.holds | other.holds)


def kind_of_variable(kind: ScalarKind) -> VariableKind:
    """The kind of a variable that holds values of a type."""
    if kind.dtype == "bool":
        return VariableKind(ScalarKind("int64", True), frozenset({"bool" if kind.weak else "bool_"}))
    return VariableKind(kind, frozenset({"number"}))


def constant(value: int | float | complex | bool) -> Value:
    """A Python number as a weak value."""
    kinds = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
    dtype = next(dtype for kind, dtype in kinds.items() if isinstance(value, kind))
    return Value(Constant(value, "uint64" if dtype == "int64" and value >= 2**63 else dtype), weak=True)  # type: ignore[operator]


def is_inexact(dtype: str) -> bool:
    """Return whether numbers of a type are rounded, so that the order of a sum of them matters."""
    return dtype in (*FLOATS, *COMPLEX)


def part_type(dtype: str) -> str:
    """The type of the parts of complex numbers of a type; any other type itself."""
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)


def wider(dtype: str) -> str:
    """The type in which NumPy adds up numbers of a type, and products of them: float32 for float16."""
    return "float32" if dtype == "float16" else dtype


def join(left: ScalarKind, right: ScalarKind) -> ScalarKind:
    """The type of an operation on two values, by NEP 50; a bool counts as a weak integer."""
    left, right = (ScalarKind("int64", True) if kind.dtype == "bool" else kind for kind in (left, right))
    if left.weak and right.weak:
        return ScalarKind(max(left.dtype, right.dtype, key=_WEAK.index), True)
    if left.weak or right.weak:
        weak, strong = (left, right) if left.weak else (right, left)
        if weak.dtype != "int64" and strong.dtype in INTEGERS:
            return ScalarKind(weak.dtype, False)
        if weak.dtype == "complex128":
            return ScalarKind(
                "complex64" if strong.dtype in ("float16", "float32", "complex64") else "complex128", False
            )
        return strong
    return ScalarKind(np.promote_types(left.dtype, right.dtype).name, False)


def kind_of(value: Value) -> ScalarKind:
    """The type of a value; a constant of Python's beyond int64 counts as an int64, which is for ``unconvertible`` to
    find where it meets no uint64."""
    is_wide = value.weak and value.dtype == "uint64"
    return ScalarKind("int64" if is_wide else value.dtype, value.weak)


def convert(value: Value, dtype: str) -> Expression:
    """The value's expression as ``dtype``; constants are converted here, everything else by a ``Cast``.

    The ``Cast`` of a constant is left where ``dtype`` has no such number: an infinity that is to be an integer.  It is
    for ``unconvertible`` to find, as types may still grow.
    """
    expression = value.expression
    if dtype == "bool" and isinstance(expression, Cast) and expression.operand.dtype == "bool":
        return expression.operand
    if isinstance(expression, Constant):
        number = _as_python(expression.value, dtype)
        return Cast(expression, dtype) if number is None else Constant(number, dtype)
    return expression if expression.dtype == dtype else Cast(expression, dtype)


def impossible_power(node: Any) -> Binary | None:
    """The first power in an expression or operation of an integer and a negative constant, which NumPy refuses."""
    for part in walk(node):
        match part:
            case Binary("**", _, Constant(exponent), dtype) if dtype in INTEGERS and exponent < 0:
                return part
    return None


def unconvertible(node: Any) -> Cast | None:
    """The first conversion of a constant in an expression or operation that gives no number of the type wanted."""
    return next((part for part in walk(node) if isinstance(part, Cast) and isinstance(part.operand, Constant)), None)


def cast(value: Value, dtype: str, weak: bool = False) -> Value:
    """A value as one of another type.

    Args:
        value: what is converted.
        dtype: the type.
        weak: whether the result takes the type of what it meets.
    """
    return Value(convert(value, dtype), weak)


def _as_python(value: Any, dtype: str) -> Any:
    """The value as a Python number of a type; None where it has no such number.

    Floats that are too large for a type become infinite, as in NumPy.
    """
    if dtype == "bool":
        return bool(value)
    if dtype in COMPLEX:
        with np.errstate(over="ignore"):
            return complex(np.dtype(dtype).type(value))
    if isinstance(value, complex):
        return None
    if dtype in INTEGERS:
        if not math.isfinite(value):
            return None
        limits = np.iinfo(dtype)
        return int(value) if limits.min <= int(value) <= limits.max else None
    with np.errstate(over="ignore"):
        return float(np.dtype(dtype).type(value))


_FOLD: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "min": min,
    "max": max,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def _fold(symbol: str, left: Value, right: Value) -> Value | None:
    """Python's own result on two Python constants, where it is a number that fits."""
    if not (left.weak and right.weak and left.constant is not None and right.constant is not None):
        return None
    try:
        result = _FOLD[symbol](left.constant, right.constant)
    except (ArithmeticError, ValueError, TypeError):
        return None
    if isinstance(result, bool):
        result = int(result)
    if isinstance(result, int) and abs(result) < 2**63:
        return constant(result)
    if isinstance(result, complex) and not any(isinstance(side.constant, complex) for side in (left, right)):
        return None  # a power of a negative number: of an array it is NaN
    return constant(result) if isinstance(result, float | complex) else None


def binary(symbol: str, left: Value, right: Value) -> Value:
    """``left symbol right`` for ``+ - * / // % ** min max & | ^ << >>``.

    Args:
        symbol: the operator.
        left, right: numbers; two constants give a constant.
    """
    folded = _fold(symbol, left, right)
    if folded is not None:
        return folded
    kind = join(kind_of(left), kind_of(right))
    is_quotient = symbol == "/" or (
        symbol == "**" and kind.weak and kind.dtype in INTEGERS and (right.constant or 0) < 0
    )
    if is_quotient and kind.dtype in INTEGERS:
        kind = ScalarKind("float64", kind.weak)
    return Value(Binary(symbol, convert(left, kind.dtype), convert(right, kind.dtype), kind.dtype), kind.weak)


def negate(value: Value) -> Value:
    value = number(value)
    if value.weak and value.dtype == "uint64":
        return Value(Cast(Constant(-value.constant, "int64"), "int64"), weak=True)  # which holds no such number
    if value.weak and value.constant is not None:
        return constant(-value.constant)
    return Value(Unary("-", value.expression, value.dtype), value.weak)


def part(value: Value, name: str) -> Value:
    """The part ``"real"`` or ``"imag"`` of a number."""
    if value.dtype not in COMPLEX:
        value = number(value)
        return value if name == "real" else cast(constant(0), value.dtype, value.weak)
    if value.weak and value.constant is not None:
        return constant(getattr(value.constant, name))
    return Value(Call(name, (value.expression,), part_type(value.dtype)), value.weak)


def absolute(value: Value) -> Value:
    value = number(value)
    if value.weak and value.constant is not None:
        return constant(abs(value.constant))
    if value.dtype in COMPLEX:
        magnitude = call("hypot", [part(value, "real"), part(value, "imag")], python=False)
        return Value(magnitude.expression, value.weak)
    return Value(Unary("abs", value.expression, value.dtype), value.weak)


def number(value: Value) -> Value:
    """The value with a bool made an integer."""
    return cast(value, "int64", weak=True) if value.dtype == "bool" else value


def meets_truth_value(left: Value, right: Value) -> bool:
    """Return whether a number of Python's meets a truth value of NumPy's: what comes of it is a number of NumPy's."""
    return any(
        one.dtype == "bool" and not one.weak and other.weak and other.dtype != "bool"
        for one, other in ((left, right), (right, left))
    )


def truth(value: Value) -> Value:
    """The value as a condition: itself if bool, else ``value != 0``."""
    return value if value.dtype == "bool" else compare("!=", value, constant(0))


def compare(symbol: str, left: Value, right: Value) -> Value:
    """``left symbol right`` as a truth value; integers are compared by their values, whatever their types.

    It is Python's own where both sides are.

    Args:
        symbol: ``<``, ``<=``, ``>``, ``>=``, ``==`` or ``!=``.
        left, right: numbers; two constants give a constant.
    """
    return replace(_comparison(symbol, left, right), weak=left.weak and right.weak)


def _comparison(symbol: str, left: Value, right: Value) -> Value:
    has_order = not any(isinstance(side.constant, complex) for side in (left, right))
    if left.constant is not None and right.constant is not None and (has_order or symbol in ("==", "!=")):
        return constant(_COMPARE[symbol](left.constant, right.constant))
    dtype = join(kind_of(left), kind_of(right)).dtype
    if left.is_integer and right.is_integer:
        # NumPy compares integers by their values, whatever their types.
        unsigned = [side.dtype == "uint64" and not side.weak for side in (left, right)]
        if any(unsigned) and not all(unsigned):
            return _compare_with_unsigned(symbol, left, right, is_left=unsigned[0])
        is_wider = any(
            side.weak and (side.constant is None or _as_python(side.constant, dtype) is None) for side in (left, right)
        )
        if dtype in _LESS_THAN_A_WORD and is_wider and (dtype != "int32" or _has_wide_constant(left, right)):
            dtype = "int64"
    return Value(Compare(symbol, convert(left, dtype), convert(right, dtype)), weak=True)


def _has_wide_constant(left: Value, right: Value) -> bool:
    return any(side.constant is not None and _as_python(side.constant, "int32") is None for side in (left, right))


def _compare_with_unsigned(symbol: str, left: Value, right: Value, *, is_left: bool) -> Value:
    """A comparison of a uint64, which may have no equal among signed integers, and an integer of another type."""
    other = right if is_left else left
    if other.constant is not None and other.constant >= 2**63:
        sides = (left.expression, convert(right, "uint64")) if is_left else (convert(left, "uint64"), right.expression)
        return Value(Compare(symbol, *sides), weak=True)
    signed = cast(other, "int64")
    whole = (left, cast(signed, "uint64")) if is_left else (cast(signed, "uint64"), right)
    plain = Value(Compare(symbol, whole[0].expression, whole[1].expression), weak=True)
    if signed.dtype in UNSIGNED_TYPES:
        return plain
    # A negative number is less than any that is unsigned.
    at_negative = _COMPARE[symbol](0, -1) if is_left else _COMPARE[symbol](-1, 0)
    if signed.constant is not None:
        return plain if signed.constant >= 0 else constant(at_negative)
    negative = Value(Compare("<", signed.expression, Constant(0, "int64")), weak=True)
    return select(negative, constant(at_negative), plain)


def logical(symbol: str, operands: list[Value]) -> Value:
    """``and`` / ``or`` of conditions; constant operands are decided here.

    It may be Python's own where an operand is, as it is one of them.
    """
    decisive = symbol == "or"
    kept: list[Expression] = []
    for operand in operands:
        if operand.constant is None:
            kept.append(operand.expression)
        elif operand.constant == decisive:
            if not kept:
                return constant(decisive)
            kept.append(operand.expression)
            break
    if not kept:
        return constant(not decisive)
    weak = any(operand.weak for operand in operands)
    return Value(kept[0] if len(kept) == 1 else Logical(symbol, tuple(kept)), weak)


def negation(condition: Value) -> Value:
    """``not condition``, Python's own truth value."""
    if condition.constant is not None:
        return constant(not condition.constant)
    return Value(Unary("not", condition.expression, "bool"), weak=True)


def select(condition: Value, then: Value, otherwise: Value, *, evaluated: bool = False) -> Value:
    """``then if condition else otherwise``; a condition known here takes its branch.

    Args:
        condition: a truth value.
        then, otherwise: numbers, or truth values both.
        evaluated: whether the condition is evaluated even where both values are the same, for the elements that it
            reads: they have to be in range all the same.
    """
    if condition.constant is not None:
        return then if condition.constant else otherwise
    if then == otherwise and not (evaluated and any(isinstance(node, Element) for node in walk(condition.expression))):
        return then
    if then.dtype == otherwise.dtype == "bool":
        chosen = Select(condition.expression, then.expression, otherwise.expression, "bool")
        return Value(chosen, then.weak or otherwise.weak)
    kind = join(kind_of(then), kind_of(otherwise))
    branches = convert(then, kind.dtype), convert(otherwise, kind.dtype)
    return Value(Select(condition.expression, *branches, kind.dtype), kind.weak)


def call(function: str, arguments: list[Value], *, python: bool) -> Value:
    """The value of a mathematical function.

    Args:
        function: its name.
        arguments: numbers.
        python: whether it is one of the ``math`` module, which computes in double precision and gives a Python float;
            those of NumPy compute in the type of their arguments (integers as double) and give a NumPy scalar.
    """
    if python:
        dtype = "float64"
    else:
        kind = kind_of(arguments[0])
        for argument in arguments[1:]:
            kind = join(kind, kind_of(argument))
        dtype = kind.dtype if is_inexact(kind.dtype) else "float32" if kind.dtype in ("int16", "uint16") else "float64"
    if python:
        folded = _fold_call(function, arguments)
        if folded is not None:
            return folded
    return Value(Call(function, tuple(convert(argument, dtype) for argument in arguments), dtype), weak=python)


def rounded(value: Value) -> Value:
    """A floating-point number that is computed as it stands, also where kernels may reassociate: what is done with it
    does not become one with how it is computed."""
    return Value(Call("rounded", (value.expression,), value.dtype), value.weak)


def _fold_call(function: str, arguments: list[Value]) -> Value | None:
    """Return what Python's own function gives for constants."""
    if any(argument.constant is None for argument in arguments):
        return None
    try:
        return constant(float(getattr(math, function)(*(argument.constant for argument in arguments))))
    except (ArithmeticError, ValueError, TypeError):
        return None
