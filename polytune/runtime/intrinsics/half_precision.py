"""Conversions between float16 and wider floats in compiled code.

Numba has no float16 on processors: versions see elements of such arrays as ``uint16``, the bits, and compute with
float32.  Processors without instructions for it convert by operations on bits, as LLVM would call functions that are
not there.  Conversions to float16 round to the nearest, ties to even, from float64 too, once; what is too large is
infinite.  They are NumPy's, but for the payload of NaN.
"""

from __future__ import annotations

import functools
import platform

from llvmlite import ir
from numba.core import codegen, config, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

__all__ = ["half_bits", "half_rounded", "half_value"]

_BITS, _WORD, _LONG = ir.IntType(16), ir.IntType(32), ir.IntType(64)
_HALF, _SINGLE, _DOUBLE = ir.HalfType(), ir.FloatType(), ir.DoubleType()


@functools.cache
def _has_instructions() -> bool:
    """Return whether the processor that code is made for converts float16 itself."""
    if platform.machine().lower() in ("aarch64", "arm64"):
        return True
    features = config.CPU_FEATURES if config.CPU_FEATURES is not None else codegen.get_host_cpu_features()
    return "+f16c" in features.split(",")


def _widened(builder: ir.IRBuilder, bits: ir.Value) -> ir.Value:
    """The float32 that 16 bits are as a float16."""
    if _has_instructions():
        return builder.fpext(builder.bitcast(bits, _HALF), _SINGLE)
    word = builder.zext(bits, _WORD)
    magnitude = builder.and_(word, _WORD(0x7FFF))
    # With its exponent in place the number is 2 ** 112 times too small, denormal ones included.
    scaled = builder.bitcast(builder.shl(magnitude, _WORD(13)), _SINGLE)
    finite = builder.bitcast(builder.fmul(scaled, _SINGLE(2.0**112)), _WORD)
    unbounded = builder.or_(builder.shl(magnitude, _WORD(13)), _WORD(0x7F800000))
    is_finite = builder.icmp_unsigned("<", magnitude, _WORD(0x7C00))
    sign = builder.shl(builder.and_(word, _WORD(0x8000)), _WORD(16))
    return builder.bitcast(builder.or_(builder.select(is_finite, finite, unbounded), sign), _SINGLE)


def _single(builder: ir.IRBuilder, number: ir.Value) -> ir.Value:
    """A float64 as the float32 that has the same nearest float16: rounded to odd, so that nothing is rounded twice.

    A float32 has more than two digits beyond those of a float16, so the last of them tells on which side of a tie the
    number is (Boldo and Melquiond, Emulation of a FMA and correctly rounded sums, 2008, theorem 1).
    """
    nearest = builder.fptrunc(number, _SINGLE)
    back = builder.fpext(nearest, _DOUBLE)
    bits = builder.bitcast(nearest, _WORD)
    magnitudes = [builder.and_(builder.bitcast(each, _LONG), _LONG(0x7FFFFFFFFFFFFFFF)) for each in (back, number)]
    is_greater = builder.icmp_unsigned(">", *magnitudes)
    truncated = builder.sub(bits, builder.zext(is_greater, _WORD))
    odd = builder.bitcast(builder.or_(truncated, _WORD(1)), _SINGLE)
    is_finite = builder.icmp_unsigned("<", builder.and_(bits, _WORD(0x7F800000)), _WORD(0x7F800000))
    is_rounded = builder.and_(is_finite, builder.fcmp_ordered("!=", back, number))
    return builder.select(is_rounded, odd, nearest)


def _narrowed(builder: ir.IRBuilder, number: ir.Value) -> ir.Value:
    """The bits of the float16 next to a float32."""
    if _has_instructions():
        return builder.bitcast(builder.fptrunc(number, _HALF), _BITS)
    word = builder.bitcast(number, _WORD)
    sign = builder.lshr(builder.and_(word, _WORD(0x80000000)), _WORD(16))
    magnitude = builder.and_(word, _WORD(0x7FFFFFFF))
    # Halfway cases go to the even neighbour: one less than half a unit is added, and the last digit that stays.
    last = builder.and_(builder.lshr(magnitude, _WORD(13)), _WORD(1))
    rounded = builder.add(builder.add(magnitude, _WORD((15 - 127 << 23) + 0xFFF & 0xFFFFFFFF)), last)
    usual = builder.lshr(rounded, _WORD(13))
    # The unit of denormal float16 is that of float32 at 0.5, where an addition rounds.
    shifted = builder.fadd(builder.bitcast(magnitude, _SINGLE), _SINGLE(0.5))
    small = builder.sub(builder.bitcast(shifted, _WORD), _WORD(0x3F000000))
    is_nan = builder.icmp_unsigned(">", magnitude, _WORD(0x7F800000))
    large = builder.select(is_nan, _WORD(0x7E00), _WORD(0x7C00))
    found = builder.select(builder.icmp_unsigned("<", magnitude, _WORD(0x38800000)), small, usual)
    found = builder.select(builder.icmp_unsigned("<", magnitude, _WORD(0x47800000)), found, large)
    return builder.trunc(builder.or_(found, sign), _BITS)


def _narrowed_from(builder: ir.IRBuilder, number: ir.Value) -> ir.Value:
    return _narrowed(builder, _single(builder, number) if number.type == _DOUBLE else number)


def _require_float(value: types.Type, name: str) -> None:
    if types.unliteral(value) not in (types.float32, types.float64):
        raise TypingError(f"{name} takes a float32 or a float64, not {value}")


@intrinsic
def half_value(typing_context, bits):
    """The float32 that a float16 is, of which a uint16 has the bits."""
    if types.unliteral(bits) != types.uint16:
        raise TypingError(f"half_value takes a uint16, not {bits}")
    return types.float32(types.uint16), lambda context, builder, sig, args: _widened(builder, args[0])


@intrinsic
def half_bits(typing_context, value):
    """The bits, a uint16, of the float16 next to a float32 or a float64."""
    _require_float(value, "half_bits")
    return types.uint16(value), lambda context, builder, sig, args: _narrowed_from(builder, args[0])


@intrinsic
def half_rounded(typing_context, value):
    """The float16 next to a float32 or a float64, as a float32."""
    _require_float(value, "half_rounded")

    def emit(context, builder, sig, args):
        return _widened(builder, _narrowed_from(builder, args[0]))

    return types.float32(value), emit
