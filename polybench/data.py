"""Problems beside the suite's own: sizes that no tile divides, and data less regular than the suite's formulas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polybench.benchmark import Arguments, Benchmark


def odd_sizes(sizes: Mapping[str, int]) -> dict[str, int]:
    """The sizes, each raised to the next prime number above it."""
    return {name: _next_prime(size) for name, size in sizes.items()}


def perturbed(benchmark: Benchmark, arguments: Arguments, generator: np.random.Generator) -> Arguments:
    """The arguments with every floating-point array multiplied, element by element, by random numbers about one.

    The suite's data alone would let errors pass: those of seidel-2d and heat-3d, for instance, are fixed points of the
    stencil, so that a lost time step would not show.

    Args:
        benchmark: says by its ``perturbation`` how far from one the numbers may be.
        arguments: left as they are.
        generator: makes the numbers.
    """

    def change(value: Any) -> Any:
        if not (isinstance(value, np.ndarray) and np.issubdtype(value.dtype, np.floating)):
            return value
        factor = 1 + benchmark.perturbation * generator.uniform(-1, 1, value.shape)
        return (value * factor).astype(value.dtype)

    return tuple(change(value) for value in arguments)


def _next_prime(number: int) -> int:
    candidate = number + 1
    while any(candidate % divisor == 0 for divisor in range(2, int(candidate**0.5) + 1)):
        candidate += 1
    return candidate
