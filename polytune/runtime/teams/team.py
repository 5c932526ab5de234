"""Teams of workers that share out numbered pieces of work, inside compiled code.

Every worker of a team runs the same function, with a number of its own.  The work is cut into *tasks* 0, 1, 2, ...;
a *region* is a range of tasks whose work may be done at the same time, and a region starts when all tasks of the
regions before it are completed::

    base = 0
    total = ...                              # tasks in this region; 1 where the work is serial
    task = claim(state, worker, workers, base, total)
    while task < base + total:
        ...                                  # the work of task - base
        complete(state)
        task = claim(state, worker, workers, base, total)
    base += total
    wait(state, base)
    ...                                      # the next region

The tasks of a region are divided into *shares*, one for each worker, of tasks that follow one another.  A worker
claims from its own share first, so that in regions of the same extent it works on the same data, which its core still
has in its cache; from other shares only when nothing is left of its own.

Waiting is for completed work, never for other workers, so a team finishes however many of its workers really run at
once: the holder of the smallest task not yet completed has nothing left to wait for.  A single worker does everything
itself, and a worker that comes late finds every task claimed.

``complete`` releases and ``wait`` acquires: what was written before a task was completed is seen after the wait.
``polytune.runtime.intrinsics.private_sums`` has what workers need that add up the same elements.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable

import numpy as np
from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

__all__ = [
    "FAILED",
    "LIBRARY_CALLS",
    "MOST_SHARES",
    "STATE_LENGTH",
    "claim",
    "complete",
    "fetch_add",
    "load_acquire",
    "new_state",
    "pause",
    "reset",
    "wait",
    "yield_thread",
]

_WORD = ir.IntType(64)
_COMPLETED = 0
"""The place of the number of completed tasks in a state, in int64 elements."""

FAILED = 1
"""The place of the word that says whether work has failed, so that nothing after it is to be done; not 0 before the
work is complete."""

LIBRARY_CALLS = 2
"""The place of the number of workers that are in a call of a library, which may have threads of its own."""

_LINE = 16
"""Elements from one counter to the next: 128 bytes, as caches fetch lines of 64 in pairs."""

MOST_SHARES = 64
"""Shares that a state has room for; where there are more workers, some have one in common."""

STATE_LENGTH = _LINE * (1 + MOST_SHARES)
"""Elements of a team's state: the number of completed tasks, then for each share the task after the one that was
claimed from it last, and half a line further whether a worker is in the piece of the same number."""

_PAUSES_BEFORE_SLEEP = 1000
"""Turns of a waiting loop, about 10 to 40 microseconds, before a worker sleeps while a library works."""

_PAUSES_BEFORE_YIELD = 20_000
"""Turns of a waiting loop, from a quarter of a millisecond to one, before the core is offered to other threads: what is
offered to a thread of low priority, as to what compiles beside the application, comes back after milliseconds."""

_MICROSECONDS_ASLEEP = 50
"""The time that a worker sleeps between its first looks while a library works, to which systems add some 50; each time
it sleeps as much longer."""

_MOST_TIMES_ASLEEP = 10
"""The number of these that it sleeps at last: half a millisecond.  A worker that looked every 70 microseconds made a
product of matrices beside it, of 10 ms and with a thread for each core, take 1.4 times as long."""

_CLAIM_SYMBOL = "polytune_claim"
_SLEEP_SYMBOL = "polytune_sleep"
_YIELD_SYMBOL = "polytune_yield_thread"
_HINT_YIELD = 1
"""The number of the "yield" hint in the Arm architecture."""


def _register_yield() -> bool:
    """Make the system's "let another thread run" known to compiled code.  Return False where there is none."""
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


def _register_sleep() -> bool:
    """Make a sleep of some microseconds known to compiled code.  Return False where the system has none as short."""
    try:
        address = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p).value
    except (AttributeError, OSError, TypeError):
        return False
    if address is None:
        return False
    binding.add_symbol(_SLEEP_SYMBOL, address)
    return True


_CAN_SLEEP = _register_sleep()


