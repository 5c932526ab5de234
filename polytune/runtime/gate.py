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

A helper that has long not been needed sleeps at its bell.  No call goes without it for that: it first writes that it
is asleep and then looks at the gate once more, and the caller first opens the gate and then looks who is asleep.  These
four accesses have one order in which all threads see them (they are sequentially consistent), so if the helper's look
comes before the gate is opened, then so does what it wrote, and the caller sees it and rings; otherwise the helper sees
the gate open and stays awake.  If both see the other, whoever exchanges the word back to zero decides: after the caller
has, the bell is rung, and the helper hears it; after the helper has, it is not.  So each ring is heard before the next.
"""

from __future__ import annotations

import ctypes

from llvmlite import binding, ir
from numba import njit
from numba.core import cgutils, types
from numba.extending import intrinsic, register_jitable

from polytune.runtime.bells import hear, ring
from polytune.runtime.compilation import keeps_code
from polytune.runtime.context import call_version
from polytune.runtime.team import fetch_add, load_acquire, pause

__all__ = ["CORE", "bell", "dismiss", "inside", "lead", "post_length", "serve"]

_LINE = 16
"""Elements from one word to the next that others write: 128 bytes, as caches fetch lines of 64 in pairs."""

_GATE, _FUNCTION, _CONTEXT, _WORKERS = 0, _LINE, _LINE + 1, _LINE + 2
CORE = _LINE + 3
"""Where a post says on which core the caller was when it led a team for the last time; -1 where that is not known."""
_STOPPED = 2 * _LINE
"""Where a post says by 1 that its helpers are to end."""

_INSIDE = (1 << 16) - 1
_OPEN = 1 << 16
_TIMES = 17
"""The gate's lowest bits count the helpers inside; above is whether it is open; from this bit on, how often it was."""

_WORD = ir.IntType(64)
_CORE_SYMBOL = "polytune_core"
_PAUSES_BEFORE_LEAVING = 200  # about 5 to 10 microseconds
_PAUSES_BEFORE_SLEEP = 20_000  # from half a millisecond to one


@register_jitable
def _asleep(number):
    """Where a post says by 1 that a helper sleeps or is about to; helpers are numbered from 1."""
    return (2 + number) * _LINE


@register_jitable
def bell(number):
    """Where a post has the address of a helper's bell."""
    return (2 + number) * _LINE + 1


def post_length(helpers: int) -> int:
    """Elements of a post for so many helpers; all but the bells are zero at first."""
    return (3 + helpers) * _LINE


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
def _store_in_order(typing_context, post, position, value):
    """Write a word of a post, in the one order of all that is accessed so."""

    def emit(context, builder, sig, args):
        builder.store_atomic(args[2], _word(builder, args[0], args[1]), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 3), emit


@intrinsic
def _load_in_order(typing_context, post, position):
    """Read a word of a post, in the one order of all that is accessed so."""

    def emit(context, builder, sig, args):
        return builder.load_atomic(_word(builder, args[0], args[1]), "seq_cst", 8, typ=_WORD)

    return types.int64(*[types.int64] * 2), emit


@intrinsic
def _exchange(typing_context, post, position, expected, value):
    """Write a word of a post if it is what was expected, in the order of `_store_in_order`; whether it was."""

    def emit(context, builder, sig, args):
        address = _word(builder, args[0], args[1])
        found = builder.cmpxchg(address, args[2], args[3], "seq_cst", "monotonic")
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


@register_jitable
def _wake(post, number):
    """Ring for a helper if it is asleep or about to be."""
    if _load_in_order(post, _asleep(number)) != 0 and _exchange(post, _asleep(number), 1, 0):
        ring(load_acquire(post, bell(number)))


@register_jitable
def _is_needed(post, number, served):
    """Whether a helper has something to do that it has not done yet: work, or to end."""
    if _load_in_order(post, _STOPPED) != 0:
        return True
    gate = _load_in_order(post, _GATE)
    return gate & _OPEN != 0 and gate >> _TIMES != served and number < load_acquire(post, _WORKERS)


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
    _store_in_order(post, _GATE, closed + (1 << _TIMES) + _OPEN)
    for number in range(1, workers):
        _wake(post, number)
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
    """Help whenever a post's gate is open, until the helpers are dismissed.

    When it has been closed for about a millisecond the helper sleeps.  It stays on its core meanwhile: a helper that
    offers it to others where these are many is never there when it is needed.

    Args:
        post: its address.
        number: the helper's, from 1; it helps teams of more workers than that.
    """
    served = -1
    turns = 0
    while load_acquire(post, _STOPPED) == 0:
        if _is_needed(post, number, served):
            gate = load_acquire(post, _GATE)
            # Where the exchange succeeds, the number of workers is read while the gate is open for this work.
            if gate & _OPEN != 0 and number < load_acquire(post, _WORKERS) and _exchange(post, _GATE, gate, gate + 1):
                workers = load_acquire(post, _WORKERS)
                call_version(load_acquire(post, _FUNCTION), load_acquire(post, _CONTEXT), number, workers)
                fetch_add(post, _GATE, -1)
                served = gate >> _TIMES
                turns = 0
        elif turns < _PAUSES_BEFORE_SLEEP:
            pause()
            turns += 1
        else:
            _store_in_order(post, _asleep(number), 1)
            if not (_is_needed(post, number, served) and _exchange(post, _asleep(number), 1, 0)):
                hear(load_acquire(post, bell(number)))
            turns = 0


@njit(nogil=True, cache=keeps_code(__file__))
def dismiss(post, helpers):
    """Have all helpers of a post leave `serve`, those that sleep too."""
    _store_in_order(post, _STOPPED, 1)
    for number in range(1, helpers + 1):
        _wake(post, number)
