"""The mode that says whether calls of kernels are tuned: for a block, for a process, for a kernel."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

from polytune.environment import TUNING
from polytune.errors import PolytuneError
from polytune.tracebacks import shows_frames_of_callers

__all__ = ["MODES", "current_mode", "mode_of_block", "mode_of_process", "tuning"]

MODES = ("on", "off", "frozen")
"""The modes of calls: tune; run the first choice; run the best that is known."""

_mode: ContextVar[str | None] = ContextVar("polytune_tuning", default=None)
mode_of_block = _mode.get
"""The mode of the innermost block that calls of this thread are in; None outside of all."""


@shows_frames_of_callers
def tuning(mode: str) -> AbstractContextManager[None]:
    """Say whether calls of kernels within a block are tuned; innermost blocks decide, then ``POLYTUNE_TUNING``.

    It holds for calls of this thread, or of this task where tasks share a thread.

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
    return _holding(_checked(mode, "tuning"))


@contextmanager
def _holding(mode: str) -> Iterator[None]:
    """Have a mode hold for a block."""
    token = _mode.set(mode)
    try:
        yield
    finally:
        _mode.reset(token)


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