def new_state() -> np.ndarray:
    """The shared counters of a team that has not begun: int64, ``STATE_LENGTH`` elements, on cache lines of its own.

    ``reset`` makes a used state as good as new.
    """
    line = 16
    storage = np.zeros(STATE_LENGTH + line, np.int64)
    start = -(storage.ctypes.data // 8) % line
    return storage[start : start + STATE_LENGTH]


def _emit_pause(builder: ir.IRBuilder) -> None:
    """Write the processor's hint that this is a waiting loop; nothing where the processor has none."""
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


def _emit_sleep(builder: ir.IRBuilder, slept: ir.Value) -> None:
    """Leave the core to other threads for some microseconds; where it cannot be, for as long as they want it.

    Args:
        builder: where the code goes.
        slept: int64, how many times the worker has slept before.
    """
    if not _CAN_SLEEP:
        _emit_yield(builder)
        return
    word = ir.IntType(32)
    function_type = ir.FunctionType(word, [word])
    function = cgutils.get_or_insert_function(builder.module, function_type, _SLEEP_SYMBOL)
    is_short = builder.icmp_signed("<", slept, _WORD(_MOST_TIMES_ASLEEP))
    times = builder.select(is_short, builder.add(slept, _WORD(1)), _WORD(_MOST_TIMES_ASLEEP))
    builder.call(function, [builder.mul(builder.trunc(times, word), word(_MICROSECONDS_ASLEEP))])


def _word_address(context, builder: ir.IRBuilder, array_type: types.Type, array: ir.Value, index: ir.Value) -> ir.Value:
    if isinstance(array_type, types.Integer):
        data = builder.inttoptr(array, _WORD.as_pointer())
    else:
        data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [index], inbounds=True, source_etype=_WORD)


def require_words(array: types.Type) -> None:
    """Words are a contiguous int64 array, or the address of one as an int64."""
    is_words = isinstance(array, types.Array) and array.dtype == types.int64 and array.ndim == 1 and array.layout == "C"
    if not (is_words or array == types.int64):
        raise TypingError(f"expected a contiguous one-dimensional int64 array or its address, not {array}")


def completed_address(context, builder: ir.IRBuilder, state_type: types.Type, state: ir.Value) -> ir.Value:
    """Return where the number of completed tasks stands in a state.

    Args:
        context, builder: Numba's target context, and where the code goes.
        state_type: of the state, as ``require_words`` takes it.
        state: the team's.
    """
    return _word_address(context, builder, state_type, state, _WORD(_COMPLETED))


