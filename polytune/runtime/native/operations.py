"""The functions that generated ones call: the operations that Numba's functions use too, NumPy's types, and C's
mathematics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import NumbaError
from numba.extending import _Intrinsic as Intrinsic

from polytune.runtime.intrinsics.arithmetic import integer_division
from polytune.runtime.intrinsics.memory import keep_alive, view
from polytune.runtime.native import complex_numbers
from polytune.runtime.native.kinds import NativeValue, NotNativeError, cast, llvm_kind, storage_kind

__all__ = [
    "CASTS",
    "CONTEXT",
    "EXTREMA",
    "MATHEMATICS",
    "MATHEMATICS_OF_TWO",
    "Parts",
    "call_intrinsic",
    "extremum",
    "integer_remainder",
    "magnitude",
    "power",
]


class Parts:
    """A view or an array by its parts: ``data``, and ``stride_0`` and so on, or ``strides``."""

    data: ir.Value
    strides: ir.Value

    def _getvalue(self) -> Parts:
        return self


class _TruthValues:
    """The form of truth values in memory; all else is there as in registers."""

    def __getitem__(self, kind: types.Type) -> _TruthValues | _Numbers:
        return self if kind == types.boolean else _Numbers()

    def from_data(self, builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
        return builder.icmp_unsigned("!=", value, value.type(0))

    def as_data(self, builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
        return builder.zext(value, ir.IntType(8))


class _Numbers:
    def from_data(self, builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
        return value

    def as_data(self, builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
        return value


class _Context:
    """The questions that operations ask of Numba's target context when they write their code."""

    data_model_manager = _TruthValues()

    def cast(self, builder: ir.IRBuilder, value: ir.Value, given: types.Type, wanted: types.Type) -> ir.Value:
        return cast(builder, value, given, wanted)

    def get_value_type(self, kind: types.Type) -> ir.Type:
        return llvm_kind(kind)

    def get_data_type(self, kind: types.Type) -> ir.Type:
        return storage_kind(kind)

    def make_complex(
        self, builder: ir.IRBuilder, kind: types.Complex, value: ir.Value | None = None
    ) -> complex_numbers.ComplexParts:
        return complex_numbers.ComplexParts(builder, kind, value)

    def get_abi_sizeof(self, kind: ir.Type) -> int:
        if isinstance(kind, ir.LiteralStructType):
            return sum(self.get_abi_sizeof(element) for element in kind.elements)
        widths = {"float": 4, "double": 8}
        return widths[str(kind)] if str(kind) in widths else kind.width // 8

    def get_dummy_value(self) -> None:
        return None

    def make_helper(self, builder: ir.IRBuilder, kind: types.Type, value: Parts | None = None) -> Parts:
        return Parts() if value is None else value

    def make_array(self, kind: types.Type) -> Callable[..., Parts]:
        return lambda context, builder, value: value


CONTEXT: Any = _Context()


def call_intrinsic(builder: ir.IRBuilder, operation: Intrinsic, arguments: Sequence[NativeValue]) -> NativeValue:
    """The result of an operation that is written for Numba: it names its types and writes its own code.

    Args:
        builder: where the code goes.
        operation: what ``numba.extending.intrinsic`` has made.
        arguments: in order; those with a literal value are taken as literals where the operation prefers them.

    Raises:
        NotNativeError: it does not take such arguments.
    """
    if operation in (keep_alive, view) and not isinstance(arguments[0].code, Parts):
        raise NotNativeError(f"{operation} of {arguments[0].kind}")
    kinds = [each.kind if operation._prefer_literal else types.unliteral(each.kind) for each in arguments]
    try:
        signature, emit = operation._defn(None, *kinds)
    except NumbaError as error:
        raise NotNativeError(str(error)) from error
    code = emit(CONTEXT, builder, signature, [each.code for each in arguments])
    return NativeValue(signature.return_type, code)


CASTS: Mapping[Any, types.Type] = {
    getattr(np, name): getattr(types, name)
    for name in (
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float32", "float64", "complex64", "complex128"),
    )
} | {np.bool_: types.boolean}
"""NumPy's types, by which numbers are cast."""

_LLVM = {
    math.exp: "exp",
    math.log: "log",
    math.log10: "log10",
    math.sin: "sin",
    math.cos: "cos",
    math.sqrt: "sqrt",
    math.exp2: "exp2",
    math.log2: "log2",
    math.fabs: "fabs",
    np.floor: "floor",
    np.ceil: "ceil",
    np.trunc: "trunc",
    np.rint: "rint",
}
"""Functions of one float that LLVM has a name for."""

_LIBRARY = {
    function: function.__name__
    for function in (
        *(math.tan, math.asin, math.acos, math.atan, math.sinh, math.cosh, math.tanh),
        *(math.asinh, math.acosh, math.atanh, math.log1p, math.expm1, math.erf, math.erfc, math.lgamma, np.cbrt),
    )
} | {math.gamma: "tgamma"}
"""Functions of one float of C's library."""


_OF_TWO = {
    math.copysign: "llvm.copysign",
    math.atan2: "atan2",
    math.hypot: "hypot",
    np.fmod: "fmod",
}
"""Functions of two floats of one type, by LLVM's names and those of C's library."""


