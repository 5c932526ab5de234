"""Numbers of distributions, in compiled code, each as the library that it belongs to makes it of uniform numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from llvmlite import ir

from polytune.runtime.draws.generators import (
    BIT,
    DOUBLE,
    WORD,
    BitGenerator,
    PythonGenerator,
    UniformNumbers,
    own_function,
)
from polytune.runtime.draws.states import (
    BOUNDED,
    EXPONENTIAL,
    GLOBAL,
    NORMAL,
    POISSON,
    PYTHON,
    SECOND_NORMAL,
    TABLE,
    ZIGGURAT,
)
from polytune.runtime.draws.ziggurat import write_normal

__all__ = ["DISTRIBUTIONS", "DrawWriter"]


class DrawWriter:
    """Writes the body of a function that draws: what it returns is whether it has drawn a number.

    Args:
        builder: writes instructions.
        failed: the block that returns that it has not.
    """

    def __init__(self, builder: ir.IRBuilder, failed: ir.Block):
        self.builder, self._failed = builder, failed

    def require(self, condition: ir.Value) -> None:
        """Go on where a condition holds; where it does not Python draws, or says what is wrong."""
        going_on = self.builder.append_basic_block("valid")
        self.builder.cbranch(condition, going_on, self._failed)
        self.builder.position_at_end(going_on)

    def entry(self, place: int, *, needed: bool = True) -> ir.Value:
        """An address of the table, which has to be there if it is needed."""
        builder = self.builder
        table = builder.module.globals.get(TABLE) or ir.GlobalVariable(builder.module, WORD, TABLE)
        address = builder.load(builder.gep(table, [WORD(place)], source_etype=WORD), align=8, typ=WORD)
        if needed:
            self.require(builder.icmp_unsigned("!=", address, WORD(0)))
        return address

    def mathematics(self, name: str, operand: ir.Value) -> ir.Value:
        """A function of C's library, by LLVM's name."""
        function = self.builder.module.declare_intrinsic(f"llvm.{name}", [DOUBLE])
        return self.builder.call(function, [operand])

    def numpy_function(self, place: int, kind: ir.Type, operands: Sequence[ir.Value]) -> ir.Value:
        """A call of a function that NumPy draws with.

        Args:
            place: of its address.
            kind: what it gives.
            operands: what it is given.
        """
        pointer = ir.FunctionType(kind, [each.type for each in operands]).as_pointer()
        return self.builder.call(self.builder.inttoptr(self.entry(place), pointer), operands)

    def scaled(self, location: ir.Value, scale: ir.Value, standard: Callable[[], ir.Value]) -> ir.Value:
        """``location + scale * standard``, with a scale above zero.

        Args:
            location, scale: of the distribution.
            standard: draws a number of the standard one.
        """
        self.require(self.builder.fcmp_ordered(">", scale, DOUBLE(0.0)))
        return self.builder.fadd(location, self.builder.fmul(scale, standard()))

    def multiple(self, scale: ir.Value, standard: Callable[[], ir.Value]) -> ir.Value:
        """``scale * standard``, with a scale above zero."""
        self.require(self.builder.fcmp_ordered(">", scale, DOUBLE(0.0)))
        return self.builder.fmul(scale, standard())

    def between(self, generator: UniformNumbers, low: ir.Value, high: ir.Value) -> ir.Value:
        """``low + (high - low) * uniform``.

        Args:
            generator: gives the uniform number.
            low, high: the bounds.
        """
        length = self.builder.fsub(high, low)
        return self.builder.fadd(low, self.builder.fmul(length, generator.uniform(self.builder)))

    def require_finite(self, low: ir.Value, high: ir.Value) -> None:
        """Leave it to NumPy where the distance of two numbers is infinite, or none."""
        length = self.mathematics("fabs", self.builder.fsub(high, low))
        self.require(self.builder.fcmp_ordered("<", length, DOUBLE(math.inf)))

    def least_logarithm(self, generator: UniformNumbers) -> ir.Value:
        """``-log(1 - uniform)``."""
        rest = self.builder.fsub(DOUBLE(1.0), generator.uniform(self.builder))
        return self.builder.fneg(self.mathematics("log", rest))


# NumPy's global generator


def _global(writer: DrawWriter) -> BitGenerator:
    return BitGenerator(writer.entry(GLOBAL))


def _second_normal(builder: ir.IRBuilder, generator: ir.Value, second: ir.Value) -> None:
    """Write the polar method of Marsaglia, which gives two normal numbers, of which NumPy keeps one."""
    has_second = builder.inttoptr(second, ir.IntType(32).as_pointer())
    kept = builder.inttoptr(builder.add(second, WORD(8)), DOUBLE.as_pointer())
    flag = ir.IntType(32)
    is_there = builder.icmp_unsigned("!=", builder.load(has_second, align=4, typ=flag), flag(0))
    with builder.if_then(is_there):
        number = builder.load(kept, align=8, typ=DOUBLE)
        builder.store(flag(0), has_second, align=4)
        builder.store(DOUBLE(0.0), kept, align=8)
        builder.ret(number)
    again, found = builder.append_basic_block("again"), builder.append_basic_block("found")
    builder.branch(again)
    builder.position_at_end(again)
    writer, source = DrawWriter(builder, again), BitGenerator(generator)
    first, other = (builder.fsub(builder.fmul(DOUBLE(2.0), source.uniform(builder)), DOUBLE(1.0)) for _ in range(2))
    square = builder.fadd(builder.fmul(first, first), builder.fmul(other, other))
    outside = builder.or_(
        builder.fcmp_ordered(">=", square, DOUBLE(1.0)), builder.fcmp_ordered("==", square, DOUBLE(0.0))
    )
    builder.cbranch(outside, again, found)
    builder.position_at_end(found)
    ratio = builder.fdiv(builder.fmul(DOUBLE(-2.0), writer.mathematics("log", square)), square)
    factor = writer.mathematics("sqrt", ratio)
    builder.store(builder.fmul(factor, first), kept, align=8)
    builder.store(flag(1), has_second, align=4)
    builder.ret(builder.fmul(factor, other))


def _global_normal(writer: DrawWriter) -> ir.Value:
    generator, second = writer.entry(GLOBAL), writer.entry(SECOND_NORMAL)
    kind = ir.FunctionType(DOUBLE, [WORD, WORD])
    function = own_function(writer.builder.module, "polytune_global_normal", kind, _second_normal)
    return writer.builder.call(function, [generator, second])


def _global_uniform(writer: DrawWriter, arguments: Sequence[ir.Value]) -> ir.Value:
    writer.require_finite(*arguments)
    return writer.between(_global(writer), *arguments)


def _bounded(writer: DrawWriter, generator: ir.Value, low: ir.Value, high: ir.Value, *, masked: bool) -> ir.Value:
    """An integer from a low one to a high one, without that, of which NumPy takes as many bits as there are, or by
    Lemire's multiplication."""
    builder = writer.builder
    writer.require(builder.icmp_signed("<", low, high))
    most = builder.sub(builder.sub(high, low), WORD(1))
    mask = WORD(0)
    if masked:
        bits = builder.lshr(WORD(-1), builder.ctlz(most, BIT(0)))
        mask = builder.select(builder.icmp_unsigned("==", most, WORD(0)), WORD(0), bits)
    flag = ir.IntType(32)(int(masked))
    return writer.numpy_function(BOUNDED, WORD, [generator, low, most, mask, flag])


