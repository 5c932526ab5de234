"""A kernel of the corpus with its data, and where they are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np

Arguments = tuple[Any, ...]
"""Arrays and numbers that a kernel is called with; it may write to all of the arrays."""


CORPORA = {"loops": "corpus", "numerical": "numerical"}
"""The folder of each corpus."""

SPECIAL_VALUES = {"nsz", "arcp", "contract", "afn", "reassoc"}
"""All of Numba's ``fastmath`` but for what takes infinities and NaN for impossible."""


@dataclass(frozen=True)
class Case:
    """A kernel as an application has it.

    Attributes:
        function: plain Python, in which ``numba.prange`` marks what its author would run in parallel.
        data: makes its arguments from a source of random numbers.
        calls: how often a program of one to three seconds calls it.
        numba: what its author would write for Numba, where that is not the function as it is.
        fastmath: what of Numba's ``fastmath`` its results allow.
        small: makes small arguments, for which plain Python takes no time; None where the case has none.
    """

    function: Callable[..., Any]
    data: Callable[[np.random.Generator], Arguments]
    calls: int
    numba: Callable[..., Any]
    fastmath: bool | set[str] = True
    small: Callable[[np.random.Generator], Arguments] | None = None

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def field(self) -> str:
        """The name of the file that it is in."""
        return self.function.__module__.rpartition(".")[2]

    @property
    def corpus(self) -> str:
        """The name of the folder that it is in."""
        return self.function.__module__.split(".")[-2]

    def arguments(self) -> Arguments:
        """The same arguments each time."""
        return self.data(np.random.default_rng(42))

    def small_arguments(self) -> Arguments:
        """The same small arguments each time."""
        assert self.small is not None, f"{self.name} has no small arguments"
        return self.small(np.random.default_rng(42))


_CASES: dict[str, Case] = {}


def case(
    data: Callable[..., Arguments],
    *,
    calls: int,
    size: int | None = None,
    small: int | None = None,
    numba: Callable[..., Any] | None = None,
    fastmath: bool | set[str] = True,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function a kernel of the corpus; it stays as it is.

    Args:
        data: makes its arguments from a source of random numbers, and from a size where ``size`` is given.
        calls: how often a program of one to three seconds calls it.
        size: the size of its data; None where the data have one size.
        small: the size for which plain Python takes no time; None where there is none.
        numba: the form for Numba, where that is not the function as it is.
        fastmath: what of Numba's ``fastmath`` its results allow.
    """

    def of_size(n: int | None) -> Callable[[np.random.Generator], Arguments]:
        return data if n is None else partial(data, n=n)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        assert function.__name__ not in _CASES, f"{function.__name__} is there twice"
        few = None if small is None else of_size(small)
        _CASES[function.__name__] = Case(function, of_size(size), calls, numba or function, fastmath, few)
        return function

    return register


def cases(corpus: str = "loops") -> dict[str, Case]:
    """The kernels of a corpus by name."""
    folder = CORPORA[corpus]
    package = import_module(f"{__package__}.{folder}")
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    return {name: each for name, each in _CASES.items() if each.corpus == folder}


def every_case() -> dict[str, Case]:
    """The kernels of all corpora by name."""
    return {name: each for corpus in CORPORA for name, each in cases(corpus).items()}
