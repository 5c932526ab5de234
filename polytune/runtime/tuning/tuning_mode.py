"""The mode that says whether calls of kernels are tuned: for a block, for a process, for a kernel."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager, ContextDecorator
from contextvars import ContextVar

from polytune.environment import TUNING
from polytune.errors import PolytuneError
from polytune.tracebacks import shows_frames_of_callers

__all__ = ["MODES", "current_mode", "mode_of_block", "mode_of_process", "tuning"]

MODES = ("on", "off", "frozen")
"""The modes of calls: tune; run the first choice; run the best that is known."""

_mode: ContextVar[str | None] = ContextVar("polytune_tuning", default=None)
_outer: ContextVar[tuple[str | None, ...]] = ContextVar("polytune_outer_tuning", default=())
"""The modes of the blocks around, the outermost first."""

mode_of_block = _mode.get
"""The mode of the innermost block that calls of this thread are in; None outside of all."""


@shows_frames_of_callers
def tuning(mode: str) -> AbstractContextManager[None]:
    """Say whether calls of kernels within a block are tuned; innermost blocks decide, then ``POLYTUNE_TUNING``.

    It holds for calls of this thread, or of this task where tasks share a thread.  What is returned may be kept and
    used for any number of blocks, one in another too, and as a decorator.

    Args:
        mode: ``"on"``: calls are tuned.  ``"frozen"``: calls run the best configuration that is known, from this
            process or an earlier one, or else the first choice; nothing is tried and nothing is learned.  ``"off"``:
            calls run the first choice, whatever is known; the history is neither read nor written.

    Raises:
        PolytuneError: there is no such mode.

    >>> import polytune
    >>> with polytune.tuning("off"):
    ...     pass  # calls here take no part in tuning
    """
    return _ModeOfBlocks(_checked(mode, "tuning"))


class _ModeOfBlocks(ContextDecorator, AbstractContextManager[None]):
    """Has a mode hold for blocks; it knows of none of them, so that threads may have it in common.

    Args:
        mode: the mode.
    """

    def __init__(self, mode: str):
        self._held = mode

    def __enter__(self) -> None:
        _outer.set((*_outer.get(), _mode.get()))
        _mode.set(self._held)

    def __exit__(self, *failure: object) -> None:
        *outer, before = _outer.get()
        _outer.set(tuple(outer))
        _mode.set(before)


def current_mode() -> str:
    """Return whether calls of this thread are tuned.

    Raises:
        PolytuneError: ``POLYTUNE_TUNING``, which is read once, is none of the modes.
    """
    return mode_of_block() or mode_of_process()


@functools.cache
def mode_of_process() -> str:
    """Return whether calls outside of all blocks are tuned.

    Raises:
        PolytuneError: ``POLYTUNE_TUNING``, which is read once, is none of the modes.
    """
    text = TUNING.text.lower()
    return _checked(text, TUNING.name) if text else "on"


def _checked(mode: object, where: str) -> str:
    if mode not in MODES:
        raise PolytuneError(f"{where}: {mode!r} says nothing about tuning; write {', '.join(map(repr, MODES))}")
    return str(mode)
