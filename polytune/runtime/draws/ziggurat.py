"""Normal numbers of NumPy's generators, in compiled code: the ziggurat of Marsaglia and Tsang.

G. Marsaglia, W. W. Tsang, *The ziggurat method for generating random variables*, Journal of Statistical Software 5(8),
2000.  It covers the density by 256 layers of the same area, most points of which are known to be below it.

The function that NumPy exports chooses the sign by a jump that no processor can foresee, which takes as long as all
else; this one does without.  NumPy may draw otherwise in another release, so that the first draw compares them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.np.random import _constants as constants

from polytune.runtime.draws.generators import BIT, DOUBLE, WORD, BitGenerator

__all__ = ["LAYERS", "is_drawn_alike", "write_normal"]

_COUNT, _MANTISSA = 256, 0x000FFFFFFFFFFFFF
_RIGHT, _INVERSE = constants.ziggurat_nor_r, constants.ziggurat_nor_inv_r
_COMPARED = 600
"""Numbers that are compared: some four of a hundred are not taken at once."""

LAYERS = np.concatenate([
    np.asarray(constants.ki_double).view(np.int64),
    np.asarray(constants.wi_double).view(np.int64),
    np.asarray(constants.fi_double).view(np.int64),
])  # fmt: skip
"""The layers: how many points of each are below the density, how far apart they are, and the density at its end."""


def is_drawn_alike() -> bool:
    """Return whether NumPy draws normal numbers as compiled code does."""
    one, other = np.random.PCG64(1), np.random.PCG64(1)
    generator = np.random.Generator(one)
    uniform = np.random.Generator(other).random
    wanted = generator.standard_normal(_COMPARED)
    return all(_normal(lambda: int(other.random_raw()), uniform) == each for each in wanted)


def _normal(word: Callable[[], int], uniform: Callable[[], float]) -> float:
    """The next normal number.

    Args:
        word: gives the next 64 bits.
        uniform: gives the next uniform number.
    """
    below, apart, density = constants.ki_double, constants.wi_double, constants.fi_double
    while True:
        bits = word()
        layer, bits = bits & 0xFF, bits >> 8
        magnitude = (bits >> 1) & _MANTISSA
        number = float(magnitude * apart[layer])
        number = -number if bits & 1 else number
        if magnitude < int(below[layer]):
            return number
        if layer == 0:
            while True:
                beyond = -_INVERSE * math.log1p(-uniform())
                height = -math.log1p(-uniform())
                if height + height > beyond * beyond:
                    return float(-(_RIGHT + beyond) if (magnitude >> 8) & 1 else _RIGHT + beyond)
        elif (density[layer - 1] - density[layer]) * uniform() + density[layer] < math.exp(-0.5 * number * number):
            return number


def write_normal(builder: ir.IRBuilder, generator_address: ir.Value, layers_address: ir.Value) -> None:
    """Write the function that gives the next normal number of a bit generator.

    Args:
        builder: writes it.
        generator_address: where the bit generator is.
        layers_address: where ``LAYERS`` is.
    """
    generator = BitGenerator(generator_address)
    layers = builder.inttoptr(layers_address, WORD.as_pointer())

    def of_layer(part: int, layer: ir.Value) -> ir.Value:
        place = builder.gep(layers, [builder.add(layer, WORD(part * _COUNT))], source_etype=WORD)
        return builder.load(place, align=8, typ=WORD)

    def real(word: ir.Value) -> ir.Value:
        return builder.bitcast(word, DOUBLE)

    def logarithm() -> ir.Value:
        """``log1p(-uniform)``."""
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(DOUBLE, [DOUBLE]), "log1p")
        return builder.call(function, [builder.fneg(generator.uniform(builder))])

    again, taken, refused, end, beside = (
        builder.append_basic_block(name) for name in ("again", "taken", "refused", "end", "beside")
    )
    builder.branch(again)
    builder.position_at_end(again)
    bits = generator.bits(builder)
    layer = builder.and_(bits, WORD(_COUNT - 1))
    magnitude = builder.and_(builder.lshr(bits, WORD(9)), WORD(_MANTISSA))
    size = builder.fmul(builder.uitofp(magnitude, DOUBLE), real(of_layer(1, layer)))
    sign = builder.shl(builder.and_(builder.lshr(bits, WORD(8)), WORD(1)), WORD(63))
    number = real(builder.xor(builder.bitcast(size, WORD), sign))
    builder.cbranch(builder.icmp_unsigned("<", magnitude, of_layer(0, layer)), taken, refused)
    builder.position_at_end(taken)
    builder.ret(number)
    builder.position_at_end(refused)
    builder.cbranch(builder.icmp_unsigned("==", layer, WORD(0)), end, beside)

    builder.position_at_end(end)
    beyond = builder.fmul(DOUBLE(-_INVERSE), logarithm())
    height = builder.fneg(logarithm())
    found = builder.append_basic_block("found")
    is_below = builder.fcmp_ordered(">", builder.fadd(height, height), builder.fmul(beyond, beyond))
    builder.cbranch(is_below, found, end)
    builder.position_at_end(found)
    outside = builder.fadd(DOUBLE(_RIGHT), beyond)
    is_negative = builder.trunc(builder.lshr(magnitude, WORD(8)), BIT)
    builder.ret(builder.select(is_negative, builder.fneg(outside), outside))

    builder.position_at_end(beside)
    lower = real(of_layer(2, layer))
    upper = real(of_layer(2, builder.sub(layer, WORD(1))))
    point = builder.fadd(builder.fmul(builder.fsub(upper, lower), generator.uniform(builder)), lower)
    exponent = builder.fmul(builder.fmul(DOUBLE(-0.5), number), number)
    exponential = builder.call(builder.module.declare_intrinsic("llvm.exp", [DOUBLE]), [exponent])
    builder.cbranch(builder.fcmp_ordered("<", point, exponential), taken, again)
