"""Events: what a thread awaits, asleep, until another one signals it, inside compiled code.

An event is one of the interpreter's own locks, by its address: not signalled while the lock is held, signalled when it
was released, reset when it was taken again.  A signal is kept until it is awaited, so it does not matter which comes
first.  Neither side needs the interpreter, so a thread that awaits its event does not wait for another one that runs
Python code.
"""

from __future__ import annotations

import ctypes

from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = ["await_event", "new_event", "signal"]

_AWAIT_SYMBOL, _SIGNAL_SYMBOL = "polytune_await_event", "polytune_signal_event"
_ADDRESS = ir.IntType(8).as_pointer()
_UNTIL_SIGNALLED = 1
"""The argument that says that who asks for a lock waits for it."""


def _register(symbol: str, name: str) -> None:
    """Make a function of the interpreter known to compiled code."""
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address is not None
    binding.add_symbol(symbol, address)


_register(_AWAIT_SYMBOL, "PyThread_acquire_lock")
_register(_SIGNAL_SYMBOL, "PyThread_release_lock")


def new_event() -> int:
    """The address of an event that nobody has signalled.

    It stays until the process ends, as the threads do that await it.

    Raises:
        MemoryError: there is no memory for it.
    """
    make, take = ctypes.pythonapi.PyThread_allocate_lock, ctypes.pythonapi.PyThread_acquire_lock
    make.restype, make.argtypes = ctypes.c_void_p, ()
    take.restype, take.argtypes = ctypes.c_int, (ctypes.c_void_p, ctypes.c_int)
    event = make()
    if event is None:
        raise MemoryError("there is no memory for a lock")
    take(event, _UNTIL_SIGNALLED)
    return int(event)


@intrinsic
def signal(typing_context, event):
    """Signal an event (int64); it must not have been signalled since it was awaited for the last time."""

    def emit(context, builder, sig, args):
        function_type = ir.FunctionType(ir.VoidType(), [_ADDRESS])
        function = cgutils.get_or_insert_function(builder.module, function_type, _SIGNAL_SYMBOL)
        builder.call(function, [builder.inttoptr(args[0], _ADDRESS)])
        return context.get_dummy_value()

    return types.void(types.int64), emit


@intrinsic
def await_event(typing_context, event):
    """Sleep until an event (int64) is signalled, not at all where it was already; it is reset afterwards.

    What the thread that signalled had written before is seen.
    """

    def emit(context, builder, sig, args):
        number = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(number, [_ADDRESS, number]), _AWAIT_SYMBOL
        )
        builder.call(function, [builder.inttoptr(args[0], _ADDRESS), number(_UNTIL_SIGNALLED)])
        return context.get_dummy_value()

    return types.void(types.int64), emit
