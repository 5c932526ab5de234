"""Minimum, maximum, index division and powers in compiled code, with next to no cost at compile time.

Numba's own ``min`` and ``max`` of floats propagate NaN by their own rules; these are ``b if b < a else a`` and
``b if b > a else a``, as Python's, which is what the interpreted kernel does; of vectors, lane by lane.
Numba compiles a function of its own for the integer division of Python; ``quotient`` and ``remainder`` are a few
instructions in place, for divisors that are known to be positive, as all are in index arithmetic.
``power`` multiplies as often as repeated squaring takes, of vectors and complex numbers too.  Compilers put their own
forms, which round differently, in place of some powers; ``library_pow`` is what Python calls, whatever the exponent.
``floor_quotient`` and ``complex_quotient`` divide as NumPy does.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from polytune.runtime.intrinsics.plain_arithmetic import keep_operands_plain
from polytune.runtime.intrinsics.vector_types import Vector

__all__ = [
    "complex_quotient",
    "floor_quotient",
    "frozen",
    "greatest",
    "least",
    "library_pow",
    "power",
    "quotient",
    "remainder",
    "rounded",
    "shifted_left",
    "shifted_right",
]


def _select(builder: ir.IRBuilder, number: types.Type, relation: str, first: ir.Value, second: ir.Value) -> ir.Value:
    """``second if second <relation> first else first``."""
    if isinstance(getattr(number, "dtype", number), types.Float):
        better = builder.fcmp_ordered(relation, second, first)
    elif getattr(number, "signed", True):
        better = builder.icmp_signed(relation, second, first)
    else:
        better = builder.icmp_unsigned(relation, second, first)
    return builder.select(better, second, first)


def _common(first: types.Type, second: types.Type, name: str) -> types.Type:
    first, second = types.unliteral(first), types.unliteral(second)
    if isinstance(first, types.Integer) and isinstance(second, types.Integer):
        return types.int64 if types.int64 in (first, second) or first != second else first
    if first == second and isinstance(first, types.Float | Vector):
        return first
    raise TypingError(f"{name} takes two integers or two floats or vectors of one type, not {first} and {second}")


@intrinsic
def least(typing_context, first, second):
    """``second if second < first else first``."""
    common = _common(first, second, "least")

    def emit(context, builder, sig, args):
        values = [context.cast(builder, arg, given, common) for arg, given in zip(args, sig.args, strict=True)]
        return _select(builder, common, "<", *values)

    return common(first, second), emit


@intrinsic
def greatest(typing_context, first, second):
    """``second if second > first else first``."""
    common = _common(first, second, "greatest")

    def emit(context, builder, sig, args):
        values = [context.cast(builder, arg, given, common) for arg, given in zip(args, sig.args, strict=True)]
        return _select(builder, common, ">", *values)

    return common(first, second), emit


def _floor_division(builder: ir.IRBuilder, dividend: ir.Value, divisor: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Quotient and remainder with ``0 <= remainder < divisor``, for a positive divisor."""
    zero = dividend.type(0)
    truncated, rest = builder.sdiv(dividend, divisor), builder.srem(dividend, divisor)
    negative = builder.icmp_signed("<", rest, zero)
    quotient = builder.sub(truncated, builder.zext(negative, dividend.type))
    return quotient, builder.select(negative, builder.add(rest, divisor), rest)


def _integer_operation(name: str, operation: Callable[..., ir.Value]):
    def typed(typing_context, dividend, divisor):
        if not (isinstance(dividend, types.Integer) and isinstance(divisor, types.Integer)):
            raise TypingError(f"{name} divides integers, not {dividend} by {divisor}")

        def emit(context, builder, sig, args):
            values = [context.cast(builder, arg, given, types.int64) for arg, given in zip(args, sig.args, strict=True)]
            return operation(builder, *values)

        return types.int64(dividend, divisor), emit

    return typed


@intrinsic
def quotient(typing_context, dividend, divisor):
    """``dividend // divisor`` of integers, for a positive divisor."""
    return _integer_operation("quotient", lambda builder, *values: _floor_division(builder, *values)[0])(
        typing_context, dividend, divisor
    )


@intrinsic
def remainder(typing_context, dividend, divisor):
    """``dividend % divisor`` of integers, for a positive divisor."""
    return _integer_operation("remainder", lambda builder, *values: _floor_division(builder, *values)[1])(
        typing_context, dividend, divisor
    )


