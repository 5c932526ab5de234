"""Tracebacks of errors that people are meant to see, and places of warnings: in their programs, not in polytune.

Python adds a frame to a traceback where an exception enters it, not where it is raised again.  So what a function that
people call drops in an ``except`` clause, before a bare ``raise``, is gone, and the frame of that function with it.
"""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import ParamSpec, TypeVar

from polytune.environment import DEBUG
from polytune.errors import DefectError, LegalityError, PolytuneError, VerificationError

__all__ = ["shorten", "shows_frames_of_callers", "warn_caller", "whole_tracebacks"]

P = ParamSpec("P")
R = TypeVar("R")

_PACKAGE = str(Path(__file__).parent) + os.sep

_CALLS_OF_LIBRARIES = (
    ("polytune.runtime.intrinsics.library", "run"),
    ("polytune.runtime.intrinsics.library", "_run_named"),
    ("polytune.runtime.draws.calls", "draw"),
)
"""The functions, by their modules, that call those of libraries in a kernel's stead."""

_whole = 0
"""The number of blocks that want whole tracebacks, and have begun and not ended."""


def shorten(error: BaseException) -> None:
    """Drop from an exception's traceback, and from those of its causes, the frames of polytune and of generated
    modules, where it is meant for people.

    What a library that a kernel calls adds after them stays.  Defects of polytune keep all frames, as a report of one
    needs them.  With ``POLYTUNE_DEBUG=1`` nothing is dropped.
    """
    if _whole or DEBUG.is_on or not _is_meant(error):
        return
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        each.__traceback__ = _after_ours(each.__traceback__)
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)


def shows_frames_of_callers(function: Callable[P, R]) -> Callable[P, R]:
    """A function that people call, with tracebacks that end where they call it."""

    @functools.wraps(function)
    def called(*arguments: P.args, **keywords: P.kwargs) -> R:
        try:
            return function(*arguments, **keywords)
        except Exception as error:
            shorten(error)
            raise

    return called


@contextmanager
def whole_tracebacks() -> Iterator[None]:
    """Have tracebacks show all frames in a block, whatever the environment says."""
    global _whole
    _whole += 1
    try:
        yield
    finally:
        _whole -= 1


def warn_caller(warning: Warning) -> None:
    """Warn, at the line of the program that has called polytune; in a thread of polytune's own, at its last line."""
    frame: FrameType | None = sys._getframe()
    level = 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "polytune":
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level + 1 if frame is not None else level)


def _is_meant(error: BaseException) -> bool:
    """Return whether an exception is polytune's own and no defect, or is raised by what a kernel says: by its ``raise``
    and ``assert``, or by a function of a library that it calls."""
    if isinstance(error, PolytuneError):
        return not isinstance(error, (DefectError, LegalityError, VerificationError))
    ours = [frame for frame in _frames(error.__traceback__) if _is_ours(frame)]
    if not ours:
        return False
    last = ours[-1]
    if _is_generated(last):
        return last.f_code.co_name == "require"
    return (last.f_globals.get("__name__"), last.f_code.co_name) in _CALLS_OF_LIBRARIES


def _frames(trace: TracebackType | None) -> Iterator[FrameType]:
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def _after_ours(trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that follows the last frame of polytune's or of a generated module."""
    found = trace
    while trace is not None:
        if _is_ours(trace.tb_frame):
            found = trace.tb_next
        trace = trace.tb_next
    return found


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_PACKAGE) or _is_generated(frame)


def _is_generated(frame: FrameType) -> bool:
    """Return whether a frame is of a function of a generated module, which has the kernel's name and types."""
    return "SIGNATURE" in frame.f_globals and "ARGUMENTS" in frame.f_globals and "PARAMETERS" in frame.f_globals
