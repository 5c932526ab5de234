"""Complex numbers of generated functions: a structure of two floats, as Numba has them in registers and in memory."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any

from llvmlite import binding, ir
from numba import _helperlib
from numba.core import cgutils, types

from polytune.runtime.native.kinds import NativeValue, NotNativeError, llvm_kind

__all__ = [
    "ComplexParts",
    "arithmetic",
    "combined",
    "compared",
    "conjugate",
    "exponential",
    "magnitude",
    "negated",
    "part",
    "power",
]

_POWERS = {types.complex64: "cpowf", types.complex128: "cpow"}
"""Numba's own functions of powers, which are Python's."""

for _name in _POWERS.values():
    binding.add_symbol(f"polytune_{_name}", _helperlib.c_helpers[_name])


class ComplexParts:
    """A complex number by its parts, as operations that are written for Numba take it.

    Args:
        builder: where the code goes.
        kind: its Numba type.
        value: the number; where it is not given, the parts are assigned.
    """

    real: ir.Value
    imag: ir.Value

    def __init__(self, builder: ir.IRBuilder, kind: types.Complex, value: ir.Value | None = None):
        self._builder, self._kind = builder, kind
        if value is not None:
            self.real, self.imag = (builder.extract_value(value, place) for place in (0, 1))

    def _getvalue(self) -> ir.Value:
        number = ir.Constant(llvm_kind(self._kind), ir.Undefined)
        for place, each in enumerate((self.real, self.imag)):
            number = self._builder.insert_value(number, each, place)
        return number


def _made(builder: ir.IRBuilder, kind: types.Complex, real: ir.Value, imaginary: ir.Value) -> NativeValue:
    made = ComplexParts(builder, kind)
    made.real, made.imag = real, imaginary
    return NativeValue(kind, made._getvalue())


_OPERATIONS: Mapping[type[ast.operator], str] = {ast.Add: "fadd", ast.Sub: "fsub"}


def arithmetic(
    builder: ir.IRBuilder, operator: ast.operator, kind: types.Complex, first: ir.Value, second: ir.Value
) -> NativeValue:
    """Write the sum, difference or product of two complex numbers of one type.

    Args:
        builder: where the code goes.
        operator: ``+``, ``-`` or ``*``.
        kind: the type of both numbers and of the result.
        first, second: the numbers, each a structure of two floats.

    Raises:
        NotNativeError: it is another operator.
    """
    left, right = ComplexParts(builder, kind, first), ComplexParts(builder, kind, second)
    if type(operator) in _OPERATIONS:
        apply = getattr(builder, _OPERATIONS[type(operator)])
        return _made(builder, kind, apply(left.real, right.real), apply(left.imag, right.imag))
    if isinstance(operator, ast.Mult):
        real = builder.fsub(builder.fmul(left.real, right.real), builder.fmul(left.imag, right.imag))
        imaginary = builder.fadd(builder.fmul(left.real, right.imag), builder.fmul(left.imag, right.real))
        return _made(builder, kind, real, imaginary)
    raise NotNativeError(f"{type(operator).__name__} of {kind}")


def power(builder: ir.IRBuilder, kind: types.Complex, base: ir.Value, exponent: ir.Value) -> NativeValue:
    """Write ``base ** exponent`` of two complex numbers of one type as Numba does, by multiplication where the exponent
    is 2.

    Args:
        builder: where the code goes.
        kind: the type of both numbers and of the result.
        base, exponent: the numbers, each a structure of two floats.
    """
    places = [cgutils.alloca_once_value(builder, number) for number in (base, exponent)]
    found = cgutils.alloca_once(builder, base.type)
    parts = ComplexParts(builder, kind, exponent)
    two, zero = parts.real.type(2.0), parts.real.type(0.0)
    tests = builder.fcmp_ordered("==", parts.real, two), builder.fcmp_ordered("==", parts.imag, zero)
    with builder.if_else(builder.and_(*tests)) as (then, otherwise):
        with then:
            builder.store(arithmetic(builder, ast.Mult(), kind, base, base).code, found)
        with otherwise:
            function_kind = ir.FunctionType(ir.VoidType(), [base.type.as_pointer()] * 3)
            symbol = f"polytune_{_POWERS[kind]}"
            function = cgutils.get_or_insert_function(builder.module, function_kind, symbol)
            builder.call(function, [*places, found])
    return NativeValue(kind, builder.load(found, typ=base.type))


def negated(builder: ir.IRBuilder, value: NativeValue) -> NativeValue:
    """Write ``-z``."""
    parts = ComplexParts(builder, value.kind, value.code)
    return _made(builder, value.kind, builder.fneg(parts.real), builder.fneg(parts.imag))


def compared(builder: ir.IRBuilder, relation: str, kind: types.Complex, first: ir.Value, second: ir.Value) -> ir.Value:
    """Write ``==`` or ``!=`` of two complex numbers of one type, as one bit.

    Args:
        builder: where the code goes.
        relation: ``==`` or ``!=``.
        kind: the type of both numbers.
        first, second: the numbers, each a structure of two floats.

    Raises:
        NotNativeError: it is another relation; complex numbers have no order.
    """
    left, right = ComplexParts(builder, kind, first), ComplexParts(builder, kind, second)
    pairs = (left.real, right.real), (left.imag, right.imag)
    if relation == "==":
        return builder.and_(*(builder.fcmp_ordered(relation, *pair) for pair in pairs))
    if relation == "!=":
        return builder.or_(*(builder.fcmp_unordered(relation, *pair) for pair in pairs))
    raise NotNativeError(f"{relation} of {kind}")


def part(builder: ir.IRBuilder, value: NativeValue, name: str) -> NativeValue:
    """Write ``z.real`` or ``z.imag``.

    Args:
        builder: where the code goes.
        value: a complex number.
        name: ``real`` or ``imag``.
    """
    return NativeValue(value.kind.underlying_float, getattr(ComplexParts(builder, value.kind, value.code), name))


def conjugate(builder: ir.IRBuilder, value: NativeValue) -> NativeValue:
    """Write ``z.conjugate()``."""
    parts = ComplexParts(builder, value.kind, value.code)
    return _made(builder, value.kind, parts.real, builder.fneg(parts.imag))


def combined(builder: ir.IRBuilder, real: NativeValue, imaginary: NativeValue) -> NativeValue:
    """Write ``complex(x, y)``; of two float32 it is a complex64, as Numba's.

    Args:
        builder: where the code goes.
        real, imaginary: floats of one type.

    Raises:
        NotNativeError: the parts are no floats of one type.
    """
    if real.kind != imaginary.kind or not isinstance(real.kind, types.Float):
        raise NotNativeError(f"a complex number of {real.kind} and {imaginary.kind}")
    kind = types.complex64 if real.kind == types.float32 else types.complex128
    return _made(builder, kind, real.code, imaginary.code)


def magnitude(builder: ir.IRBuilder, value: NativeValue) -> NativeValue:
    """Write ``abs(z)``, by C's ``hypot``."""
    kind = value.kind.underlying_float
    parts = ComplexParts(builder, value.kind, value.code)
    number = llvm_kind(kind)
    symbol = "hypotf" if kind == types.float32 else "hypot"
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(number, [number, number]), symbol)
    return NativeValue(kind, builder.call(function, [parts.real, parts.imag]))


