"""Teams of workers that share out numbered pieces of work, inside compiled code.

Every worker of a team runs the same function.  The work is cut into *tickets* 0, 1, 2, ... which workers draw in order;
a *region* is a range of tickets whose work may be done at the same time, and a region starts when all tickets of the
regions before it are completed::

    ticket = take(state)
    base = 0
    total = ...                              # tickets in this region; 1 where the work is serial
    while ticket < base + total:
        ...                                  # the work of ticket - base
        complete(state)
        ticket = take(state)
    base += total                            # the ticket in hand belongs to a later region
    wait(state, base)
    ...                                      # the next region

Waiting is for completed work, never for other workers, so a team finishes however many of its workers really run at
once: the holder of the smallest ticket not yet completed has nothing left to wait for.  A single worker does everything
itself, and a worker that comes late finds every ticket taken.

``complete`` releases and ``wait`` acquires: what was written before a ticket was completed is seen after the wait.
"""

from __future__ import annotations

import ctypes
import platform
import sys

import numpy as np
from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

__all__ = [
    "STATE_LENGTH",
    "complete",
    "fetch_add",
    "load_acquire",
    "new_state",
    "pause",
    "reset",
    "take",
    "wait",
    "yield_thread",
]

_WORD = ir.IntType(64)
_NEXT, _COMPLETED = 0, 16
"""Where the two counters lie in a state, in int64 elements: 128 bytes apart, as caches fetch lines of 64 in pairs."""

STATE_LENGTH = 32
"""Elements of a team's state."""

_PAUSES_BEFORE_YIELD = 1000
"""Turns of a waiting loop, about 20 to 40 microseconds, before the core is offered to other threads."""

_YIELD_SYMBOL = "polytune_yield_thread"
_HINT_YIELD = 1
"""The number of the "yield" hint in the Arm architecture."""


def _register_yield() -> bool:
    """Make the system's "let another thread run" known to compiled code; False where there is none."""
    try:
        if sys.platform == "win32":
            function = ctypes.windll.kernel32.SwitchToThread
        else:
            function = ctypes.CDLL(None).sched_yield
    except (AttributeError, OSError):
        return False
    address = ctypes.cast(function, ctypes.c_void_p).value
    if address is None:
        return False
    binding.add_symbol(_YIELD_SYMBOL, address)
    return True


_CAN_YIELD = _register_yield()


def new_state() -> np.ndarray:
    """The shared counters of a team that has not begun: int64, ``STATE_LENGTH`` elements, on cache lines of its own.

    ``reset`` makes a used state as good as new.
    """
    line = 16
    storage = np.zeros(STATE_LENGTH + line, np.int64)
    start = -(storage.ctypes.data // 8) % line
    return storage[start : start + STATE_LENGTH]


def _emit_pause(builder: ir.IRBuilder) -> None:
    """The processor's hint that this is a waiting loop; nothing where the processor has none."""
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        function_type = ir.FunctionType(ir.VoidType(), [])
        function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.x86.sse2.pause")
        builder.call(function, [])
    elif machine in ("aarch64", "arm64"):
        function_type = ir.FunctionType(ir.VoidType(), [ir.IntType(32)])
        function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.aarch64.hint")
        builder.call(function, [ir.IntType(32)(_HINT_YIELD)])


def _emit_yield(builder: ir.IRBuilder) -> None:
    """Let another thread run on this core."""
    if not _CAN_YIELD:
        _emit_pause(builder)
        return
    function_type = ir.FunctionType(ir.IntType(32), [])
    builder.call(cgutils.get_or_insert_function(builder.module, function_type, _YIELD_SYMBOL), [])


def _word_address(context, builder: ir.IRBuilder, array_type: types.Type, array: ir.Value, index: ir.Value) -> ir.Value:
    if isinstance(array_type, types.Integer):
        data = builder.inttoptr(array, _WORD.as_pointer())
    else:
        data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [index], inbounds=True, source_etype=_WORD)


def _require_words(array: types.Type) -> None:
    """Words are a contiguous int64 array, or the address of one as an int64."""
    is_words = isinstance(array, types.Array) and array.dtype == types.int64 and array.ndim == 1 and array.layout == "C"
    if not (is_words or array == types.int64):
        raise TypingError(f"expected a contiguous one-dimensional int64 array or its address, not {array}")


