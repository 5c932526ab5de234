"""The register of functions outside of the language, and of what becomes of them.

A function is *refused* with what is said and the source text that is pointed at.  It is *mended* by what its refusal
says to do: that is a kernel that is accepted, and how the caller calls it where the remedy says that the caller does
something before or after.  What it computes has to be what the refused program computes in plain Python.  Where that is
an error in plain Python too, the mended program itself, interpreted, says what is right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

REFUSED: list[tuple[Callable[..., Any], str, str]] = []
"""The functions, each with a part of what its refusal says and the text that it points at."""


def refused(what: str, at: str) -> Callable[[Any], Any]:
    """Register a function.

    Args:
        what: part of what its refusal says.
        at: the source text that is pointed at.
    """

    def register(function: Any) -> Any:
        REFUSED.append((function, what, at))
        return function

    return register


@dataclass(frozen=True)
class Mended:
    """The mended form of a refused program.

    Attributes:
        kernel: the accepted program.
        arguments: makes the arguments of the refused program.
        follows: the part of the remedy that was followed.
        call: what the caller does: takes the kernel and the arguments of the refused program.
        reference: what computes what is right, from the same arguments; None for ``call`` with the plain ``kernel``.
    """

    kernel: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]
    follows: str
    call: Callable[..., Any]
    reference: Callable[..., Any] | None


MENDED: dict[str, list[Mended]] = {}
"""The programs that become of each refused function, by its name."""


def plainly(kernel: Callable[..., Any], *arguments: Any) -> Any:
    return kernel(*arguments)


def mended(
    original: Callable[..., Any],
    arguments: Callable[[], tuple[Any, ...]],
    follows: str,
    call: Callable[..., Any] = plainly,
    *,
    is_error: bool = False,
    reference: Callable[..., Any] | None = None,
) -> Callable[[Any], Any]:
    """Register the mended form of a function.

    Args:
        original: the function.
        arguments, follows, call: the attributes of `Mended`.
        is_error: whether plain Python raises an error for the function, too.
        reference: what computes what is right; None for the function itself.
    """

    def register(kernel: Any) -> Any:
        right = None if is_error else reference or original
        MENDED.setdefault(original.__name__, []).append(Mended(kernel, arguments, follows, call, right))
        return kernel

    return register
