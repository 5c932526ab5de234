"""What repeated measurements of one configuration say about its cost."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

WINDOW = 15
"""How many measurements are kept; older ones give way, so that an estimate follows a machine that changes slowly."""


class Samples:
    """The last measurements of one configuration.

    The estimate is the lower median: of two the smaller, since what disturbs a measurement nearly always lengthens
    it; of three or more, no single outlier, however large or small, can decide it.
    """

    __slots__ = ("_values", "estimate")

    def __init__(self, values: Iterable[float] = ()):
        self._values = deque(values, maxlen=WINDOW)
        self.estimate = self._median()

    def add(self, seconds: float) -> None:
        """Take in one more measurement."""
        self._values.append(seconds)
        self.estimate = self._median()

    def _median(self) -> float:
        ordered = sorted(self._values)
        return ordered[(len(ordered) - 1) // 2] if ordered else float("inf")

    @property
    def spread(self) -> float:
        """The median distance of the measurements from the estimate, as a share of the estimate."""
        if self.estimate <= 0 or len(self._values) < 2:
            return 0.0
        distances = sorted(abs(value - self.estimate) for value in self._values)
        return distances[len(distances) // 2] / self.estimate

    def __len__(self) -> int:
        return len(self._values)

    @property
    def values(self) -> tuple[float, ...]:
        """The measurements kept, oldest first."""
        return tuple(self._values)
