"""Admission of threads to a team, and how they leave it again, inside compiled code.

A *mailbox* is a block of words that one caller and its helpers share.  The caller writes there what is to be run, opens
admission, does its own part, and closes admission: no helper needs to come, as the work of a team is done by whoever is
there (`polytune.runtime.teams.team`).  A helper comes in while admission is open, once for each time that it was
opened, runs its part and leaves.

One word of the mailbox says how often admission was opened, whether it is open, and how many helpers are inside.  A
helper comes in by exchanging the word that it has seen for one more, which fails if admission was closed meanwhile; so
none is inside of whom the caller does not know.

A helper that the system has taken off its core may still be inside when all work is done.  Then it has nothing left to
do: it finds every task claimed and completed, and touches nothing but the context.  So the caller does not wait for
it, but leaves it the context and the mailbox; `lead` says so.

A helper that has long not been needed sleeps until its event is signalled.  No call goes without it for that: it first
writes that it is asleep and then looks at the word once more, and the caller first opens admission and then looks who
is asleep.  These four accesses have one order in which all threads see them (they are sequentially consistent), so if
the helper's look comes before admission is opened, then so does what it wrote, and the caller sees it and signals;
otherwise the helper sees admission open and stays awake.  If both see the other, whoever exchanges the word back to
zero decides: after the caller has, the event is signalled, and the helper awaits it; after the helper has, it is not.
So each signal is awaited before the next.
"""

from __future__ import annotations

import ctypes

from llvmlite import binding, ir
from numba import njit
from numba.core import cgutils, types
from numba.extending import intrinsic, register_jitable

from polytune.runtime.modules.compilation import keeps_code
from polytune.runtime.teams.context import call_version
from polytune.runtime.teams.events import await_event, signal
from polytune.runtime.teams.team import fetch_add, load_acquire, pause, ticks

__all__ = ["CORE", "dismiss", "event", "inside", "lead", "mailbox_length", "serve"]

_LINE = 16
"""Elements from one word to the next that others write: 128 bytes, as caches fetch lines of 64 in pairs."""

_ADMISSION, _FUNCTION, _CONTEXT, _WORKERS = 0, _LINE, _LINE + 1, _LINE + 2
CORE = _LINE + 3
"""The word of a mailbox that says on which core the caller was when it last led a team; -1 where that is not known."""
_STOPPED = 2 * _LINE
"""The word of a mailbox that says by 1 that its helpers are to end."""

_INSIDE = (1 << 16) - 1
_OPEN = 1 << 16
_TIMES = 17
"""The word's lowest bits count the helpers inside; above is whether admission is open; from this bit on, how often."""

_WORD = ir.IntType(64)
_CORE_SYMBOL = "polytune_core"
_PAUSES_BEFORE_LEAVING = 200  # about 5 to 10 microseconds
_FEW_PAUSES = 20_000  # before a helper sleeps: from half a millisecond to one
_MANY_PAUSES = 300_000  # about ten milliseconds, as runtimes of OpenMP have
_SHORT_BREAK = 20_000_000  # ticks, so many milliseconds


@register_jitable
def _asleep(number):
    """Return where a mailbox says by 1 that a helper sleeps or is about to; helpers are numbered from 1."""
    return (2 + number) * _LINE


@register_jitable
def event(number):
    """Return where a mailbox has the address of a helper's event."""
    return (2 + number) * _LINE + 1


def mailbox_length(helpers: int) -> int:
    """Elements of a mailbox for so many helpers; all but the events are zero at first."""
    return (3 + helpers) * _LINE


def _word(builder: ir.IRBuilder, address: ir.Value, position: ir.Value) -> ir.Value:
    return builder.gep(builder.inttoptr(address, _WORD.as_pointer()), [position], inbounds=True, source_etype=_WORD)


@intrinsic
def _store_release(typing_context, mailbox, position, value):
    """Write a word of a mailbox; who reads it by `load_acquire` sees what was written before."""

    def emit(context, builder, sig, args):
        builder.store_atomic(args[2], _word(builder, args[0], args[1]), "release", 8)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 3), emit


@intrinsic
def _store_in_order(typing_context, mailbox, position, value):
    """Write a word of a mailbox, in the one order of all that is accessed so."""

    def emit(context, builder, sig, args):
        builder.store_atomic(args[2], _word(builder, args[0], args[1]), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 3), emit


@intrinsic
def _load_in_order(typing_context, mailbox, position):
    """Read a word of a mailbox, in the one order of all that is accessed so."""

    def emit(context, builder, sig, args):
        return builder.load_atomic(_word(builder, args[0], args[1]), "seq_cst", 8, typ=_WORD)

    return types.int64(*[types.int64] * 2), emit


