"""What fuzzing runs: the text of a kernel, of its arguments, and of the call."""

from __future__ import annotations

import copy
import inspect
import itertools
import linecache
import math
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

_numbers = itertools.count()


class Arguments(NamedTuple):
    """The arguments of one call, made afresh.

    Attributes:
        names: everything that the setup names.
        values: what the kernel's parameters get, in order.
    """

    names: dict[str, Any]
    values: tuple[Any, ...]

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Every array of the setup, passed or not: what surrounds a view must not change either."""
        return {name: value for name, value in self.names.items() if isinstance(value, np.ndarray)}


@dataclass(frozen=True)
class Sample:
    """A kernel and one call of it.

    Attributes:
        source: Python text that defines ``kernel``, and what it calls.
        setup: names and Python expressions, in order; an expression may use the names before it.
        call: the text between the parentheses of the call.
        strict: compiled without reassociation, and compared bit for bit but for the bits of NaN.
        tolerance: by how much results may differ where it is not strict, relative to the largest element; 0 where sums
            have no rounding in any order.
        numpy: written in NumPy's array expressions: results have NumPy's types and shapes, NumPy adds up in an order of
            its own, and what is outside of the language is refused.
        flags: those of ``fastmath``.
    """

    source: str
    setup: tuple[tuple[str, str], ...]
    call: str
    strict: bool
    tolerance: float = 0.0
    numpy: bool = False
    flags: tuple[str, ...] = ()

    def runs_without_warnings(self) -> bool:
        """Whether plain Python runs the call without an error, and NumPy without a warning."""
        function = self.function()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                function(*copy.deepcopy(self.arguments(function).values))
        except (ArithmeticError, AttributeError, IndexError, NameError, TypeError, ValueError, Warning):
            return False
        finally:
            linecache.cache.pop(function.__code__.co_filename, None)
        return True

    def function(self, names: dict[str, Any] | None = None) -> FunctionType:
        """The kernel as plain Python, whose source can be found; ``names`` stand in for those of the module."""
        filename = f"<random program {next(_numbers)}>"
        linecache.cache[filename] = (len(self.source), None, self.source.splitlines(keepends=True), filename)
        module: dict[str, Any] = {"np": np, "math": math, "__name__": "random_program", **(names or {})}
        exec(compile(self.source, filename, "exec"), module)
        return module["kernel"]

    def arguments(self, function: FunctionType, numpy: Any = np) -> Arguments:
        """Fresh arguments for the kernel, the same at every call; ``numpy`` stands in for NumPy."""
        names: dict[str, Any] = {}
        for name, text in self.setup:
            names[name] = eval(text, {"np": numpy}, names)
        signature = inspect.signature(function)
        bound = eval(f"bind({self.call})", {"np": numpy, "bind": signature.bind, **names})
        bound.apply_defaults()
        return Arguments(names, tuple(bound.arguments[name] for name in signature.parameters))

    @property
    def text(self) -> str:
        """The program for people."""
        setup = "\n".join(f"{name} = {text}" for name, text in self.setup)
        options = f"strict={self.strict}" + (f" fastmath={self.flags}" if self.flags else "")
        return f"{self.source}\n{setup}\nkernel({self.call})  # {options}\n"


def first_made(make: Callable[[int], Sample | None]) -> Sample:
    """Return what the first attempt makes that makes anything.

    Args:
        make: makes a sample of the number of the attempt, or None.
    """
    return next(sample for sample in map(make, itertools.count()) if sample is not None)


def check_share(having: Iterable[bool], percent: float) -> None:
    """See to it that at least some share of samples has something.

    Args:
        having: whether it has it, for each sample.
        percent: the share, in percent of the samples.
    """
    found = list(having)
    assert sum(found) >= percent / 100 * len(found), f"{sum(found)} of {len(found)}"


def check_sources(samples: Sequence[Sample], pattern: str, percent: float) -> None:
    """See to it that a pattern is found in the source of at least some share of samples, in percent."""
    check_share((bool(re.search(pattern, sample.source)) for sample in samples), percent)


def check_setups(samples: Sequence[Sample], pattern: str, percent: float) -> None:
    """See to it that a pattern is found in what some argument is made by, in at least some share of samples."""
    check_share((any(re.search(pattern, text) for _, text in sample.setup) for sample in samples), percent)