def integer_division(builder: ir.IRBuilder, left: ir.Value, right: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Python's ``//`` and ``%`` of int64, both 0 where the divisor is, as in NumPy; wrapped where the quotient is too
    large.

    Args:
        builder: where the code goes.
        left, right: int64 each.
    """
    number = left.type
    zero, one = number(0), number(1)
    is_zero = builder.icmp_signed("==", right, zero)
    is_minus_one = builder.icmp_signed("==", right, number(-1))
    # Processors trap at x / 0, and at the smallest number / -1.
    divisor = builder.select(builder.or_(is_zero, is_minus_one), one, right)
    truncated, rest = builder.sdiv(left, divisor), builder.srem(left, divisor)
    differs = builder.icmp_signed("!=", rest, zero)
    opposite = builder.icmp_signed("<", builder.xor(rest, divisor), zero)
    adjust = builder.and_(differs, opposite)
    quotient = builder.sub(truncated, builder.zext(adjust, number))
    remainder = builder.add(rest, builder.select(adjust, divisor, zero))
    quotient = builder.select(is_minus_one, builder.neg(left), quotient)
    quotient = builder.select(is_zero, zero, quotient)
    return quotient, builder.select(is_zero, zero, remainder)


@intrinsic
def floor_quotient(typing_context, dividend, divisor):
    """``dividend // divisor`` of integers, for any divisor: Numba's own is 0 for the least integer over -1."""
    return _integer_operation("floor_quotient", lambda builder, *values: integer_division(builder, *values)[0])(
        typing_context, dividend, divisor
    )


@intrinsic(prefer_literal=True)
def power(typing_context, base, exponent):
    """``base ** exponent`` for a literal integer, negative ones for floats only, by multiplication; integers wrap
    round."""
    base = types.unliteral(base)
    if isinstance(exponent, types.IntegerLiteral) and isinstance(base, types.Complex):
        return _complex_power(base, exponent)
    if not isinstance(exponent, types.IntegerLiteral) or not isinstance(base, types.Integer | types.Float | Vector):
        raise TypingError(f"power takes a number or a vector and a literal integer, not {base} and {exponent}")
    is_float = isinstance(getattr(base, "dtype", base), types.Float)
    if exponent.literal_value < 0 and not is_float:
        raise TypingError("integers have no negative powers")

    def emit(context, builder, sig, args):
        product = None
        square, rest = args[0], abs(exponent.literal_value)
        multiply = builder.fmul if is_float else builder.mul
        while rest:
            if rest % 2:
                product = square if product is None else multiply(product, square)
            rest //= 2
            if rest:
                square = multiply(square, square)
        if product is None:
            product = _one(square.type)
        return builder.fdiv(_one(square.type), product) if exponent.literal_value < 0 else product

    return base(base, exponent), emit


def _one(kind: ir.Type) -> ir.Constant:
    """The number 1, in every lane of a vector."""
    return kind([_one(kind.element)] * kind.count) if isinstance(kind, ir.VectorType) else kind(1)


@intrinsic
def rounded(typing_context, value):
    """A float as it is, across which LLVM does not reassociate or contract."""
    value = types.unliteral(value)
    if not isinstance(value, types.Float):
        raise TypingError(f"rounded takes a float, not {value}")

    def emit(context, builder, sig, args):
        kind = args[0].type
        name = f"llvm.arithmetic.fence.f{value.bitwidth}"
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind]), name)
        return builder.call(function, args)

    return value(value), emit


@intrinsic
def frozen(typing_context, value):
    """A float that is one and the same number wherever it is used, computed as without ``fastmath``.

    To LLVM the result of an operation under ``nnan`` or ``ninf`` that is NaN or infinite is poison, for which it may
    put another number in each place, and on which no test can be relied.
    """
    value = types.unliteral(value)
    if not isinstance(value, types.Float):
        raise TypingError(f"frozen takes a float, not {value}")

    def emit(context, builder, sig, args):
        keep_operands_plain(args[0])
        made = ir.Instruction(builder.block, args[0].type, "freeze", [args[0]])
        builder._insert(made)
        return made

    return value(value), emit


def _shift(name: str):
    def typed(typing_context, value, amount):
        value, amount = types.unliteral(value), types.unliteral(amount)
        if value != amount or not isinstance(value, types.Integer):
            raise TypingError(f"{name} takes two integers of one type, not {value} and {amount}")

        def emit(context, builder, sig, args):
            number, by = args
            width = number.type(value.bitwidth)
            if name == "shifted_left":
                shifted, beyond = builder.shl(number, by), number.type(0)
            else:
                shift = builder.ashr if value.signed else builder.lshr
                last = number.type(value.bitwidth - 1)
                shifted = shift(number, by)
                beyond = builder.ashr(number, last) if value.signed else number.type(0)
            # Compared as unsigned, so that negative numbers are beyond, too.
            return builder.select(builder.icmp_unsigned("<", by, width), shifted, beyond)

        return value(value, amount), emit

    return typed


@intrinsic
def shifted_left(typing_context, value, amount):
    """``value << amount`` of integers of one type: 0 where no bit is left."""
    return _shift("shifted_left")(typing_context, value, amount)


@intrinsic
def shifted_right(typing_context, value, amount):
    """``value >> amount`` of integers of one type: only the sign where no bit is left."""
    return _shift("shifted_right")(typing_context, value, amount)


_Complex = tuple[ir.Value, ir.Value]


def _parts(context, builder: ir.IRBuilder, kind: types.Complex, value: ir.Value) -> _Complex:
    made = context.make_complex(builder, kind, value=value)
    return made.real, made.imag


