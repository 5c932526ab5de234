"""The numeric subspace under one combination of structural values, with the search of its own that it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polytune.tuner.configuration import Configuration
from polytune.tuner.coordinates import Axis, axis_of
from polytune.tuner.searchers import NelderMead
from polytune.tuner.space import Space

_FIRST_STEP = 0.25  # of an axis's extent: far enough to see a difference, not so far as to leave the good region


class Subspace:
    """The active numeric parameters under a structural combination, and a simplex search over them.

    All of them form one space: parameters whose conditions hold together cannot be tuned apart (Pfaffe et al.,
    ICS 2019, section 3.1.1).

    Args:
        space: the whole space.
        start: the configuration that gives the structural values and the point where the search starts.
    """

    def __init__(self, space: Space, start: Configuration):
        self._space = space
        self._start = start
        numeric = {parameter.name for parameter in space.active_numeric(start)}
        self._names = [name for name in start if name in numeric]
        self._axes: list[Axis] = [axis_of(space[name]) for name in self._names]
        at = [axis.encode(start[name]) for axis, name in zip(self._axes, self._names, strict=True)]
        # A parameter with a single value has an axis without extent: nothing to search.
        self._free = [index for index, axis in enumerate(self._axes) if axis.extent > 0]
        self._at = at
        self.searcher = NelderMead(
            [at[index] for index in self._free],
            [_first_step(self._axes[index].extent, at[index]) for index in self._free],
        )

    def configuration(self, point: Sequence[float]) -> Configuration:
        """The configuration that a point of the search stands for; it may break a constraint of the space."""
        values = dict(self._start)
        for index, coordinate in zip(self._free, point, strict=True):
            values[self._names[index]] = self._axes[index].decode(coordinate)
        return Configuration(values)

    def state(self) -> dict[str, Any]:
        """Where the search started and how far it is."""
        return {"start": dict(self._start), "search": self.searcher.state()}


def _first_step(extent: float, at: float) -> float:
    """The step of the first simplex along an axis: towards the side where there is more room."""
    step = max(1.0, _FIRST_STEP * extent)
    return step if extent - at >= at else -step
