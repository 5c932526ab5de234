"""What calls teach that something else slows down, such as a version that is compiled beside them."""

from __future__ import annotations

from collections import deque

__all__ = ["Disturbance"]

_SAMPLES = 7
_FEWEST_SAMPLES = 3
_MOST = 4.0  # times longer: beyond, times say nothing


class Disturbance:
    """By how much calls are longer for now, as the best configuration shows: it is run in turns with what is tried.

    What a trial would have taken undisturbed is what it took, divided by that.
    """

    def __init__(self) -> None:
        self._ratios: deque[float] = deque(maxlen=_SAMPLES)
        self.is_on = False

    def note(self, seconds: float, best: float) -> None:
        """Take in a disturbed call of the best configuration.

        Args:
            seconds: what it took.
            best: what it takes undisturbed.
        """
        self.is_on = True
        if best > 0:
            self._ratios.append(seconds / best)

    def end(self) -> None:
        """Nothing is disturbed any more."""
        self.is_on = False
        self._ratios.clear()

    @property
    def slowdown(self) -> float | None:
        """How many times longer calls are; None while that is not known, or too much to tell one from another."""
        if len(self._ratios) < _FEWEST_SAMPLES:
            return None
        ratio = sorted(self._ratios)[(len(self._ratios) - 1) // 2]
        return max(1.0, ratio) if ratio <= _MOST else None