@intrinsic
def fetch_add(typing_context, array, index, value):
    """Add ``value`` to ``array[index]`` atomically (int64; acquires and releases) and return what was there before."""
    _require_words(array)

    def emit(context, builder, sig, args):
        address = _word_address(context, builder, sig.args[0], args[0], args[1])
        return builder.atomic_rmw("add", address, args[2], "acq_rel")

    return types.int64(array, types.int64, types.int64), emit


@intrinsic
def load_acquire(typing_context, array, index):
    """``array[index]`` (int64), read atomically; what the thread that stored it had written before is seen after."""
    _require_words(array)

    def emit(context, builder, sig, args):
        address = _word_address(context, builder, sig.args[0], args[0], args[1])
        return builder.load_atomic(address, "acquire", 8, typ=_WORD)

    return types.int64(array, types.int64), emit


@intrinsic
def pause(typing_context):
    """Tell the processor that this is a waiting loop."""

    def emit(context, builder, sig, args):
        _emit_pause(builder)
        return context.get_dummy_value()

    return types.void(), emit


@intrinsic
def yield_thread(typing_context):
    """Let the operating system run another thread on this core."""

    def emit(context, builder, sig, args):
        _emit_yield(builder)
        return context.get_dummy_value()

    return types.void(), emit


@intrinsic
def take(typing_context, state):
    """Draw the next ticket (int64) of a team."""
    _require_words(state)

    def emit(context, builder, sig, args):
        address = _word_address(context, builder, sig.args[0], args[0], _WORD(_NEXT))
        # A ticket is only a number: the order of memory accesses is the business of complete() and wait().
        return builder.atomic_rmw("add", address, _WORD(1), "monotonic")

    return types.int64(state), emit


@intrinsic
def complete(typing_context, state):
    """Say that the work of one drawn ticket is done, and publish what it wrote."""
    _require_words(state)

    def emit(context, builder, sig, args):
        address = _word_address(context, builder, sig.args[0], args[0], _WORD(_COMPLETED))
        builder.atomic_rmw("add", address, _WORD(1), "release")
        return context.get_dummy_value()

    return types.void(state), emit


@intrinsic
def wait(typing_context, state, target):
    """Wait until ``target`` tickets are completed, and see what they wrote.

    Spins for some microseconds, then yields the core between looks.
    """
    _require_words(state)

    def emit(context, builder, sig, args):
        address = _word_address(context, builder, sig.args[0], args[0], _WORD(_COMPLETED))
        before = builder.block
        look = builder.append_basic_block("wait.look")
        again = builder.append_basic_block("wait.again")
        spin = builder.append_basic_block("wait.spin")
        give_way = builder.append_basic_block("wait.yield")
        done = builder.append_basic_block("wait.done")
        builder.branch(look)

        builder.position_at_end(look)
        turn = builder.phi(_WORD)
        completed = builder.load_atomic(address, "acquire", 8, typ=_WORD)
        builder.cbranch(builder.icmp_signed(">=", completed, args[1]), done, again)

        builder.position_at_end(again)
        next_turn = builder.add(turn, _WORD(1))
        builder.cbranch(builder.icmp_signed("<", turn, _WORD(_PAUSES_BEFORE_YIELD)), spin, give_way)
        builder.position_at_end(spin)
        _emit_pause(builder)
        builder.branch(look)
        builder.position_at_end(give_way)
        _emit_yield(builder)
        builder.branch(look)

        turn.add_incoming(_WORD(0), before)
        turn.add_incoming(next_turn, spin)
        turn.add_incoming(next_turn, give_way)
        builder.position_at_end(done)
        return context.get_dummy_value()

    return types.void(state, types.int64), emit


@intrinsic
def reset(typing_context, state):
    """Make a team's state ready for another run; only when no worker of the team is running any more."""
    _require_words(state)

    def emit(context, builder, sig, args):
        for counter in (_NEXT, _COMPLETED):
            address = _word_address(context, builder, sig.args[0], args[0], _WORD(counter))
            builder.store_atomic(_WORD(0), address, "release", 8)
        return context.get_dummy_value()

    return types.void(state), emit
