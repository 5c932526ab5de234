"""Memory of a worker's own: arrays that a generated function makes and gives back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from llvmlite import ir
from numba.core import cgutils, types

from polytune.runtime.native.kinds import WORD, storage_kind
from polytune.runtime.native.operations import CONTEXT, Parts

__all__ = ["AllocatedArray", "allocate", "release"]

_ADDRESS = ir.IntType(8).as_pointer()
_LINE = 64
"""Arrays begin where a line of the cache does."""


class AllocatedArray(NamedTuple):
    """An array and the memory that it lies in.

    Attributes:
        kind: the array's Numba type.
        parts: its ``data`` and ``strides``.
        address: what has to be given back.
    """

    kind: types.Array
    parts: Parts
    address: ir.Value


def allocate(builder: ir.IRBuilder, shape: Sequence[ir.Value], dtype: types.Type) -> AllocatedArray:
    """An array in C order; a process that has no memory for it ends, as no result of it would be right.

    Args:
        builder: where the code goes.
        shape: int64, none negative.
        dtype: the type of its elements.
    """
    storage = storage_kind(dtype)
    size: ir.Value = WORD(CONTEXT.get_abi_sizeof(storage))
    strides: list[ir.Value] = []
    for extent in reversed(shape):
        strides.insert(0, size)
        size = builder.mul(size, extent)
    make = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_ADDRESS, [WORD]), "malloc")
    address = builder.call(make, [builder.add(size, WORD(_LINE))])
    number = builder.ptrtoint(address, WORD)
    with builder.if_then(builder.icmp_unsigned("==", number, WORD(0)), likely=False):
        trap = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.VoidType(), []), "llvm.trap")
        builder.call(trap, [])
    first = builder.and_(builder.add(number, WORD(_LINE - 1)), WORD(-_LINE))
    parts = Parts()
    parts.data = builder.inttoptr(first, storage.as_pointer())
    packed: ir.Value = ir.Constant(ir.ArrayType(WORD, len(shape)), ir.Undefined)
    for axis, stride in enumerate(strides):
        packed = builder.insert_value(packed, stride, axis)
    parts.strides = packed
    return AllocatedArray(types.Array(dtype, len(shape), "C"), parts, address)


def release(builder: ir.IRBuilder, memory: AllocatedArray) -> None:
    """Give an array's memory back."""
    give_back = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.VoidType(), [_ADDRESS]), "free")
    builder.call(give_back, [memory.address])