def _call(builder: ir.IRBuilder, symbol: str, arguments: Sequence[NativeValue]) -> NativeValue:
    """A call of a function of LLVM, ``llvm.sin``, or of C's library, ``sin``, of floats of one type with a value of
    that type."""
    kind = arguments[0].kind
    number, is_single = llvm_kind(kind), kind == types.float32
    suffix = (".f32" if is_single else ".f64") if symbol.startswith("llvm.") else "f" if is_single else ""
    function_kind = ir.FunctionType(number, [number] * len(arguments))
    function = cgutils.get_or_insert_function(builder.module, function_kind, f"{symbol}{suffix}")
    return NativeValue(kind, builder.call(function, [each.code for each in arguments]))


def _of_one(symbol: str) -> Callable[[ir.IRBuilder, NativeValue], NativeValue]:
    return lambda builder, argument: _call(builder, symbol, [argument])


def _of_two(symbol: str) -> Callable[[ir.IRBuilder, NativeValue, NativeValue], NativeValue]:
    return lambda builder, first, second: _call(builder, symbol, [first, second])


def _sign(builder: ir.IRBuilder, argument: NativeValue) -> NativeValue:
    """``np.sign`` of a float; zeros have 0.0, and NaN has NaN."""
    number = argument.code.type
    found: ir.Value = argument.code
    for relation, sign in (("==", 0.0), ("<", -1.0), (">", 1.0)):
        found = builder.select(builder.fcmp_ordered(relation, argument.code, number(0.0)), number(sign), found)
    return NativeValue(argument.kind, found)


MATHEMATICS: Mapping[Any, Callable[[ir.IRBuilder, NativeValue], NativeValue]] = {
    **{function: _of_one(f"llvm.{name}") for function, name in _LLVM.items()},
    **{function: _of_one(name) for function, name in _LIBRARY.items()},
    np.sign: _sign,
}
"""Functions of one float with a float of the same type as their value."""

MATHEMATICS_OF_TWO: Mapping[Any, Callable[[ir.IRBuilder, NativeValue, NativeValue], NativeValue]] = {
    function: _of_two(name) for function, name in _OF_TWO.items()
}
"""Functions of two floats of one type with a float of that type as their value."""

EXTREMA: Mapping[Any, tuple[str, str]] = {
    np.minimum: ("<=", "llvm.minimum"),
    np.maximum: (">=", "llvm.maximum"),
    np.fmin: ("<=", ""),
    np.fmax: (">=", ""),
}
"""NumPy's extrema: how the first number is compared with the second one where it is the result, and what LLVM calls
those of which NaN is the result where one number is NaN."""


def extremum(
    builder: ir.IRBuilder, function: Any, first: NativeValue, second: NativeValue, ignores_signs: bool
) -> NativeValue:
    """One of NumPy's extrema of two floats of one type.

    Args:
        builder: where the code goes.
        function: one of ``EXTREMA``.
        first: a number.
        second: a number.
        ignores_signs: whether either zero may be the result where one is 0.0 and one -0.0; then loops that look for an
            extremum become vectors.
    """
    relation, symbol = EXTREMA[function]
    if symbol and ignores_signs:
        return _call(builder, symbol, [first, second])
    is_better = builder.fcmp_ordered(relation, first.code, second.code)
    propagates = function in (np.minimum, np.maximum)
    unknown = (first if propagates else second).code
    is_unknown = builder.fcmp_unordered("uno", unknown, unknown)
    return NativeValue(first.kind, builder.select(builder.or_(is_better, is_unknown), first.code, second.code))


def magnitude(builder: ir.IRBuilder, value: NativeValue) -> NativeValue:
    """``abs`` of a number."""
    kind = types.unliteral(value.kind)
    if isinstance(kind, types.Complex):
        return complex_numbers.magnitude(builder, value)
    if isinstance(kind, types.Float):
        return _call(builder, "llvm.fabs", [NativeValue(kind, value.code)])
    if kind == types.int64:
        negative = builder.icmp_signed("<", value.code, value.code.type(0))
        return NativeValue(kind, builder.select(negative, builder.neg(value.code), value.code))
    raise NotNativeError(f"abs of {kind}")


def power(builder: ir.IRBuilder, base: ir.Value, exponent: ir.Value) -> ir.Value:
    """``base ** exponent`` of floats of one type.

    Args:
        builder: where the code goes.
        base, exponent: both float32 or both float64, as the result is.
    """
    suffix = "f32" if str(base.type) == "float" else "f64"
    kind = ir.FunctionType(base.type, [base.type, base.type])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.pow.{suffix}"), [base, exponent])


def integer_remainder(builder: ir.IRBuilder, left: ir.Value, right: ir.Value) -> ir.Value:
    """Python's ``%`` of int64, as ``integer_division`` has it.

    What is a remainder already, as most neighbours on a ring are, is not divided: that takes as long as some ten
    additions.

    Args:
        builder: where the code goes.
        left, right: int64 each.
    """
    if isinstance(right, ir.Constant):
        return integer_division(builder, left, right)[1]
    zero = left.type(0)
    is_remainder = builder.and_(builder.icmp_unsigned("<", left, right), builder.icmp_signed(">", right, zero))
    before = builder.block
    with builder.if_then(builder.not_(is_remainder), likely=False):
        divided = integer_division(builder, left, right)[1]
        after = builder.block
    found = builder.phi(left.type)
    found.add_incoming(left, before)
    found.add_incoming(divided, after)
    return found
