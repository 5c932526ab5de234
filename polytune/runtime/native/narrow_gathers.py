"""Loops in which elements of one or two bytes are read where other elements say, as tables are: without vectors.

Processors load a vector of elements from places of their own only where these have four bytes or more.  Of narrower
ones, LLVM loads each by itself and inserts it into a vector, of which it expects more than comes of it: where a loop
has nothing but narrow elements, its vectors have so many of them that a loop without vectors is three times as fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from llvmlite import ir

__all__ = ["forbid_vectors", "gathers_narrow_elements"]

_WIDEST = 16
"""Bits of the widest elements that processors have no gathering loads of."""


def gathers_narrow_elements(blocks: Sequence[ir.Block]) -> bool:
    """Return whether a loop reads and writes nothing but narrow elements, and reads one where another one says.

    Args:
        blocks: those of the loop, in which there is no other loop; metadata say what is an access to an array.
    """
    code = [each for block in blocks for each in block.instructions]
    loads = [each for each in code if each.opname == "load" and "alias.scope" in each.metadata]
    stores = [each for each in code if each.opname == "store" and "alias.scope" in each.metadata]
    elements = [each.type for each in loads] + [each.operands[0].type for each in stores]
    if not stores or not all(isinstance(each, ir.IntType) and each.width <= _WIDEST for each in elements):
        return False
    assigned: dict[Any, list[Any]] = {}  # the values that variables get in the loop
    for each in code:
        if each.opname == "store" and isinstance(each.operands[1], ir.AllocaInstr):
            assigned.setdefault(each.operands[1], []).append(each.operands[0])
    inside = set(code)
    return any(_depends_on([load.operands[0]], {*loads} - {load}, inside, assigned) for load in loads)


def _depends_on(values: Iterable[Any], wanted: set[Any], inside: set[Any], assigned: dict[Any, list[Any]]) -> bool:
    """Return whether one of some values is computed of a wanted one.

    Args:
        values: the values.
        wanted: instructions.
        inside: the instructions that are looked at.
        assigned: by variable, what is stored to it.
    """
    waiting, seen = list(values), set()
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in wanted:
            return True
        waiting += assigned.get(value, ())
        if isinstance(value, ir.PhiInstr):
            waiting += [each for each, _ in value.incomings]
        elif value in inside:
            waiting += value.operands
    return False


def forbid_vectors(module: ir.Module, branch: ir.Instruction) -> None:
    """Have LLVM make no vectors of a loop.

    Args:
        module: the module.
        branch: the one that leads back to the loop's beginning.
    """
    never = module.add_metadata(["llvm.loop.vectorize.enable", ir.IntType(1)(0)])
    # The first part of what is said of a loop is that itself, so that no two loops have the same.
    about = module.add_metadata([never, ir.MetaDataString(module, f"loop {len(module.metadata)}")])
    about.operands = (about, *about.operands[:1])
    branch.set_metadata("llvm.loop", about)
