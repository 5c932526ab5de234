"""One benchmark of the suite: its kernel, and what is needed to run, check and time it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polybench.datasets import CATALOGUE, Dataset, SuiteEntry

Arguments = tuple[Any, ...]
"""The arguments of one call of a kernel, in its order: arrays, and numbers."""

ErrorMeasure = Callable[[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]], float]
"""A function from the arguments by name, before a call, as the reference left them and as the kernel left them, to the
error."""


@dataclass(frozen=True)
class Benchmark:
    """A kernel of the suite.

    Attributes:
        name: the suite's name of it, such as ``2mm``.
        kernel: the ``polytune.kernel``; its ``__wrapped__`` is the plain Python function.
        initialise: from the sizes as keyword arguments to the suite's initial arguments.
        reference: computes the same result in place, with NumPy and independently of the compiler.
        outputs: the names of the arrays that the kernel writes.
        operations: from the sizes as keyword arguments to the number of arithmetic operations, as the source writes
            them, a product that does not change in a loop counted outside of it.
        tolerance: the largest error that rounding explains; 0 for integer data.
        error: measures how far a result is from the reference's; by default ``norm_wise_error`` of each output.
        perturbation: by how much, relative to each number, floating-point data may be changed and still be a
            well-conditioned problem of the kernel's kind.  ``polybench.data.perturbed`` does it.
        strict_ulps: by how many units in the last place of an array's largest value strict mode may differ from plain
            Python.  Not 0 only where the kernel calls functions such as exp, which differ between mathematical
            libraries in the last bit.
        catalogue: the table of the suite that it is in.
    """

    name: str
    kernel: Any
    initialise: Callable[..., Arguments]
    reference: Callable[..., None]
    outputs: tuple[str, ...]
    operations: Callable[..., int]
    tolerance: float = 1e-10
    error: ErrorMeasure | None = None
    perturbation: float = 0.25
    strict_ulps: int = 0
    catalogue: Mapping[str, SuiteEntry] = field(default_factory=lambda: CATALOGUE, repr=False)

    @property
    def category(self) -> str:
        """The suite's category, such as ``stencils``."""
        return self.catalogue[self.name].category

    def sizes(self, dataset: Dataset) -> dict[str, int]:
        """The suite's sizes, by the names that ``initialise`` takes them by."""
        return self.catalogue[self.name].sizes(dataset)

    @property
    def argument_names(self) -> tuple[str, ...]:
        """The names of the kernel's arguments, in order."""
        return tuple(inspect.signature(self.kernel.__wrapped__).parameters)

    def error_of(self, initial: Arguments, expected: Arguments, actual: Arguments) -> float:
        """Return how far ``actual`` is from ``expected``; infinite where an array that is only read has changed.

        Args:
            initial: the arguments before the call.
            expected: the arguments as the reference left them.
            actual: the arguments as the kernel left them.
        """
        names = self.argument_names
        before, wanted, got = (dict(zip(names, values, strict=True)) for values in (initial, expected, actual))
        for name in names:
            if name not in self.outputs and not np.array_equal(before[name], got[name]):
                return np.inf
        if self.error is not None:
            return self.error(before, wanted, got)
        return max(norm_wise_error(wanted[name], got[name]) for name in self.outputs)


def norm_wise_error(expected: np.ndarray, actual: np.ndarray) -> float:
    """``max|actual - expected| / max(1, max|expected|)``; infinite where a value is not finite."""
    if not np.all(np.isfinite(actual)):
        return np.inf
    difference = np.abs(np.subtract(actual, expected, dtype=np.result_type(expected, np.float64)))
    return float(difference.max(initial=0.0) / max(1.0, float(np.abs(expected).max(initial=0.0))))


def copy_arguments(arguments: Arguments) -> Arguments:
    """The arguments with each array copied."""
    return tuple(value.copy() if isinstance(value, np.ndarray) else value for value in arguments)
