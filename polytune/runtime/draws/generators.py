"""Uniform numbers of generators, in compiled code: of NumPy's bit generators, and of Python's Mersenne Twister.

M. Matsumoto, T. Nishimura, *Mersenne Twister: a 623-dimensionally equidistributed uniform pseudo-random number
generator*, TOMACS 8(1), 1998.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from llvmlite import ir
from numba.core import cgutils

from polytune.runtime.intrinsics.plain_arithmetic import keep_function_plain

__all__ = ["BIT", "DOUBLE", "WORD", "BitGenerator", "PythonGenerator", "UniformNumbers", "own_function"]

BIT, HALF, WORD, DOUBLE = ir.IntType(1), ir.IntType(32), ir.IntType(64), ir.DoubleType()

_LENGTH, _SHIFTED = 624, 397
_TWIST, _UPPER, _LOWER = 0x9908B0DF, 0x80000000, 0x7FFFFFFF
_BITS, _RENEWAL = "polytune_python_bits", "polytune_python_renewal"


class UniformNumbers(ABC):
    """A generator that a function draws from."""

    @abstractmethod
    def uniform(self, builder: ir.IRBuilder) -> ir.Value:
        """The next double, at least 0 and less than 1."""


class BitGenerator(UniformNumbers):
    """One of NumPy's: a state's address, and the addresses of functions of it.

    Args:
        address: where these addresses are.
    """

    def __init__(self, address: ir.Value):
        self.address = address

    def uniform(self, builder: ir.IRBuilder) -> ir.Value:
        state, function = (self._word(builder, place) for place in (0, 3))
        kind = ir.FunctionType(DOUBLE, [WORD]).as_pointer()
        return builder.call(builder.inttoptr(function, kind), [state])

    def bits(self, builder: ir.IRBuilder) -> ir.Value:
        """The next 64 bits."""
        state, function = (self._word(builder, place) for place in (0, 1))
        kind = ir.FunctionType(WORD, [WORD]).as_pointer()
        return builder.call(builder.inttoptr(function, kind), [state])

    def _word(self, builder: ir.IRBuilder, place: int) -> ir.Value:
        words = builder.inttoptr(self.address, WORD.as_pointer())
        return builder.load(builder.gep(words, [WORD(place)], source_etype=WORD), align=8, typ=WORD)


class PythonGenerator(UniformNumbers):
    """Python's: the place of the next word in its state, and 624 words of 32 bits.

    Args:
        address: where these are.
    """

    def __init__(self, address: ir.Value):
        self.address = address

    def uniform(self, builder: ir.IRBuilder) -> ir.Value:
        high = builder.uitofp(builder.lshr(self.bits(builder), HALF(5)), DOUBLE)
        low = builder.uitofp(builder.lshr(self.bits(builder), HALF(6)), DOUBLE)
        both = builder.fadd(builder.fmul(high, DOUBLE(2.0**26)), low)  # an integer: exact
        return builder.fmul(both, DOUBLE(2.0**-53))

    def bits(self, builder: ir.IRBuilder) -> ir.Value:
        """The next 32 bits."""
        return builder.call(own_function(builder.module, _BITS, ir.FunctionType(HALF, [WORD]), _next), [self.address])

    def below(self, builder: ir.IRBuilder, count: ir.Value) -> ir.Value:
        """An integer from 0 to a positive count of 64 bits, without that: as many bits as it has, as often as these
        are too many."""
        zeros = builder.ctlz(count, BIT(1))
        length = builder.sub(WORD(64), zeros)
        block = builder.append_basic_block("below")
        builder.branch(block)
        builder.position_at_end(block)
        drawn = cgutils.alloca_once(builder, WORD)
        first = builder.zext(self.bits(builder), WORD)
        is_short = builder.icmp_unsigned("<=", length, WORD(32))
        with builder.if_else(is_short) as (short, long):
            with short:
                builder.store(builder.lshr(first, builder.sub(WORD(32), length)), drawn)
            with long:
                second = builder.lshr(builder.zext(self.bits(builder), WORD), builder.sub(WORD(64), length))
                builder.store(builder.or_(first, builder.shl(second, WORD(32))), drawn)
        found = builder.load(drawn, typ=WORD)
        done = builder.append_basic_block("drawn")
        builder.cbranch(builder.icmp_unsigned(">=", found, count), block, done)
        builder.position_at_end(done)
        return found


def own_function(module: ir.Module, name: str, kind: ir.FunctionType, write: object) -> ir.Function:
    """A function that only its module sees, defined where it is used first; it draws alike under ``fastmath``.

    Args:
        module: where it is used.
        name: what it is called.
        kind: its type.
        write: writes its body, with a builder and its arguments.
    """
    known = module.globals.get(name)
    if known is not None:
        return known
    function = ir.Function(module, kind, name)
    function.linkage = "internal"
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    write(builder, *function.args)  # type: ignore[operator]
    keep_function_plain(function)
    return function


def _place(builder: ir.IRBuilder, words: ir.Value, at: ir.Value) -> ir.Value:
    """The address of a word of the state, after that of the next one's place."""
    return builder.gep(words, [builder.add(at, HALF(1))], source_etype=HALF)