def exponential(
    builder: ir.IRBuilder,
    value: NativeValue,
    functions: Mapping[Any, Callable[[ir.IRBuilder, NativeValue], NativeValue]],
) -> NativeValue:
    """Write ``np.exp(z)``, also of what is not finite: without a branch, so that loops with it become vectors.

    Args:
        builder: where the code goes.
        value: a complex number.
        functions: what writes C's functions of one float, by Python's names of them.
    """
    kind = value.kind.underlying_float
    parts = ComplexParts(builder, value.kind, value.code)
    real, angle = NativeValue(kind, parts.real), NativeValue(kind, parts.imag)
    size, cosine, sine = (
        functions[function](builder, each).code
        for function, each in ((math.exp, real), (math.cos, angle), (math.sin, angle))
    )
    zero, infinity = (ir.Constant(parts.real.type, each) for each in (0.0, math.inf))
    # The sine of 0 stays 0 beside an infinity or NaN, and of an infinite angle only an infinite size says more.
    is_real = builder.fcmp_ordered("==", sine, zero)
    is_nowhere = builder.fcmp_unordered("uno", cosine, cosine)
    is_nothing = builder.and_(is_nowhere, builder.fcmp_ordered("==", parts.real, builder.fneg(infinity)))
    is_endless = builder.and_(is_nowhere, builder.fcmp_ordered("==", parts.real, infinity))
    found = builder.select(is_endless, infinity, builder.fmul(size, cosine))
    turned = builder.select(is_real, sine, builder.fmul(size, sine))
    return _made(builder, value.kind, builder.select(is_nothing, zero, found), builder.select(is_nothing, zero, turned))