def _poisson(writer: DrawWriter, generator: ir.Value, mean: ir.Value) -> ir.Value:
    builder = writer.builder
    writer.require(builder.fcmp_ordered(">=", mean, DOUBLE(0.0)))
    writer.require(builder.fcmp_ordered("<", mean, DOUBLE(2.0**53)))
    return writer.numpy_function(POISSON, WORD, [generator, mean])


# A generator that is an argument: its address is the first argument


def _normal(writer: DrawWriter, generator: ir.Value) -> ir.Value:
    """A number by the ziggurat where NumPy draws it so, or by NumPy's function."""
    kind = ir.FunctionType(DOUBLE, [WORD, WORD, WORD])
    layers, function = writer.entry(ZIGGURAT, needed=False), writer.entry(NORMAL)
    chosen = own_function(writer.builder.module, "polytune_normal", kind, _write_normal)
    return writer.builder.call(chosen, [generator, layers, function])


def _write_normal(builder: ir.IRBuilder, generator: ir.Value, layers: ir.Value, function: ir.Value) -> None:
    with builder.if_then(builder.icmp_unsigned("==", layers, WORD(0)), likely=False):
        kind = ir.FunctionType(DOUBLE, [WORD]).as_pointer()
        builder.ret(builder.call(builder.inttoptr(function, kind), [generator]))
    write_normal(builder, generator, layers)


def _exponential(writer: DrawWriter, generator: ir.Value) -> ir.Value:
    return writer.numpy_function(EXPONENTIAL, DOUBLE, [generator])


def _between(writer: DrawWriter, arguments: Sequence[ir.Value]) -> ir.Value:
    generator, low, high = arguments
    writer.require_finite(low, high)
    return writer.between(BitGenerator(generator), low, high)


