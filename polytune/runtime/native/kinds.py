"""The types of numbers in generated functions, and how one becomes another: Numba's rules, for the cases that occur."""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import types

__all__ = [
    "BIT",
    "WORD",
    "NativeValue",
    "NotNativeError",
    "cast",
    "common_kind",
    "llvm_kind",
    "storage_kind",
    "unified",
]

BIT, WORD = ir.IntType(1), ir.IntType(64)


class NotNativeError(Exception):
    """A function is not written in the part of Python that is translated here; Numba compiles it."""


class NativeValue(NamedTuple):
    """The value of an expression.

    Attributes:
        kind: its Numba type.
        code: the value in LLVM's language; of a view or an array its parts.
        literal: the number or text, where the source spells it out.
    """

    kind: Any
    code: Any
    literal: Any = None


def llvm_kind(kind: types.Type) -> ir.Type:
    """The LLVM type of numbers in registers."""
    if kind == types.boolean:
        return BIT
    if isinstance(kind, types.Integer):
        return ir.IntType(kind.bitwidth)
    if kind == types.float32:
        return ir.FloatType()
    if kind == types.float64:
        return ir.DoubleType()
    if isinstance(kind, types.Complex):
        return ir.LiteralStructType([llvm_kind(kind.underlying_float)] * 2)
    raise NotNativeError(f"values of type {kind}")


def storage_kind(kind: types.Type) -> ir.Type:
    """The LLVM type of numbers in memory, where a truth value takes a byte."""
    return ir.IntType(8) if kind == types.boolean else llvm_kind(kind)


def cast(builder: ir.IRBuilder, value: ir.Value, given: types.Type, wanted: types.Type) -> ir.Value:
    """A number as one of another type, by C's rules, as Numba's conversions are.

    Args:
        builder: where the code goes.
        value: the number.
        given: its type.
        wanted: the type of the result; no complex number becomes a real one.
    """
    given, wanted = types.unliteral(given), types.unliteral(wanted)
    if given == wanted:
        return value
    if isinstance(wanted, types.Complex):
        return _complex_of(builder, value, given, wanted)
    if isinstance(given, types.Complex):
        raise NotNativeError(f"{given} as {wanted}")
    target = llvm_kind(wanted)
    if wanted == types.boolean:
        if isinstance(given, types.Float):
            return builder.fcmp_unordered("!=", value, value.type(0.0))
        return builder.icmp_unsigned("!=", value, value.type(0))
    if isinstance(wanted, types.Integer):
        if given == types.boolean:
            return builder.zext(value, target)
        if isinstance(given, types.Float):
            return builder.fptosi(value, target) if wanted.signed else builder.fptoui(value, target)
        if given.bitwidth > wanted.bitwidth:
            return builder.trunc(value, target)
        if given.bitwidth == wanted.bitwidth:
            return value
        return builder.sext(value, target) if given.signed else builder.zext(value, target)
    if isinstance(given, types.Float):
        return builder.fpext(value, target) if wanted.bitwidth > given.bitwidth else builder.fptrunc(value, target)
    if given == types.boolean or not given.signed:
        return builder.uitofp(value, target)
    return builder.sitofp(value, target)


def _complex_of(builder: ir.IRBuilder, value: ir.Value, given: types.Type, wanted: types.Complex) -> ir.Value:
    """A number as a complex one."""
    own = wanted.underlying_float
    if isinstance(given, types.Complex):
        parts = [builder.extract_value(value, place) for place in (0, 1)]
        parts = [cast(builder, part, given.underlying_float, own) for part in parts]
    else:
        parts = [cast(builder, value, given, own), llvm_kind(own)(0.0)]
    number: ir.Value = ir.Constant(llvm_kind(wanted), ir.Undefined)
    for place, part in enumerate(parts):
        number = builder.insert_value(number, part, place)
    return number


_WITH_FLOAT64 = (
    {types.float64, types.float32},
    {types.float64, types.int64},
    {types.float32, types.int64},
)
"""Pairs of types that are computed with as float64."""

_WITH_COMPLEX128 = (
    {types.complex128, types.float64},
    {types.complex128, types.int64},
    {types.complex64, types.int64},
)
"""Pairs of types that are computed with as complex128."""


def common_kind(first: types.Type, second: types.Type) -> types.Type:
    """The type in which two numbers are added, multiplied or compared.

    Raises:
        NotNativeError: Numba's choice depends on more than is followed here.
    """
    first, second = types.unliteral(first), types.unliteral(second)
    if isinstance(first, types.Integer) and isinstance(second, types.Integer):
        if first.signed == second.signed:
            return types.int64 if first.signed else types.uint64
    elif first == second and isinstance(first, types.Float | types.Complex):
        return first
    elif {first, second} in _WITH_COMPLEX128:
        return types.complex128
    elif {first, second} in _WITH_FLOAT64:
        return types.float64
    raise NotNativeError(f"arithmetic of {first} and {second}")


def unified(first: types.Type, second: types.Type) -> types.Type:
    """The type of a value that is one of two.

    Raises:
        NotNativeError: they have different types, and are not an int64 and a float64.
    """
    first, second = types.unliteral(first), types.unliteral(second)
    if first == second:
        return first
    if {first, second} == {types.float64, types.int64}:
        return types.float64
    raise NotNativeError(f"a value that is {first} or {second}")