@intrinsic
def _exchange(typing_context, mailbox, position, expected, value):
    """Write a word of a mailbox if it is what was expected, in the order of `_store_in_order`.  Return whether it
    was."""

    def emit(context, builder, sig, args):
        address = _word(builder, args[0], args[1])
        found = builder.cmpxchg(address, args[2], args[3], "seq_cst", "monotonic")
        return builder.extract_value(found, 1)

    return types.boolean(*[types.int64] * 4), emit


def _register_core() -> bool:
    """Make known to compiled code what says on which core a thread is.  Return False where nothing does."""
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
def _wake(mailbox, number):
    """Signal the event of a helper if it is asleep or about to be."""
    if _load_in_order(mailbox, _asleep(number)) != 0 and _exchange(mailbox, _asleep(number), 1, 0):
        signal(load_acquire(mailbox, event(number)))


@register_jitable
def _is_needed(mailbox, number, served):
    """Return whether a helper has something to do that it has not done yet: work, or to end."""
    if _load_in_order(mailbox, _STOPPED) != 0:
        return True
    word = _load_in_order(mailbox, _ADMISSION)
    return word & _OPEN != 0 and word >> _TIMES != served and number < load_acquire(mailbox, _WORKERS)


@njit(nogil=True, cache=keeps_code(__file__))
def lead(mailbox, function, context, workers):
    """Run a version by a team whose first worker is the caller.

    Args:
        mailbox: its address, int64; no helper is inside, and no other caller uses it.
        function: the address of the version's C entry.
        context: the address of the call's context.
        workers: how many workers may work; where it is 1, the mailbox is not looked at.

    Returns:
        How many helpers are still inside: 0, or context and mailbox must be left to them until they have gone.
    """
    if workers == 1:
        call_version(function, context, 0, 1)
        return 0
    _store_release(mailbox, _FUNCTION, function)
    _store_release(mailbox, _CONTEXT, context)
    _store_release(mailbox, _WORKERS, workers)
    closed = load_acquire(mailbox, _ADMISSION)
    _store_in_order(mailbox, _ADMISSION, closed + (1 << _TIMES) + _OPEN)
    for number in range(1, workers):
        _wake(mailbox, number)
    call_version(function, context, 0, workers)
    _store_release(mailbox, CORE, _core())
    found = (fetch_add(mailbox, _ADMISSION, -_OPEN) - _OPEN) & _INSIDE
    turns = 0
    while found > 0 and turns < _PAUSES_BEFORE_LEAVING:
        pause()
        turns += 1
        found = load_acquire(mailbox, _ADMISSION) & _INSIDE
    return found


@njit(nogil=True, cache=keeps_code(__file__))
def inside(mailbox):
    """Return how many helpers are inside; what they wrote before they left is seen."""
    return load_acquire(mailbox, _ADMISSION) & _INSIDE


@njit(nogil=True, cache=keeps_code(__file__))
def serve(mailbox, number):
    """Help whenever a mailbox's admission is open, until the helpers are dismissed.

    When it has been closed for about a millisecond the helper sleeps; but for ten, where it was needed again within
    ten the last time: to wake up takes as long as a short call.  It stays on its core meanwhile: a helper that offers
    it to others where these are many is never there when it is needed.

    Args:
        mailbox: its address.
        number: the helper's, from 1; it helps teams of more workers than that.
    """
    served = -1
    turns = 0
    most = _FEW_PAUSES
    idle = ticks()
    while load_acquire(mailbox, _STOPPED) == 0:
        if _is_needed(mailbox, number, served):
            word = load_acquire(mailbox, _ADMISSION)
            # Where the exchange succeeds, the number of workers is read while admission is open for this work.
            if (
                word & _OPEN != 0
                and number < load_acquire(mailbox, _WORKERS)
                and _exchange(mailbox, _ADMISSION, word, word + 1)
            ):
                workers = load_acquire(mailbox, _WORKERS)
                most = _MANY_PAUSES if ticks() - idle < _SHORT_BREAK else _FEW_PAUSES
                call_version(load_acquire(mailbox, _FUNCTION), load_acquire(mailbox, _CONTEXT), number, workers)
                fetch_add(mailbox, _ADMISSION, -1)
                served = word >> _TIMES
                turns = 0
                idle = ticks()
        elif turns < most:
            pause()
            turns += 1
        else:
            _store_in_order(mailbox, _asleep(number), 1)
            if not (_is_needed(mailbox, number, served) and _exchange(mailbox, _asleep(number), 1, 0)):
                await_event(load_acquire(mailbox, event(number)))
            turns = 0


@njit(nogil=True, cache=keeps_code(__file__))
def dismiss(mailbox, helpers):
    """Have all helpers of a mailbox leave `serve`, those that sleep too."""
    _store_in_order(mailbox, _STOPPED, 1)
    for number in range(1, helpers + 1):
        _wake(mailbox, number)
