"""Sums of a team: each worker adds up in a copy of its own, and the copies are added to the elements at the end.

A worker that finds no more tasks in a region adds its copy to the elements, and only then says that its tasks are
completed, so that whoever waits for them sees the sums.  The elements are divided into *pieces*, as many as the team
has shares; one worker at a time is in a piece, and each begins with another one, so that they add up side by side::

    claimed = 0
    task = claim(state, worker, workers, base, total)
    while task < base + total:
        ...                                  # the work of task - base, in the worker's copy
        claimed += 1
        task = claim(state, worker, workers, base, total)
    if claimed > 0:
        for turn in range(pieces(workers)):
            piece = enter(state, worker, workers, turn)
            ...                              # add the worker's copy to the elements of the piece
            leave(state, piece)
        complete_all(state, claimed)

A worker that is in a piece waits for nothing, so that teams still finish however many of their workers really run.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from polytune.runtime.teams.team import MOST_SHARES, completed_address, emit_waiting, lock_address, require_words

__all__ = ["complete_all", "enter", "leave", "pieces"]

_WORD = ir.IntType(64)


def _emit_pieces(builder: ir.IRBuilder, workers: ir.Value) -> ir.Value:
    return builder.select(builder.icmp_signed("<", workers, _WORD(MOST_SHARES)), workers, _WORD(MOST_SHARES))


@intrinsic
def pieces(typing_context, workers):
    """Into how many pieces (int64) the elements are divided that so many workers add to."""
    return types.int64(types.int64), lambda context, builder, sig, args: _emit_pieces(builder, args[0])


@intrinsic
def enter(typing_context, state, worker, workers, turn):
    """The piece (int64) that a worker enters at a turn, counted from 0, as soon as no other worker is in it; what those
    wrote there is seen.  After as many turns as there are pieces it has been in each once.

    Spins for some microseconds, then yields the core between looks.

    Args:
        state: the team's.
        worker: int64, the number of the worker, from 0 to ``workers - 1``.
        workers: int64, how many workers there are.
        turn: int64, how often the worker has been in a piece before.
    """
    require_words(state)

    def emit(context, builder, sig, args):
        state, worker, workers, turn = args
        piece = builder.srem(builder.add(worker, turn), _emit_pieces(builder, workers))
        address = lock_address(context, builder, sig.args[0], state, piece)

        def has_entered() -> ir.Value:
            exchanged = builder.cmpxchg(address, _WORD(0), _WORD(1), "acquire", "monotonic")
            return builder.extract_value(exchanged, 1)

        emit_waiting(builder, has_entered)
        return piece

    return types.int64(state, *[types.int64] * 3), emit


@intrinsic
def leave(typing_context, state, piece):
    """Let other workers into a piece, and publish what was written there."""
    require_words(state)

    def emit(context, builder, sig, args):
        address = lock_address(context, builder, sig.args[0], args[0], args[1])
        builder.store_atomic(_WORD(0), address, "release", 8)
        return context.get_dummy_value()

    return types.void(state, types.int64), emit


@intrinsic
def complete_all(typing_context, state, tasks):
    """Say that the work of so many claimed tasks is done, and publish what was written for them."""
    require_words(state)

    def emit(context, builder, sig, args):
        address = completed_address(context, builder, sig.args[0], args[0])
        builder.atomic_rmw("add", address, args[1], "release")
        return context.get_dummy_value()

    return types.void(state, types.int64), emit
