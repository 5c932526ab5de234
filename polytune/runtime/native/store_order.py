"""Stores behind what the same iteration loads from other arrays.

Where iterations of an outer loop are jammed, ``out[i, j] = f(a[i, j], a[i + 1, j])`` for some i one after the other,
LLVM keeps what an iteration has loaded for the next one, as ``a[i + 1, j + 1]`` for i + 1, in a register.  A loop with
such values becomes vectors only if what is computed from the value of the iteration before can move behind the load of
the new one, and stores never move: one of row i before the loads of row i + 1 costs the vectors of all rows.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from llvmlite.ir import instructions

__all__ = ["delay_stores"]

_COMPUTATIONS = (
    instructions.CastInstr,
    instructions.CompareInstr,
    instructions.ExtractElement,
    instructions.ExtractValue,
    instructions.GEPInstr,
    instructions.InsertElement,
    instructions.InsertValue,
    instructions.PhiInstr,
    instructions.SelectInstr,
    instructions.ShuffleVector,
)
"""Instructions that touch no memory; arithmetic is of the class that they have in common."""

_FUNCTIONS = frozenset(("sqrt", "fabs", "fma", "floor", "ceil", "trunc", "rint", "copysign", "minnum", "maxnum"))
"""Functions of LLVM's own that touch none either."""


def delay_stores(function: ir.Function) -> None:
    """Move the stores to arrays of each block to where something may look at what they store, or to the block's end.

    Stores keep their order.  None moves behind a load that is not known to lie in another array, or behind anything
    that may touch memory otherwise, as calls may: so all that is loaded, and all that is in memory at the end of a
    block, is what it was.

    Args:
        function: the code; metadata say of which array an access is (``polytune.runtime.intrinsics.memory``).
    """
    for block in function.blocks:
        if sum(_is_of_array(each, "store") for each in block.instructions) > 1:
            block.instructions[:] = _delayed(block.instructions)


def _delayed(code: list[Any]) -> list[Any]:
    """The instructions of a block in their new order."""
    found: list[Any] = []
    waiting: list[Any] = []
    for each in code:
        if _is_of_array(each, "store"):
            waiting.append(each)
            continue
        if not all(_may_pass(each, store) for store in waiting):
            found += waiting
            waiting.clear()
        found.append(each)
    return found + waiting


def _is_of_array(instruction: Any, name: str) -> bool:
    """Return whether an instruction is an access to an array that tells which: a load or a store, by its name."""
    return instruction.opname == name and "alias.scope" in instruction.metadata


def _may_pass(instruction: Any, store: Any) -> bool:
    """Return whether an instruction does the same before a store that it stands behind."""
    if type(instruction) is ir.Instruction or isinstance(instruction, _COMPUTATIONS):
        return True
    if instruction.opname == "load":
        place = instruction.operands[0]
        if isinstance(place, ir.AllocaInstr):
            return True  # a variable, of which no array has the address
        apart = instruction.metadata.get("noalias")
        return apart is not None and all(scope in apart.operands for scope in store.metadata["alias.scope"].operands)
    if isinstance(instruction, ir.CallInstr):
        library, _, rest = str(instruction.callee.name).partition(".")
        return library == "llvm" and rest.partition(".")[0] in _FUNCTIONS
    if instruction.opname == "store":
        return isinstance(instruction.operands[1], ir.AllocaInstr)
    return False