def _of_parts(context, builder: ir.IRBuilder, kind: types.Complex, parts: _Complex) -> ir.Value:
    made = context.make_complex(builder, kind)
    made.real, made.imag = parts
    return made._getvalue()


def _complex_product(builder: ir.IRBuilder, first: _Complex, second: _Complex) -> _Complex:
    straight = builder.fmul(first[0], second[0]), builder.fmul(first[1], second[1])
    crossed = builder.fmul(first[0], second[1]), builder.fmul(first[1], second[0])
    return builder.fsub(*straight), builder.fadd(*crossed)


def _complex_power(base: types.Complex, exponent: types.IntegerLiteral):
    """A power of a complex number by multiplication, in the order in which NumPy multiplies."""

    def emit(context, builder, sig, args):
        product = None
        square, rest = _parts(context, builder, base, args[0]), abs(exponent.literal_value)
        one = square[0].type(1), square[0].type(0)
        while rest:
            if rest % 2:
                product = square if product is None else _complex_product(builder, product, square)
            rest //= 2
            if rest:
                square = _complex_product(builder, square, square)
        product = one if product is None else product
        if exponent.literal_value < 0:
            product = _complex_quotient(builder, one, product)
        return _of_parts(context, builder, base, product)

    return base(base, exponent), emit


def _complex_quotient(builder: ir.IRBuilder, first: _Complex, second: _Complex) -> _Complex:
    """The quotient by Smith's algorithm, as NumPy computes it: that of 0 is infinite or NaN in both parts.

    Recurrences wait for quotients, and these for two divisions.  What is divided is the lesser magnitude by the greater
    one, which takes less time to find than which of the parts is which: that is needed later.
    """
    zero, one, infinity = map(second[0].type, (0, 1, math.inf))
    sizes = [_of_floats(builder, "llvm.fabs", part) for part in second]
    # The second operand of either where one is NaN, so that NaN is among them.
    larger = builder.select(builder.fcmp_ordered(">", *sizes), *sizes)
    smaller = builder.select(builder.fcmp_ordered("<", *sizes[::-1]), *sizes[::-1])
    size = builder.fdiv(smaller, larger)
    scale = builder.fdiv(one, builder.fadd(larger, builder.fmul(smaller, size)))
    is_straight = builder.fcmp_ordered(">=", *sizes)
    scale = _of_floats(builder, "llvm.copysign", scale, builder.select(is_straight, *second))
    ratio = _of_floats(builder, "llvm.copysign", size, _with_common_sign(builder, second))
    main, other = (builder.select(is_straight, *pair) for pair in (first, first[::-1]))
    crossed = builder.fmul(main, ratio)
    real = builder.fmul(builder.fadd(main, builder.fmul(other, ratio)), scale)
    difference = builder.select(is_straight, builder.fsub(other, crossed), builder.fsub(crossed, other))
    imaginary = builder.fmul(difference, scale)
    is_zero = builder.and_(*(builder.fcmp_ordered("==", each, zero) for each in (larger, smaller)))
    return tuple(
        # Of 0 it is ``part / 0``, which is as much as this.
        builder.select(is_zero, builder.fmul(part, infinity), quotient)
        for part, quotient in zip(first, (real, imaginary), strict=True)
    )


def _of_floats(builder: ir.IRBuilder, function: str, *operands: ir.Value) -> ir.Value:
    """One of LLVM's own functions of floats of one type."""
    number = operands[0].type
    kind = ir.FunctionType(number, [number] * len(operands))
    return builder.call(builder.module.declare_intrinsic(function, [number], kind), operands)


def _with_common_sign(builder: ir.IRBuilder, parts: _Complex) -> ir.Value:
    """A number with the sign of the product of two, be it 0."""
    bits = ir.IntType(64 if isinstance(parts[0].type, ir.DoubleType) else 32)
    return builder.bitcast(builder.xor(*(builder.bitcast(part, bits) for part in parts)), parts[0].type)


@intrinsic
def complex_quotient(typing_context, dividend, divisor):
    """``dividend / divisor`` of complex numbers of one type, without Python's error for 0."""
    dividend, divisor = types.unliteral(dividend), types.unliteral(divisor)
    if dividend != divisor or not isinstance(dividend, types.Complex):
        raise TypingError(f"complex_quotient takes two complex numbers of one type, not {dividend} and {divisor}")

    def emit(context, builder, sig, args):
        first, second = (_parts(context, builder, dividend, arg) for arg in args)
        return _of_parts(context, builder, dividend, _complex_quotient(builder, first, second))

    return dividend(dividend, divisor), emit


@intrinsic
def library_pow(typing_context, base, exponent):
    """``pow`` of C's library of two floats of one type."""
    base, exponent = types.unliteral(base), types.unliteral(exponent)
    if base != exponent or base not in (types.float32, types.float64):
        raise TypingError(f"library_pow takes two floats of one type, not {base} and {exponent}")

    def emit(context, builder, sig, args):
        number = args[0].type
        name = "pow" if base == types.float64 else "powf"
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(number, [number, number]), name)
        function.attributes.add("nobuiltin")
        return builder.call(function, args)

    return base(base, exponent), emit
