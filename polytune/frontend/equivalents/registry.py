"""The table of functions that others, written in the language of kernels, stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["equivalent", "is_equivalent", "stands_for"]

_EQUIVALENTS: dict[Any, Callable[..., Any]] = {}

Written = TypeVar("Written", bound=Callable[..., Any])


def stands_for(*functions: Any) -> Callable[[Written], Written]:
    """Return what notes a function that is inlined where a kernel calls one of a library.

    Its parameters have the names and the defaults of that one's; of those that it has not, a call is refused.

    Args:
        functions: what kernels call, as ``np.hanning``, or a method of a ufunc, ``np.add.at``; None for what this
            version of the library has not.
    """

    def note(written: Written) -> Written:
        _EQUIVALENTS.update((function, written) for function in functions if function is not None)
        return written

    return note


def equivalent(function: Any) -> Any:
    """Return what is inlined in place of a function; any other object itself."""
    try:
        return _EQUIVALENTS.get(function, function)
    except TypeError:  # not hashable
        return function


def is_equivalent(function: Any) -> bool:
    """Return whether a function is one that stands for one of a library."""
    return any(function is each for each in _EQUIVALENTS.values())
