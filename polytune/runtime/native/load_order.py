"""Loads under conditions that stay before the stores behind them.

Of ``p = 0.5; if c: p = w[i]; w[i] = 0.0`` LLVM makes a masked load, a masked store and a choice between what is loaded
and 0.5.  LLVM 22 joins the load and the choice, where the choice stands: behind the store, so that it loads 0.0.  It
leaves alone a choice of a value that is frozen, which costs nothing.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

__all__ = ["freeze_loads"]

_CONDITIONAL = ("if", "else", "after_if", "undecided", "decided", "chosen", "then")
"""The beginnings of names of blocks that may stand under conditions."""


def freeze_loads(function: ir.Function) -> None:
    """Freeze what is loaded under conditions from arrays that are stored to under conditions.

    Args:
        function: the code; metadata say of which array an access is (``polytune.runtime.intrinsics.memory``).
    """
    blocks = [block for block in function.blocks if block.name.startswith(_CONDITIONAL)]
    stored = {_array(each) for block in blocks for each in block.instructions if each.opname == "store"} - {None}
    frozen: dict[Any, Any] = {}
    for block in blocks if stored else ():
        code: list[Any] = []
        for each in block.instructions:
            code.append(each)
            if each.opname == "load" and _array(each) in stored:
                frozen[each] = ir.Instruction(block, each.type, "freeze", [each], name="frozen")
                code.append(frozen[each])
        block.instructions[:] = code
    for each in (each for block in function.blocks for each in block.instructions) if frozen else ():
        for operand in {*each.operands} & frozen.keys():
            if each is not frozen[operand]:
                each.replace_usage(operand, frozen[operand])


def _array(instruction: Any) -> str | None:
    """The scope of the array that an instruction accesses; None where it tells none."""
    scope = instruction.metadata.get("alias.scope")
    return None if scope is None else str(scope.operands)
