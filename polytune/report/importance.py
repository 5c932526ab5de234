"""The importance of each parameter: how much of the differences between times goes with it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from polytune.records import dataclass
from polytune.tuner import Configuration, Nominal, Space

__all__ = ["Importance", "importance_of"]

_LEAST = 8  # configurations
_GROUPS = 4  # of the values of a number


@dataclass(frozen=True)
class Importance:
    """The part of the variance of the logarithm of the time that a parameter explains.

    Attributes:
        parameter: its name.
        share: the part, from 0 to 1.
        configurations: of how many measured configurations it is a parameter.
    """

    parameter: str
    share: float
    configurations: int


def importance_of(space: Space, ranking: Sequence[tuple[Configuration, float]]) -> tuple[Importance, ...]:
    """The importance of the parameters of a space, the greatest first.

    An analysis of variance (omega squared, which allows for chance) in two steps: of the parameter that decides which
    others there are, and then of each other one, of what is left of the differences within the values of that.  Numbers
    are cut at quantiles.  What was measured is what a search has chosen, so this tells of those times and is no
    property of the whole space.

    Args:
        space: the space.
        ranking: what was measured, with its seconds.

    Returns:
        Nothing where too little was measured to tell.
    """
    measured = [(configuration, math.log(seconds)) for configuration, seconds in ranking if seconds > 0]
    if len(measured) < _LEAST:
        return ()
    logarithms = np.array([seconds for _, seconds in measured])
    total = float(((logarithms - logarithms.mean()) ** 2).sum())
    if total <= 0:
        return ()
    first, *others = space.parameters
    everywhere = [first.name in configuration for configuration, _ in measured]
    left = logarithms - logarithms.mean()
    found = []
    if all(everywhere) and isinstance(first, Nominal):
        groups: list[Hashable] = [configuration[first.name] for configuration, _ in measured]
        found.append(Importance(first.name, _omega_squared(logarithms, groups, total), len(measured)))
        left = logarithms - _means(logarithms, groups)
    else:
        others = list(space.parameters)
    for parameter in others:
        rows = [k for k, (configuration, _) in enumerate(measured) if parameter.name in configuration]
        values = [measured[k][0][parameter.name] for k in rows]
        if len(rows) < _LEAST or len(set(values)) < 2:
            continue
        groups = list(values) if isinstance(parameter, Nominal) else _quantiles(values)
        found.append(Importance(parameter.name, _omega_squared(left[rows], groups, total), len(rows)))
    return tuple(sorted(found, key=lambda each: -each.share))


def _quantiles(values: Sequence[Any]) -> list[Hashable]:
    numbers = np.array([float(value) for value in values])
    distinct = np.unique(numbers)
    if len(distinct) <= _GROUPS:
        return list(numbers)
    edges = np.quantile(numbers, np.linspace(0, 1, _GROUPS + 1)[1:-1])
    return [int(k) for k in np.searchsorted(edges, numbers, side="right")]


def _groups(values: np.ndarray, groups: Sequence[Hashable]) -> Mapping[Hashable, np.ndarray]:
    found: dict[Hashable, list[float]] = {}
    for value, group in zip(values, groups, strict=True):
        found.setdefault(group, []).append(float(value))
    return {group: np.array(each) for group, each in found.items()}


def _means(values: np.ndarray, groups: Sequence[Hashable]) -> np.ndarray:
    means = {group: each.mean() for group, each in _groups(values, groups).items()}
    return np.array([means[group] for group in groups])


def _omega_squared(values: np.ndarray, groups: Sequence[Hashable], total: float) -> float:
    """The part of a total that lies between groups, less what chance alone puts there."""
    parts = _groups(values, groups)
    degrees = len(values) - len(parts)
    if len(parts) < 2 or degrees < 1:
        return 0.0
    mean = float(values.mean())
    between = sum(len(each) * (float(each.mean()) - mean) ** 2 for each in parts.values())
    within = sum(float(((each - each.mean()) ** 2).sum()) for each in parts.values()) / degrees
    return min(1.0, max(0.0, (between - (len(parts) - 1) * within) / (total + within)))
