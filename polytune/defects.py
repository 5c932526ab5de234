"""Exceptions from inside the compiler: all that are not polytune's own become defects that name the kernel."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType

from polytune.errors import DefectError, PolytuneError
from polytune.version import __version__

_ROOT = Path(__file__).parent


@contextmanager
def defects_named(function: FunctionType) -> Iterator[None]:
    """Compile a function, and raise what is not polytune's own as a ``DefectError`` that names it.

    An interrupt by the user and a lack of memory pass as they are.

    Raises:
        DefectError: the block raised an exception that polytune never raises on purpose; its cause.
    """
    try:
        yield
    except (PolytuneError, MemoryError):
        raise
    except Exception as error:
        code = function.__code__
        name = function.__qualname__
        raise DefectError(
            f"{code.co_filename}:{code.co_firstlineno}: kernel {name!r} could not be compiled: "
            f"{type(error).__name__}: {error}\n"
            f"why: a defect of polytune {__version__}, in {_place(error)}, not of the kernel\n"
            f"instead: report it with the kernel's source and the traceback; {function.__name__}.__wrapped__(...) runs "
            "the kernel as plain Python meanwhile"
        ) from error


def _place(error: Exception) -> str:
    """The innermost line of polytune's that an exception came through."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(_ROOT):
            return f"polytune/{path.relative_to(_ROOT).as_posix()}:{frame.lineno}"
    return "a library"
