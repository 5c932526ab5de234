"""Arithmetic that has no more flags than that of kernels without ``fastmath``.

Numba, and our own translation with it, give the flags of a function's ``fastmath`` to each instruction when the
function is written.  Those marked here take of them what every kernel has that is not strict: checks rest on them, of
subscripts and of what random numbers are drawn with, and these have to see NaN and infinities.
"""

from __future__ import annotations

from collections.abc import Iterable

from llvmlite import ir
from llvmlite.ir.instructions import FastMathFlags

from polytune.fastmath import OF_EVERY_KERNEL

__all__ = ["keep_function_plain", "keep_operands_plain"]

_ARITHMETIC = ("fadd", "fsub", "fmul", "fdiv", "frem", "fcmp")
_PASSED_THROUGH = ("fneg", "fpext", "fptrunc", "select", "phi", "call")
"""Operations on floats whose operands decide what they give, beside those of arithmetic."""


class _PlainFlags(list):  # type: ignore[type-arg]
    """The flags of an operation, which takes no others."""

    def append(self, flag: str) -> None:
        if flag in OF_EVERY_KERNEL:
            super().append(flag)

    def extend(self, flags: Iterable[str]) -> None:
        for flag in flags:
            self.append(flag)


class _PlainFlagsOfCall(FastMathFlags):
    """The flags of a call, which takes no others."""

    def add(self, name: str) -> None:
        if name in OF_EVERY_KERNEL:
            super().add(name)


def _keep_plain(instruction: ir.Instruction) -> None:
    if isinstance(instruction, ir.CallInstr):
        instruction.fastmath = _PlainFlagsOfCall(instruction.fastmath)
    elif instruction.opname in _ARITHMETIC:
        instruction.flags = _PlainFlags(instruction.flags)


def keep_operands_plain(value: ir.Value) -> None:
    """Mark the arithmetic that a float is computed by.

    Args:
        value: the float.
    """
    rest, known = [value], set()
    while rest:
        node = rest.pop()
        if id(node) not in known and getattr(node, "opname", "") in (*_ARITHMETIC, *_PASSED_THROUGH):
            known.add(id(node))
            _keep_plain(node)
            rest += [part for part in node.operands if isinstance(part, ir.Instruction)]


def keep_function_plain(function: ir.Function) -> None:
    """Mark all arithmetic of a function that has been written.

    Args:
        function: the function.
    """
    for block in function.blocks:
        for instruction in block.instructions:
            _keep_plain(instruction)
