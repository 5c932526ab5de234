"""Bounded parameters as unbounded real coordinates, so that a numeric search needs to know neither bounds nor kinds.

Every axis is mirrored at its bounds, which makes it periodic: any real number stands for a value, and a step across a
bound comes back inside (Pfaffe et al., ICS 2019, section 3.1).  One unit of an axis is one level of a discrete
parameter, a hundredth of a `Ratio`'s range, an eighth of an octave of a logarithmic range.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

from polytune.records import dataclass
from polytune.tuner.spaces.condition import Value
from polytune.tuner.spaces.parameters import Integer, Parameter, Ratio

_RATIO_UNITS = 100
_UNITS_PER_OCTAVE = 8


def mirror(coordinate: float, length: float) -> float:
    """The number in [0, length] that `coordinate` is reflected to by mirrors at 0 and at `length`."""
    if length <= 0 or not math.isfinite(coordinate):
        return 0.0
    position = math.fmod(abs(coordinate), 2 * length)
    return min(2 * length - position, length) if position > length else position


class Coordinate(Protocol):
    """One parameter's coordinate."""

    @property
    def extent(self) -> float:
        """The distance, in units, from one end of the parameter's values to the other."""

    def decode(self, coordinate: float) -> Value:
        """The value that any real coordinate stands for."""

    def encode(self, value: Value) -> float:
        """A coordinate of the value, within [0, extent]; ``decode(encode(value)) == value``."""


@dataclass(frozen=True)
class LevelAxis:
    """One unit per level; each level owns the interval that rounds to it."""

    levels: Sequence[Value]

    @property
    def extent(self) -> float:
        return float(len(self.levels) - 1)

    def decode(self, coordinate: float) -> Value:
        # The mirrors stand half a unit outside, so that the outermost levels are as wide as the others.
        inside = mirror(coordinate + 0.5, len(self.levels))
        return self.levels[min(int(inside), len(self.levels) - 1)]

    def encode(self, value: Value) -> float:
        return float(self.levels.index(value))


@dataclass(frozen=True)
class RatioAxis:
    """A real parameter, in hundredths of its range or in fractions of octaves."""

    parameter: Ratio

    @property
    def extent(self) -> float:
        if self.parameter.logarithmic:
            return _UNITS_PER_OCTAVE * math.log2(self.parameter.high / self.parameter.low)
        return float(_RATIO_UNITS)

    def decode(self, coordinate: float) -> Value:
        extent = self.extent
        return self.parameter.between(mirror(coordinate, extent) / extent)

    def encode(self, value: Value) -> float:
        low, high = self.parameter.low, self.parameter.high
        if self.parameter.logarithmic:
            return _UNITS_PER_OCTAVE * math.log2(float(value) / low)
        return _RATIO_UNITS * (float(value) - low) / (high - low)


@dataclass(frozen=True)
class LogarithmicIntegerAxis:
    """Whole numbers by ratio: each coordinate stands for the level nearest in the logarithm."""

    levels: Sequence[int]

    @cached_property
    def extent(self) -> float:
        return self.encode(self.levels[-1])

    def decode(self, coordinate: float) -> Value:
        wanted = self.levels[0] * 2.0 ** (mirror(coordinate, self.extent) / _UNITS_PER_OCTAVE)
        above = min(bisect.bisect_left(self.levels, wanted), len(self.levels) - 1)
        below = max(above - 1, 0)
        # Nearest in the logarithm: the geometric mean of two neighbours divides them.
        return self.levels[below] if wanted * wanted < self.levels[below] * self.levels[above] else self.levels[above]

    def encode(self, value: Value) -> float:
        return _UNITS_PER_OCTAVE * math.log2(float(value) / self.levels[0])


def axis_of(parameter: Parameter) -> Coordinate:
    """The coordinate axis of a parameter."""
    if isinstance(parameter, Ratio):
        return RatioAxis(parameter)
    if isinstance(parameter, Integer) and parameter.logarithmic and not parameter.powers_of_two:
        return LogarithmicIntegerAxis(parameter.levels)
    return LevelAxis(parameter.levels)
