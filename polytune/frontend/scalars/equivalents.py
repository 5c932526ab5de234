"""Functions of Python's libraries, written in the language of kernels, which are inlined where a kernel calls them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

__all__ = ["equivalent"]


def _gcd(first, second):  # type: ignore[no-untyped-def]  # an integer of any type
    first, second = abs(first), abs(second)
    while second != 0:
        first, second = second, first % second
    return first


def _lcm(first, second):  # type: ignore[no-untyped-def]
    if first == 0 or second == 0:
        return 0
    return abs(first // _gcd(first, second) * second)  # type: ignore[no-untyped-call]


def _isclose(a, b, *, rel_tol=1e-09, abs_tol=0.0):  # type: ignore[no-untyped-def]
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    return abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol)


_EQUIVALENTS: dict[Any, Callable[..., Any]] = {
    math.gcd: _gcd,
    math.lcm: _lcm,
    math.isclose: _isclose,
}


def equivalent(function: Any) -> Any:
    """Return what is inlined in place of a function; any other object itself."""
    try:
        return _EQUIVALENTS.get(function, function)
    except TypeError:  # not hashable
        return function
