"""Costs as the response of a model: finite, positive numbers, also where a configuration was infeasible."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

_ZERO = 1e-3
"""What stands for a cost of zero, as a share of the smallest cost above zero: its logarithm is wanted."""


def response(costs: Mapping[int, float]) -> tuple[np.ndarray, np.ndarray]:
    """The rows that have a cost, and their costs as numbers whose logarithm exists.

    An infeasible row gets the largest feasible cost: the model is to avoid its like, without its absence of a cost
    bending everything else.

    Returns:
        Row indices, int64, and positive finite costs, float64, in the order of `costs`; both are empty if no row is
        feasible.
    """
    feasible = [cost for cost in costs.values() if cost < math.inf]
    if not feasible:
        return np.zeros(0, np.int64), np.zeros(0)
    largest, floor = max(feasible), _ZERO * min((cost for cost in feasible if cost > 0), default=1.0)
    values = np.fromiter((min(cost, largest) for cost in costs.values()), float, len(costs))
    return np.fromiter(costs, np.int64, len(costs)), np.maximum(values, floor)
