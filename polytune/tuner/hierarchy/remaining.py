"""The configurations that a search may still measure when it has come to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from polytune.tuner.hierarchy.race import Samples
from polytune.tuner.spaces.configuration import Configuration
from polytune.tuner.spaces.space import Space

__all__ = ["Remaining", "dismissed"]

_RANDOM_DRAWS = 20
_INTERRUPTION = 32.0  # times longer than undisturbed, a single measurement is not put down to an interruption any more


def dismissed(
    samples: Mapping[Configuration, Samples],
    best: Configuration | None,
    group_of: Callable[[Configuration], int | None],
    default: Configuration,
    repeats: int,
) -> list[Configuration]:
    """The configurations that were measured of groups that were left after a single measurement: that may have been
    interrupted.

    The default more often: it was measured first of all, while everything was cold, and what is settled on must not be
    slower.

    Args:
        samples: what has been measured.
        best: the best configuration.
        group_of: the group of a configuration: a version, say.
        default: the space's default.
        repeats: how many measurements make a configuration believed.
    """
    if best is None:
        return []
    cheapest: dict[int | None, Configuration] = {}
    for configuration, measured in samples.items():
        group = group_of(configuration)
        if group not in cheapest or measured.estimate < samples[cheapest[group]].estimate:
            cheapest[group] = configuration
    limit = _INTERRUPTION * samples[best].estimate
    left = [c for c in cheapest.values() if c != best and len(samples[c]) == 1 and samples[c].estimate <= limit]
    missing = repeats - len(samples[default]) if default in samples and default != best else 0
    return [*(each for each in left if each != default), *[default] * missing]


class Remaining:
    """Gives configurations that nothing is known of.

    Args:
        space: whose.
        rng: where random choices come from.
    """

    def __init__(self, space: Space, rng: np.random.Generator):
        self._space = space
        self._rng = rng
        self._rest: Iterator[Configuration] | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Remaining:
        """A copy that goes through what is left from its beginning, which costs time alone."""
        return Remaining(self._space, deepcopy(self._rng, memo))

    def next(self, is_unknown: Callable[[Configuration], bool]) -> Configuration | None:
        """A random one; the next one in order where draws no longer find any; None where none is left."""
        for _ in range(_RANDOM_DRAWS):
            configuration = self._space.sample(self._rng)
            if is_unknown(configuration):
                return configuration
        if not self._space.is_discrete:
            return None
        if self._rest is None:
            self._rest = self._space.enumerate()
        return next(filter(is_unknown, self._rest), None)
