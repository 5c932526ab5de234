"""Powers of floats to integers that compilers do not know: by repeated squaring where few products are enough, and else
by C's library.

The function that computes one is called by name, and written into the module's text with forms of itself for several
numbers at a time.  In these the loop of squares is one for all lanes: it ends with the largest exponent among them.
Repeated squaring takes a tenth of the time of ``pow``, and its rounding errors grow with the exponent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from llvmlite import ir
from numba.core import cgutils

from polytune.runtime.native.kinds import WORD

__all__ = ["SYMBOL", "integer_exponent", "integer_power", "power_forms"]

SYMBOL = "polytune_integer_power"
"""The function of a float64 and an int64."""

_LARGEST = 64
"""The largest exponent of which a power is products, as of constants (`polytune.frontend.rewrites.powers`)."""


def integer_exponent(exponent: ir.Value) -> ir.Value | None:
    """Return the int64 that an exponent was made of, as a float64; None where it is none."""
    is_converted = isinstance(exponent, ir.CastInstr) and exponent.opname == "sitofp"
    operand = exponent.operands[0] if is_converted else None
    return operand if operand is not None and operand.type == WORD and exponent.type == ir.DoubleType() else None


def integer_power(builder: ir.IRBuilder, base: ir.Value, exponent: ir.Value) -> ir.Value:
    """Write a call of the function, which `power_forms` defines.

    Args:
        builder: where the code goes.
        base: a float64.
        exponent: an int64.
    """
    number = ir.DoubleType()
    kind = ir.FunctionType(number, [number, WORD])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, SYMBOL), [base, exponent])


def power_forms(lanes: Sequence[int], library: Mapping[int, str]) -> tuple[list[str], list[str]]:
    """Return the definitions of the function and of its forms for several lanes, in LLVM's language, and the names of
    the latter.

    Args:
        lanes: how many numbers vectors have.
        library: the library's vector forms of ``pow``, which are declared, by how many lanes they have.
    """
    names = {count: f"{SYMBOL}_{count}" for count in lanes}
    variants = ",".join(f"_ZGV_LLVM_N{count}vv_{SYMBOL}({name})" for count, name in names.items())
    mapping = f' "vector-function-abi-variant"="{variants}"' if variants else ""
    lines = _definition(SYMBOL, 1, library, mapping)
    for count, name in names.items():
        lines += _definition(name, count, library, "")
    return lines, list(names.values())


def _definition(name: str, lanes: int, library: Mapping[int, str], mapping: str) -> list[str]:
    """The text of one form.

    Args:
        name: its name.
        lanes: how many numbers it takes.
        library: as for `power_forms`.
        mapping: what is said of the forms for several lanes.
    """

    def kind(element: str) -> str:
        return element if lanes == 1 else f"<{lanes} x {element}>"

    def every(element: str, value: str) -> str:
        return value if lanes == 1 else f"<{', '.join([f'{element} {value}'] * lanes)}>"

    number, integer, bit = kind("double"), kind("i64"), kind("i1")
    one, zero, most = every("double", "1.0"), every("i64", "0"), every("i64", str(_LARGEST))
    if lanes == 1:
        greatest = "%most = add i64 %m, 0"
    else:
        greatest = f"%most = call i64 @llvm.vector.reduce.umax.v{lanes}i64({integer} %m)"
    call = f"@{library[lanes]}" if lanes in library else f"@llvm.pow.{'' if lanes == 1 else f'v{lanes}'}f64"
    return [
        f"define internal {number} @{name}({number} %x, {integer} %n) noinline nounwind willreturn speculatable "
        f"memory(none){mapping} {{",
        "begin:",
        f"  %opposite = sub {integer} {zero}, %n",
        f"  %is_negative = icmp slt {integer} %n, {zero}",
        f"  %m = select {bit} %is_negative, {integer} %opposite, {integer} %n",
        f"  {greatest}",
        f"  %are_few = icmp ule i64 %most, {_LARGEST}",
        "  br i1 %are_few, label %square, label %many",
        "many:",
        f"  %exponent = sitofp {integer} %n to {number}",
        f"  %power = call {number} {call}({number} %x, {number} %exponent)",
        "  br label %square",
        "square:",
        f"  %product = phi {number} [ {one}, %begin ], [ {one}, %many ], [ %next_product, %square ]",
        f"  %factor = phi {number} [ %x, %begin ], [ %x, %many ], [ %next_factor, %square ]",
        f"  %rest = phi {integer} [ %m, %begin ], [ %m, %many ], [ %next_rest, %square ]",
        f"  %left = phi i64 [ %most, %begin ], [ {_LARGEST}, %many ], [ %next_left, %square ]",
        f"  %by_library = phi {number} [ {one}, %begin ], [ %power, %many ], [ %by_library, %square ]",
        f"  %is_odd = trunc {integer} %rest to {bit}",
        f"  %multiplied = fmul {number} %product, %factor",
        f"  %next_product = select {bit} %is_odd, {number} %multiplied, {number} %product",
        f"  %next_factor = fmul {number} %factor, %factor",
        f"  %next_rest = lshr {integer} %rest, {every('i64', '1')}",
        "  %next_left = lshr i64 %left, 1",
        "  %is_over = icmp eq i64 %next_left, 0",
        "  br i1 %is_over, label %end, label %square",
        "end:",
        f"  %inverse = fdiv {number} {one}, %next_product",
        f"  %found = select {bit} %is_negative, {number} %inverse, {number} %next_product",
        f"  %is_small = icmp ule {integer} %m, {most}",
        f"  %result = select {bit} %is_small, {number} %found, {number} %by_library",
        f"  ret {number} %result",
        "}",
    ]
