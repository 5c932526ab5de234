"""Bells: what a thread sleeps at until another one rings, inside compiled code.

A bell is one of the interpreter's own locks, by its address: silent while the lock is held, rung when it was released,
heard when it was taken again.  A ring is kept until it is heard, so it does not matter which comes first.  Neither
side needs the interpreter, so a thread that hears its bell does not wait for another one that runs Python code.
"""

from __future__ import annotations

import ctypes

from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = ["hear", "new_bell", "ring"]

_HEAR_SYMBOL, _RING_SYMBOL = "polytune_hear_bell", "polytune_ring_bell"
_ADDRESS = ir.IntType(8).as_pointer()
_UNTIL_RUNG = 1
"""That who asks for a lock waits for it."""


def _register(symbol: str, name: str) -> None:
    """Make a function of the interpreter known to compiled code."""
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address is not None
    binding.add_symbol(symbol, address)


_register(_HEAR_SYMBOL, "PyThread_acquire_lock")
_register(_RING_SYMBOL, "PyThread_release_lock")


def new_bell() -> int:
    """The address of a bell that nobody has rung.

    It stays until the process ends, as the threads do that sleep at it.

    Raises:
        MemoryError: there is no memory for it.
    """
    make, take = ctypes.pythonapi.PyThread_allocate_lock, ctypes.pythonapi.PyThread_acquire_lock
    make.restype, make.argtypes = ctypes.c_void_p, ()
    take.restype, take.argtypes = ctypes.c_int, (ctypes.c_void_p, ctypes.c_int)
    bell = make()
    if bell is None:
        raise MemoryError("there is no memory for a lock")
    take(bell, _UNTIL_RUNG)
    return int(bell)


@intrinsic
def ring(typing_context, bell):
    """Ring a bell (int64); it must not have been rung since it was heard for the last time."""

    def emit(context, builder, sig, args):
        function_type = ir.FunctionType(ir.VoidType(), [_ADDRESS])
        function = cgutils.get_or_insert_function(builder.module, function_type, _RING_SYMBOL)
        builder.call(function, [builder.inttoptr(args[0], _ADDRESS)])
        return context.get_dummy_value()

    return types.void(types.int64), emit


@intrinsic
def hear(typing_context, bell):
    """Sleep until a bell (int64) is rung, not at all where it was already; it is silent afterwards.

    What the thread that rang had written before is seen.
    """

    def emit(context, builder, sig, args):
        number = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(number, [_ADDRESS, number]), _HEAR_SYMBOL
        )
        builder.call(function, [builder.inttoptr(args[0], _ADDRESS), number(_UNTIL_RUNG)])
        return context.get_dummy_value()

    return types.void(types.int64), emit
