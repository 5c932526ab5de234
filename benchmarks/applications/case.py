"""A kernel of the corpus with its data, and where they are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np

Arguments = tuple[Any, ...]
"""Arrays and numbers that a kernel is called with; it may write to all of the arrays."""


@dataclass(frozen=True)
class Case:
    """A kernel as an application has it.

    Attributes:
        function: plain Python with loops, in which ``numba.prange`` marks what its author would run in parallel.
        data: makes its arguments from a source of random numbers.
        calls: how often a program of one to three seconds calls it.
    """

    function: Callable[..., Any]
    data: Callable[[np.random.Generator], Arguments]
    calls: int

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def field(self) -> str:
        """The name of the file that it is in."""
        return self.function.__module__.rpartition(".")[2]

    def arguments(self) -> Arguments:
        """The same arguments each time."""
        return self.data(np.random.default_rng(42))


_CASES: dict[str, Case] = {}


def case(
    data: Callable[[np.random.Generator], Arguments], *, calls: int
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function a kernel of the corpus; it stays as it is."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        assert function.__name__ not in _CASES, f"{function.__name__} is there twice"
        _CASES[function.__name__] = Case(function, data, calls)
        return function

    return register


def cases() -> dict[str, Case]:
    """All kernels of the corpus by name."""
    from benchmarks.applications import corpus

    for module in iter_modules(corpus.__path__):
        import_module(f"{corpus.__name__}.{module.name}")
    return dict(_CASES)