def _next(builder: ir.IRBuilder, address: ir.Value) -> None:
    """Write the function that gives the next 32 bits of a Mersenne Twister, and makes new ones when all are drawn."""
    words = builder.inttoptr(address, HALF.as_pointer())
    is_used_up = builder.icmp_unsigned(">=", builder.load(words, align=4, typ=HALF), HALF(_LENGTH))
    with builder.if_then(is_used_up, likely=False):
        kind = ir.FunctionType(ir.VoidType(), [WORD])
        renewed = own_function(builder.module, _RENEWAL, kind, _renew)
        renewed.attributes.add("noinline")
        builder.call(renewed, [address])
    at = builder.load(words, align=4, typ=HALF)
    drawn = builder.load(_place(builder, words, at), align=4, typ=HALF)
    builder.store(builder.add(at, HALF(1)), words, align=4)
    drawn = builder.xor(drawn, builder.lshr(drawn, HALF(11)))
    drawn = builder.xor(drawn, builder.and_(builder.shl(drawn, HALF(7)), HALF(0x9D2C5680)))
    drawn = builder.xor(drawn, builder.and_(builder.shl(drawn, HALF(15)), HALF(0xEFC60000)))
    builder.ret(builder.xor(drawn, builder.lshr(drawn, HALF(18))))


def _renew(builder: ir.IRBuilder, address: ir.Value) -> None:
    """Write the function that makes a new state of an old one, in loops that a compiler can make vectors of."""
    words = builder.inttoptr(address, HALF.as_pointer())

    def renew(at: ir.Value, following: ir.Value, distant: ir.Value) -> None:
        own, after, other = (
            builder.load(_place(builder, words, place), align=4, typ=HALF) for place in (at, following, distant)
        )
        joined = builder.or_(builder.and_(own, HALF(_UPPER)), builder.and_(after, HALF(_LOWER)))
        twisted = builder.and_(builder.sub(HALF(0), builder.and_(after, HALF(1))), HALF(_TWIST))
        mixed = builder.xor(builder.xor(other, builder.lshr(joined, HALF(1))), twisted)
        builder.store(mixed, _place(builder, words, at), align=4)

    rest = _LENGTH - _SHIFTED
    for first, last, distance in ((0, rest, _SHIFTED), (rest, _LENGTH - 1, -rest)):
        with cgutils.for_range(builder, HALF(last), start=HALF(first)) as loop:
            renew(loop.index, builder.add(loop.index, HALF(1)), builder.add(loop.index, HALF(distance)))
    renew(HALF(_LENGTH - 1), HALF(0), HALF(_SHIFTED - 1))
    builder.store(HALF(0), words, align=4)
    builder.ret_void()