def lock_address(context, builder: ir.IRBuilder, state_type: types.Type, state: ir.Value, piece: ir.Value) -> ir.Value:
    """Return where it stands in a state whether a worker is in a piece.

    Args:
        context, builder: Numba's target context, and where the code goes.
        state_type: of the state, as ``require_words`` takes it.
        state: the team's.
        piece: int64, the number of the piece.
    """
    line = builder.mul(builder.add(piece, _WORD(1)), _WORD(_LINE))
    return _word_address(context, builder, state_type, state, builder.add(line, _WORD(_LINE // 2)))


def emit_waiting(
    builder: ir.IRBuilder, is_over: Callable[[], ir.Value], is_long: Callable[[], ir.Value] | None = None
) -> None:
    """Look again and again whether something is so: spin for a part of a millisecond, then yield the core between
    looks.

    Args:
        builder: where the code goes.
        is_over: writes the test that ends it.
        is_long: writes the test, after some microseconds, of whether to sleep between looks instead.
    """
    before = builder.block
    look, again, spin, longer, done = (
        builder.append_basic_block(f"wait.{name}") for name in ("look", "again", "spin", "longer", "done")
    )
    builder.branch(look)

    builder.position_at_end(look)
    turn, slept = builder.phi(_WORD), builder.phi(_WORD)
    builder.cbranch(is_over(), done, again)

    builder.position_at_end(again)
    next_turn = builder.add(turn, _WORD(1))
    builder.cbranch(builder.icmp_signed("<", turn, _WORD(_PAUSES_BEFORE_SLEEP)), spin, longer)
    builder.position_at_end(spin)
    _emit_pause(builder)
    builder.branch(look)
    builder.position_at_end(longer)
    sleeps = ir.Constant(ir.IntType(1), False) if is_long is None else is_long()
    with builder.if_else(sleeps) as (asleep, awake):
        with asleep:
            _emit_sleep(builder, slept)
        with awake, builder.if_else(builder.icmp_signed("<", turn, _WORD(_PAUSES_BEFORE_YIELD))) as (early, late):
            with early:
                _emit_pause(builder)
            with late:
                _emit_yield(builder)
    next_slept = builder.add(slept, builder.zext(sleeps, _WORD))
    waited = builder.block
    builder.branch(look)

    for phi, after_spinning, after_waiting in ((turn, next_turn, next_turn), (slept, slept, next_slept)):
        phi.add_incoming(_WORD(0), before)
        phi.add_incoming(after_spinning, spin)
        phi.add_incoming(after_waiting, waited)
    builder.position_at_end(done)


@intrinsic
def fetch_add(typing_context, array, index, value):
    """Add ``value`` to ``array[index]`` atomically (int64; acquires and releases) and return what was there before.

    Args:
        array: int64 in one dimension.
        index: which element; it is not checked.
        value: int64.
    """
    require_words(array)

    def emit(context, builder, sig, args):
        address = _word_address(context, builder, sig.args[0], args[0], args[1])
        return builder.atomic_rmw("add", address, args[2], "acq_rel")

    return types.int64(array, types.int64, types.int64), emit


@intrinsic
def load_acquire(typing_context, array, index):
    """``array[index]`` (int64), read atomically; what the thread that stored it had written before is seen after."""
    require_words(array)

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
def ticks(typing_context):
    """Return the time by a clock of the processor, some two or three thousand millions of them a second; 0 always where
    it has none that programs may read."""

    def emit(context, builder, sig, args):
        name = "llvm.readcyclecounter"
        clock = builder.module.globals.get(name) or ir.Function(builder.module, ir.FunctionType(_WORD, ()), name)
        return builder.call(clock, [])

    return types.int64(), emit


@intrinsic
def yield_thread(typing_context):
    """Let the operating system run another thread on this core."""

    def emit(context, builder, sig, args):
        _emit_yield(builder)
        return context.get_dummy_value()

    return types.void(), emit


def _claim_function(module: ir.Module) -> ir.Function:
    """The function behind ``claim`` in a module of compiled code, written there when it is first asked for."""
    function = cgutils.get_or_insert_function(module, ir.FunctionType(_WORD, [_WORD] * 5), _CLAIM_SYMBOL)
    if not function.is_declaration:
        return function
    function.linkage = "internal"
    function.attributes.add("noinline")
    state, worker, workers, base, total = function.args
    entry, visit, look, attempt, next_share, found, nothing = map(
        function.append_basic_block, ("entry", "visit", "look", "attempt", "next", "found", "nothing")
    )

    builder = ir.IRBuilder(entry)
    shares = builder.select(builder.icmp_signed("<", workers, _WORD(MOST_SHARES)), workers, _WORD(MOST_SHARES))
    size, larger = builder.sdiv(total, shares), builder.srem(total, shares)
    own = builder.srem(worker, shares)
    counters = builder.inttoptr(state, _WORD.as_pointer())
    builder.branch(visit)

    # The tasks of a share: first <= task < behind.  The first shares are larger by one, so serial work is the
    # first worker's.
    builder.position_at_end(visit)
    turn, share = builder.phi(_WORD), builder.phi(_WORD)
    is_larger = builder.icmp_signed("<", share, larger)
    first = builder.add(builder.add(base, builder.mul(share, size)), builder.select(is_larger, share, larger))
    behind = builder.add(first, builder.add(size, builder.zext(is_larger, _WORD)))
    position = builder.mul(builder.add(share, _WORD(1)), _WORD(_LINE))
    address = builder.gep(counters, [position], inbounds=True, source_etype=_WORD)
    builder.branch(look)

    # A counter may be left from an earlier region, and then is at most ``base``, or be a later region's already, and
    # then is at least ``base + total``.  It never falls, so an old value that is seen makes the exchange fail at worst.
    # A task is only a number: the order of memory accesses is the business of complete() and wait().
    builder.position_at_end(look)
    seen = builder.load_atomic(address, "monotonic", 8, typ=_WORD)
    task = builder.select(builder.icmp_signed(">", seen, first), seen, first)
    builder.cbranch(builder.icmp_signed("<", task, behind), attempt, next_share)
    builder.position_at_end(attempt)
    exchanged = builder.cmpxchg(address, seen, builder.add(task, _WORD(1)), "monotonic", "monotonic")
    builder.cbranch(builder.extract_value(exchanged, 1), found, look)
    builder.position_at_end(found)
    builder.ret(task)

    builder.position_at_end(next_share)
    next_turn, following = builder.add(turn, _WORD(1)), builder.add(share, _WORD(1))
    around = builder.select(builder.icmp_signed("<", following, shares), following, _WORD(0))
    builder.cbranch(builder.icmp_signed("<", next_turn, shares), visit, nothing)
    builder.position_at_end(nothing)
    builder.ret(builder.add(base, total))

    for phi, begin, afterwards in ((turn, _WORD(0), next_turn), (share, own, around)):
        phi.add_incoming(begin, entry)
        phi.add_incoming(afterwards, next_share)
    return function


@intrinsic
def claim(typing_context, state, worker, workers, base, total):
    """Claim a task (int64) of a region; ``base + total`` if none is left.

    Args:
        state: the team's.
        worker: the number of the worker, from 0 to ``workers - 1``.
        workers: how many workers there are.
        base: the region's first task.
        total: how many tasks the region has.
    """
    require_words(state)

    def emit(context, builder, sig, args):
        address = builder.ptrtoint(_word_address(context, builder, sig.args[0], args[0], _WORD(0)), _WORD)
        return builder.call(_claim_function(builder.module), [address, *args[1:]])

    return types.int64(state, *[types.int64] * 4), emit


@intrinsic
def complete(typing_context, state):
    """Say that the work of one claimed task is done, and publish what it wrote."""
    require_words(state)

    def emit(context, builder, sig, args):
        address = completed_address(context, builder, sig.args[0], args[0])
        builder.atomic_rmw("add", address, _WORD(1), "release")
        return context.get_dummy_value()

    return types.void(state), emit


@intrinsic
def wait(typing_context, state, target):
    """Wait until ``target`` tasks are completed, and see what they wrote.

    Spins for a part of a millisecond, then yields the core between looks; while another worker is in a call of a
    library, sleeps: threads of the library that take turns with one that yields may get a hundredth of their core.
    """
    require_words(state)

    def emit(context, builder, sig, args):
        address = completed_address(context, builder, sig.args[0], args[0])

        def is_completed() -> ir.Value:
            return builder.icmp_signed(">=", builder.load_atomic(address, "acquire", 8, typ=_WORD), args[1])

        def is_long() -> ir.Value:
            calls = _word_address(context, builder, sig.args[0], args[0], _WORD(LIBRARY_CALLS))
            return builder.icmp_signed(">", builder.load_atomic(calls, "monotonic", 8, typ=_WORD), _WORD(0))

        emit_waiting(builder, is_completed, is_long)
        return context.get_dummy_value()

    return types.void(state, types.int64), emit


@intrinsic
def reset(typing_context, state):
    """Make a team's state ready for another run; only when no worker of the team is running any more."""
    require_words(state)

    def emit(context, builder, sig, args):
        for counter in (FAILED, *range(0, STATE_LENGTH, _LINE)):
            address = _word_address(context, builder, sig.args[0], args[0], _WORD(counter))
            builder.store_atomic(_WORD(0), address, "release", 8)
        return context.get_dummy_value()

    return types.void(state), emit