# Python's generator


def _python(writer: DrawWriter) -> PythonGenerator:
    return PythonGenerator(writer.entry(PYTHON))


def _python_integer(writer: DrawWriter, low: ir.Value, high: ir.Value) -> ir.Value:
    """An integer from a low one to a high one, without that."""
    builder = writer.builder
    writer.require(builder.icmp_signed("<", low, high))
    return builder.add(low, _python(writer).below(builder, builder.sub(high, low)))


def _python_up_to(writer: DrawWriter, arguments: Sequence[ir.Value]) -> ir.Value:
    low, high = arguments
    writer.require(writer.builder.icmp_signed("<", high, WORD(2**62)))
    writer.require(writer.builder.icmp_signed(">", low, WORD(-(2**62))))
    return _python_integer(writer, low, writer.builder.add(high, WORD(1)))


def _python_normal(writer: DrawWriter, arguments: Sequence[ir.Value]) -> ir.Value:
    """The method of Kinderman and Monahan: the ratio of two uniform numbers, as often as it is outside."""
    builder, generator = writer.builder, _python(writer)
    again, found = builder.append_basic_block("again"), builder.append_basic_block("found")
    builder.branch(again)
    builder.position_at_end(again)
    first = generator.uniform(builder)
    second = builder.fsub(DOUBLE(1.0), generator.uniform(builder))
    centred = builder.fmul(DOUBLE(4.0 * math.exp(-0.5) / math.sqrt(2.0)), builder.fsub(first, DOUBLE(0.5)))
    ratio = builder.fdiv(centred, second)
    quarter = builder.fdiv(builder.fmul(ratio, ratio), DOUBLE(4.0))
    limit = builder.fneg(writer.mathematics("log", second))
    builder.cbranch(builder.fcmp_ordered("<=", quarter, limit), found, again)
    builder.position_at_end(found)
    mean, deviation = arguments
    return builder.fadd(mean, builder.fmul(ratio, deviation))


def _python_exponential(writer: DrawWriter, arguments: Sequence[ir.Value]) -> ir.Value:
    writer.require(writer.builder.fcmp_unordered("!=", arguments[0], DOUBLE(0.0)))
    return writer.builder.fdiv(writer.least_logarithm(_python(writer)), arguments[0])


DISTRIBUTIONS: dict[str, Callable[[DrawWriter, Sequence[ir.Value]], ir.Value]] = {
    "numpy random_sample": lambda w, _: _global(w).uniform(w.builder),
    "numpy uniform": _global_uniform,
    "numpy standard_normal": lambda w, _: _global_normal(w),
    "numpy normal": lambda w, a: w.scaled(a[0], a[1], lambda: _global_normal(w)),
    "numpy lognormal": lambda w, a: w.mathematics("exp", w.scaled(a[0], a[1], lambda: _global_normal(w))),
    "numpy standard_exponential": lambda w, _: w.least_logarithm(_global(w)),
    "numpy exponential": lambda w, a: w.multiple(a[0], lambda: w.least_logarithm(_global(w))),
    "numpy randint": lambda w, a: _bounded(w, _global(w).address, a[0], a[1], masked=True),
    "numpy poisson": lambda w, a: _poisson(w, _global(w).address, a[0]),
    "generator random": lambda w, a: BitGenerator(a[0]).uniform(w.builder),
    "generator uniform": _between,
    "generator standard_normal": lambda w, a: _normal(w, a[0]),
    "generator normal": lambda w, a: w.scaled(a[1], a[2], lambda: _normal(w, a[0])),
    "generator lognormal": lambda w, a: w.mathematics("exp", w.scaled(a[1], a[2], lambda: _normal(w, a[0]))),
    "generator standard_exponential": lambda w, a: _exponential(w, a[0]),
    "generator exponential": lambda w, a: w.multiple(a[1], lambda: _exponential(w, a[0])),
    "generator integers": lambda w, a: _bounded(w, a[0], a[1], a[2], masked=False),
    "generator poisson": lambda w, a: _poisson(w, a[0], a[1]),
    "python random": lambda w, _: _python(w).uniform(w.builder),
    "python uniform": lambda w, a: w.between(_python(w), a[0], a[1]),
    "python randrange": lambda w, a: _python_integer(w, a[0], a[1]),
    "python randint": _python_up_to,
    "python normalvariate": _python_normal,
    "python expovariate": _python_exponential,
}
"""The functions that write the computation of each of ``polytune.draws.DRAWS``, given the arguments."""
