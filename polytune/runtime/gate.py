"""How threads come to work for a team and leave it again, inside compiled code.

A *post* is a block of words that one caller and its helpers share.  The caller writes there what is to be run, opens
the post's gate, does its own part, and closes the gate: no helper needs to come, as the work of a team is done by
whoever is there (`polytune.runtime.team`).  A helper comes in while the gate is open, once for each time that it was
opened, runs its part and leaves.

The gate is one word: how often it was opened, whether it is open, and how many helpers are inside.  A helper comes in
by exchanging the word that it has seen for one more, which fails if the gate was closed meanwhile; so none is inside
of whom the caller does not know.

A helper that the system has taken off its core may still be inside when all work is done.  Then it has nothing left to
do: it finds every ticket claimed and completed, and touches nothing but the context.  So the caller does not wait for
it, but leaves it the context and the post; `lead` says so.
"""

from __future__ import annotations

import ctypes

from llvmlite import binding, ir
from numba import njit
from numba.core import cgutils, types
from numba.extending import intrinsic

from polytune.runtime.compilation import keeps_code
from polytune.runtime.context import call_version
from polytune.runtime.team import fetch_add, load_acquire, pause

__all__ = ["CORE", "STOPPED", "asleep", "inside", "lead", "post_length", "serve"]

_LINE = 16
"""Elements from one word to the next that others write: 128 bytes, as caches fetch lines of 64 in pairs."""

_GATE, _FUNCTION, _CONTEXT, _WORKERS = 0, _LINE, _LINE + 1, _LINE + 2
CORE = _LINE + 3
"""Where a post says on which core the caller was when it led a team for the last time; -1 where that is not known."""
STOPPED = 2 * _LINE
"""Where a post says by 1 that its helpers are to end."""

_INSIDE = (1 << 16) - 1
_OPEN = 1 << 16
_TIMES = 17
"""The gate's lowest bits count the helpers inside; above is whether it is open; from this bit on, how often it was."""

_WORD = ir.IntType(64)
_CORE_SYMBOL = "polytune_core"
_PAUSES_BEFORE_LEAVING = 200  # about 5 to 10 microseconds
_PAUSES_BEFORE_SLEEP = 20_000  # from half a millisecond to one


def asleep(number: int) -> int:
    """Where a post says by 1 that a helper sleeps or is about to; helpers are numbered from 1."""
    return (2 + number) * _LINE


def post_length(helpers: int) -> int:
    """Elements of a post for so many helpers; all are zero at first."""
    return asleep(helpers) + _LINE


def _word(builder: ir.IRBuilder, address: ir.Value, position: ir.Value) -> ir.Value:
    return builder.gep(builder.inttoptr(address, _WORD.as_pointer()), [position], inbounds=True, source_etype=_WORD)


@intrinsic
def _store_release(typing_context, post, position, value):
    """Write a word of a post; who reads it by `load_acquire` sees what was written before."""

    def emit(context, builder, sig, args):
        builder.store_atomic(args[2], _word(builder, args[0], args[1]), "release", 8)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 3), emit


@intrinsic
def _exchange(typing_context, post, position, expected, value):
    """Write a word of a post if it is what was expected; whether it was."""

    def emit(context, builder, sig, args):
        address = _word(builder, args[0], args[1])
        found = builder.cmpxchg(address, args[2], args[3], "acq_rel", "monotonic")
        return builder.extract_value(found, 1)

    return types.boolean(*[types.int64] * 4), emit


def _register_core() -> bool:
    """Make known to compiled code what says on which core a thread is; False where nothing does."""
    try:
        address = ctypes.cast(ctypes.CDLL(None).sched_getcpu, ctypes.c_void_p).value
    except (AttributeError, OSError, TypeError):
        return False
    if address is None:
        return False
    binding.add_symbol(_CORE_SYMBOL, address)
    return True


_KNOWS_CORE = _register_core()


@intrinsic
def _core(typing_context):
    """The number of the core that the calling thread is on; -1 where that is not known."""

    def emit(context, builder, sig, args):
        if not _KNOWS_CORE:
            return _WORD(-1)
        function_type = ir.FunctionType(ir.IntType(32), [])
        function = cgutils.get_or_insert_function(builder.module, function_type, _CORE_SYMBOL)
        return builder.sext(builder.call(function, []), _WORD)

    return types.int64(), emit


@njit(nogil=True, cache=keeps_code(__file__))
def lead(post, function, context, workers):
    """Run a version by a team whose first worker is the caller.

    Args:
        post: its address, int64; no helper is inside, and no other caller uses it.
        function: the address of the version's C entry.
        context: the address of the call's context.
        workers: how many workers may work; where it is 1, the post is not looked at.

    Returns:
        How many helpers are still inside: 0, or context and post must be left to them until they have gone.
    """
    if workers == 1:
        call_version(function, context, 0, 1)
        return 0
    _store_release(post, _FUNCTION, function)
    _store_release(post, _CONTEXT, context)
    _store_release(post, _WORKERS, workers)
    closed = load_acquire(post, _GATE)
    _store_release(post, _GATE, closed + (1 << _TIMES) + _OPEN)
    call_version(function, context, 0, workers)
    _store_release(post, CORE, _core())
    found = (fetch_add(post, _GATE, -_OPEN) - _OPEN) & _INSIDE
    turns = 0
    while found > 0 and turns < _PAUSES_BEFORE_LEAVING:
        pause()
        turns += 1
        found = load_acquire(post, _GATE) & _INSIDE
    return found


@njit(nogil=True, cache=keeps_code(__file__))
def inside(post):
    """How many helpers are inside; what they wrote before they left is seen."""
    return load_acquire(post, _GATE) & _INSIDE


@njit(nogil=True, cache=keeps_code(__file__))
def serve(post, number):
    """Help whenever a post's gate is open, until it has been closed for about a millisecond or the post is stopped.

    It stays on its core meanwhile: a helper that offers it to others where these are many is never there when it is
    needed.

    Args:
        post: its address.
        number: the helper's, from 1; it helps teams of more workers than that.
    """
    served = -1
    turns = 0
    while turns < _PAUSES_BEFORE_SLEEP and load_acquire(post, STOPPED) == 0:
        gate = load_acquire(post, _GATE)
        # Where the exchange succeeds, the number of workers was read while the gate was open for this work.
        if gate & _OPEN and gate >> _TIMES != served and number < load_acquire(post, _WORKERS):
            if _exchange(post, _GATE, gate, gate + 1):
                workers = load_acquire(post, _WORKERS)
                call_version(load_acquire(post, _FUNCTION), load_acquire(post, _CONTEXT), number, workers)
                fetch_add(post, _GATE, -1)
                served = gate >> _TIMES
                turns = 0
            continue
        pause()
        turns += 1
    _store_release(post, (2 + number) * _LINE, 1)
