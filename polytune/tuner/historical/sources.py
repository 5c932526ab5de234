"""The measurements of a kernel that were made for other sizes or on other machines."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from polytune.records import dataclass
from polytune.tuner.memory import Key, Memory
from polytune.tuner.spaces.configuration import Configuration
from polytune.tuner.spaces.space import Space

__all__ = ["TransferSource", "distance", "sources_of"]

FARTHEST = math.log(64)
"""The distance beyond which what was best says little."""

_ELSEWHERE = 0.3  # of the weight of the same size on this machine: that of the same size on another one
_HALVED = math.log(4)  # the distance over which a weight is halved
_SIZE = re.compile(r"(\w+)=(-?\d+)")


@dataclass(frozen=True)
class TransferSource:
    """The measurements of one class of inputs on one machine.

    Attributes:
        shape: the class of inputs.
        machine: where; empty for this one.
        seconds: by configuration that ran, the median time.
        weight: how much it counts beside others, from 0 to 1.
        distance: how far its inputs are from those that are to be tuned for.
    """

    shape: str
    machine: str
    seconds: Mapping[Configuration, float]
    weight: float
    distance: float

    @property
    def best_seconds(self) -> float:
        """Return what the fastest configuration took."""
        return min(self.seconds.values())

    def slowdown(self, configuration: Configuration) -> float | None:
        """Return how many times as long as the fastest one a configuration took; None where it was not measured."""
        seconds, best = self.seconds.get(configuration), self.best_seconds
        if seconds is None or best <= 0:
            return None
        return seconds / best

    def __str__(self) -> str:
        return (self.shape or "all sizes") + (f" on {self.machine}" if self.machine else "")


def distance(first: str, second: str) -> float:
    """Return how far two classes of inputs are apart: the Euclidean distance of the logarithms of their sizes.

    Args:
        first, second: texts with sizes in the form ``name=number``, as kernels are remembered under.

    Returns:
        Infinity where anything but the numbers differs.
    """
    if _SIZE.sub(r"\1=", first) != _SIZE.sub(r"\1=", second):
        return math.inf
    sizes = [[abs(int(number)) for _, number in _SIZE.findall(text)] for text in (first, second)]
    return math.dist(*([math.log1p(size) for size in listed] for listed in sizes))


def sources_of(store: Memory, key: Key, space: Space) -> list[TransferSource]:
    """Return what is remembered of a kernel elsewhere: of other classes of inputs, and on other machines.

    Args:
        store: what remembers.
        key: what is to be tuned; its own measurements are left out.
        space: what the configurations must be members of.

    Returns:
        The nearest first, up to a factor of 64 in sizes; on this machine before others.
    """
    found: dict[tuple[str, str], dict[Configuration, float]] = {}
    distances: dict[str, float] = {}
    for record in store.all(key.kernel, None, None):
        place = record.shape, record.machine
        if place == (key.shape, key.machine) or record.status != "ok" or record.median_seconds is None:
            continue
        if record.shape not in distances:
            distances[record.shape] = distance(record.shape, key.shape)
        if distances[record.shape] <= FARTHEST and space.contains(record.configuration):
            found.setdefault(place, {})[space.configuration(**record.configuration)] = record.median_seconds
    sources = [_source(shape, machine, key, seconds, distances[shape]) for (shape, machine), seconds in found.items()]
    return sorted(sources, key=lambda source: (bool(source.machine), source.distance))


def _source(shape: str, machine: str, key: Key, seconds: Mapping[Configuration, float], apart: float) -> TransferSource:
    is_here = machine == key.machine
    weight = (1.0 if is_here else _ELSEWHERE) * 0.5 ** (apart / _HALVED)
    return TransferSource(shape, "" if is_here else machine, seconds, weight, apart)
