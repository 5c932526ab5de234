"""Fits the rates of the model of the first choice to measured times."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

NEAR = 1.15
"""The most times longer than the best that a first choice may take and count as good."""

_SHARPNESS = 20.0  # with which a configuration that is expected to be faster is more likely to be the choice
_MOST_LOST = 1.5  # logarithm of the times longer, beyond which choices are as bad as one another
_ORDER_WEIGHT = 0.1  # of how right the times are, the fastest of a kernel before all, beside what choices lose
_LEVEL_WEIGHT = 0.02  # of how right the times of a kernel are altogether
_PRIOR_WEIGHT = 0.2  # of how near rates are to those before
_LENIENCE = 0.3  # beyond which an error counts by its size, and not by its square


@dataclass(frozen=True)
class Measurement:
    """A configuration of a kernel, and what a call took.

    Attributes:
        kernel, version, sizes: which.
        own: whether the sizes are those that the version begins with.
        seconds: the shortest time of a call.
        counts: by ``polytune.runtime.tuning.work.Kind``, what it has to do.
    """

    kernel: str
    version: str
    sizes: tuple[int, ...]
    own: bool
    seconds: float
    counts: tuple[float, ...]


def expected(rates: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The seconds that rates (nanoseconds, by kind) expect of configurations, a row of counts each."""
    return np.maximum(counts @ rates, 1.0) * 1e-9


def fitted(measurements: Sequence[Measurement], prior: np.ndarray) -> np.ndarray:
    """Rates by which the choice of a kernel's configuration loses least, and its times are most nearly right.

    What a choice loses is the mean over configurations of how much slower each is than the best, weighted by how likely
    it is to be the one that is expected to be fastest.

    Args:
        measurements: of several configurations for each kernel.
        prior: rates, near which the new ones are where measurements say little.
    """
    from scipy.optimize import minimize

    ordered = sorted(measurements, key=lambda each: each.kernel)
    counts = np.array([each.counts for each in ordered])
    logarithms = np.log([each.seconds for each in ordered])
    _, starts, kernel = np.unique([each.kernel for each in ordered], return_index=True, return_inverse=True)
    kernels, before = len(starts), np.log(prior)
    slower = logarithms - np.minimum.reduceat(logarithms, starts)[kernel]
    lost = np.minimum(slower, _MOST_LOST)
    weights = np.exp(-2 * slower)
    weights /= _sums(weights, kernel)[kernel]

    def objective(exponents: np.ndarray) -> tuple[float, np.ndarray]:
        rates = np.exp(exponents)
        times = expected(rates, counts)
        chosen = -_SHARPNESS * np.log(times)
        chosen = np.exp(chosen - np.maximum.reduceat(chosen, starts)[kernel])
        chosen /= _sums(chosen, kernel)[kernel]
        losses_of = _sums(chosen * lost, kernel)
        slope = -_SHARPNESS * chosen * (lost - losses_of[kernel])
        errors = np.log(times) - logarithms
        levels = _sums(weights * errors, kernel)
        wrong = (errors - levels[kernel]) / _LENIENCE
        order = _LENIENCE**2 * weights * (np.sqrt(1 + wrong**2) - 1)
        slope_of_order = _LENIENCE * weights * wrong / np.sqrt(1 + wrong**2)
        slope += _ORDER_WEIGHT * (slope_of_order - weights * _sums(slope_of_order, kernel)[kernel])
        slope += _LEVEL_WEIGHT * weights * (levels / np.sqrt(1 + levels**2))[kernel]
        moved = exponents - before
        value = losses_of.sum() + _ORDER_WEIGHT * order.sum() + _LEVEL_WEIGHT * (np.hypot(1, levels) - 1).sum()
        gradient = (slope / kernels / times / 1e9) @ counts * rates
        return (
            float(value / kernels + _PRIOR_WEIGHT * (moved**2).mean()),
            gradient + 2 * _PRIOR_WEIGHT * moved / len(moved),
        )

    return np.exp(minimize(objective, before, jac=True, method="L-BFGS-B", options={"maxiter": 300}).x)


def _sums(values: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """The sum of the values of each kernel."""
    return np.bincount(kernel, weights=values)


def losses(measurements: Sequence[Measurement], rates: np.ndarray) -> dict[str, float]:
    """The time of what the rates choose over that of the best measured, by kernel."""
    found: dict[str, float] = {}
    for name in {each.kernel for each in measurements}:
        of_kernel = [each for each in measurements if each.kernel == name]
        times = expected(rates, np.array([each.counts for each in of_kernel]))
        found[name] = of_kernel[int(np.argmin(times))].seconds / min(each.seconds for each in of_kernel)
    return found


def validated(measurements: Sequence[Measurement], prior: np.ndarray, parts: int = 6) -> dict[str, float]:
    """The loss of a choice by rates that were fitted to other kernels, by kernel."""
    names = sorted({each.kernel for each in measurements})
    random.Random(0).shuffle(names)
    found: dict[str, float] = {}
    for part in range(min(parts, len(names))):
        left_out = set(names[part::parts])
        others = [each for each in measurements if each.kernel not in left_out]
        rates = fitted(others, prior) if others else prior
        found |= losses([each for each in measurements if each.kernel in left_out], rates)
    return found


def mean_of(found: Mapping[str, float]) -> float:
    """The geometric mean of what choices lose."""
    return math.exp(sum(map(math.log, found.values())) / len(found))


def text_of(rates: Mapping[str, float]) -> str:
    """The module of polytune that has these rates, which are in nanoseconds, by the names of kinds."""
    lines = "\n".join(f"    Kind.{name}: {rate:.3g}," for name, rate in rates.items())
    return f'''\
"""The rates of the model of the first choice, as ``python -m benchmarks.calibration --install`` has written them."""

from __future__ import annotations

from collections.abc import Mapping

from polytune.runtime.tuning.work import Kind

__all__ = ["RATES"]

RATES: Mapping[Kind, float] = {{
{lines}
}}
"""Nanoseconds of one thread for each that is counted."""
'''
