"""Whether a machine has become faster or slower than it was when a configuration was measured."""

from __future__ import annotations

_WINDOW = 16
_WINDOWS_IN_A_ROW = 4


class DriftDetector:
    """Compares the run time of recent calls with a remembered one.

    Calls are looked at in windows of 16 by their median, which interruptions of single calls do not move.  The
    machine has drifted when several windows in a row, 4 at first, are off by more than the tolerance.  Each drift
    found doubles that number, so that run times that are irregular by nature do not keep a tuner busy.

    Args:
        tolerance: the relative change that counts, 0.25 for a quarter slower or a fifth faster.
    """

    def __init__(self, tolerance: float = 0.25):
        self._tolerance = tolerance
        self._needed = _WINDOWS_IN_A_ROW
        self._off = 0
        self._recent: list[float] = []

    def observe(self, seconds: float, reference: float) -> bool:
        """Take in one call; whether the machine has drifted from `reference`, the remembered run time.

        Sampling costs an append; the median, every sixteenth call, two microseconds.
        """
        self._recent.append(seconds)
        if len(self._recent) < _WINDOW:
            return False
        median = sorted(self._recent)[_WINDOW // 2]
        self._recent.clear()
        limit = 1 + self._tolerance
        self._off = self._off + 1 if median > limit * reference or median * limit < reference else 0
        if self._off < self._needed:
            return False
        self._off = 0
        self._needed *= 2
        return True
