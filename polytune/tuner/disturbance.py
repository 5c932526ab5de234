"""Changes of a machine's speed: for a while, as when a version is compiled beside the calls, or for good."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from statistics import median

from polytune.tuner.spaces.configuration import Configuration

__all__ = ["SHORT_CALL", "Disturbance", "DriftDetector", "FewerThreads"]

_SAMPLES = 7
_FEWEST_SAMPLES = 3
_MOST = 4.0  # times longer: beyond, times say nothing
_FIRST_AGAIN, _AGAIN = 8, 128  # calls after which what was left is run again, first and later on
_LOOKS = 2  # calls of it then: the median of three is that of two that agree
_CLEARLY_LONGER = 2.0  # times: one call of it is enough
_SHARE_OF_LOOKS = 0.02  # of the time of calls that this may take later on


class Disturbance:
    """The time by which calls are longer for now, as the best configuration shows: it is run in turns with what is
    tried.

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
        """Note that nothing is disturbed any more."""
        self.is_on = False
        self._ratios.clear()

    @property
    def slowdown(self) -> float | None:
        """Return how many times longer calls are; None while that is not known, or too much to tell one from
        another."""
        if len(self._ratios) < _FEWEST_SAMPLES:
            return None
        ratio = sorted(self._ratios)[(len(self._ratios) - 1) // 2]
        return max(1.0, ratio) if ratio <= _MOST else None


SHORT_CALL = 1e-3
"""Seconds: below a time slice of the system, a thread that has lost its core is waited for longer than calls take."""


class FewerThreads:
    """The choice between a configuration and the same with fewer threads, while something else keeps a core busy.

    A call that wants all cores may wait for the one that is busy; one that leaves that core alone may be over sooner.
    Both are run in turns, a few times, then what takes the shorter time by the median of its last calls.  The other is
    run again soon, and ever less often as long as that changes nothing: a compiler holds Python's lock at first, by
    which calls of both are longer, and then does not; what keeps a core busy comes and goes, and so do helpers that
    sleep when they are needed first.  Calls of 1 ms and more are left as they are: the system's scheduler shares cores
    out among these.

    Args:
        fewer: a configuration with fewer threads in place of another; None where there is none.
    """

    def __init__(self, fewer: Callable[[Configuration], Configuration | None]):
        self._fewer_than = fewer
        self._usual: Configuration | None = None
        self._fewer: Configuration | None = None
        self._times: tuple[deque[float], deque[float]] = deque(maxlen=_FEWEST_SAMPLES), deque(maxlen=_FEWEST_SAMPLES)
        self._runs_fewer = False  # what takes the shorter time
        self._begin()

    def _begin(self) -> None:
        for each in self._times:
            each.clear()
        self._runs_fewer = False
        self._looks = 0  # calls of the other that are to come
        self._interval = _FIRST_AGAIN
        self._calls_since_both = 0

    @property
    def is_decided(self) -> bool:
        """Return whether both have been run often enough, or there is nothing to decide."""
        usual, fewer = self._times
        return self._fewer is None or (
            len(usual) == _FEWEST_SAMPLES and (median(usual) >= SHORT_CALL or len(fewer) == _FEWEST_SAMPLES)
        )

    @property
    def calls_until_look(self) -> int:
        """Return how many calls run the same as the next one, at least."""
        if self._fewer is None:
            return _AGAIN
        if not self.is_decided or self._looks:
            return 1
        left = self._interval - self._calls_since_both
        return left if left > 0 else _FIRST_AGAIN

    def instead_of(self, configuration: Configuration) -> Configuration:
        """Return what the next call runs in the place of a configuration: that itself, or the one with fewer
        threads."""
        if configuration != self._usual:
            self._usual, self._fewer = configuration, self._fewer_than(configuration)
            self._begin()
        usual, fewer = self._times
        if self._fewer is None or not usual or median(usual) >= SHORT_CALL:
            return configuration
        if not self.is_decided:
            return self._fewer if len(fewer) < len(usual) else configuration
        return self._fewer if self._runs_fewer != (self._looks > 0) else configuration

    def note(self, configuration: Configuration, seconds: float) -> None:
        """Take in a call while a core is busy.

        Args:
            configuration: what the call ran.
            seconds: what it took.
        """
        if configuration not in (self._usual, self._fewer):
            return
        is_fewer = configuration == self._fewer
        taken, other = self._times[self._runs_fewer], self._times[not self._runs_fewer]
        is_clear = bool(taken) and seconds > _CLEARLY_LONGER * median(taken)
        self._times[is_fewer].append(seconds)
        if not self.is_decided:
            return
        if self._looks:
            if is_fewer != self._runs_fewer:
                self._looks = 0 if is_clear else self._looks - 1
                if not self._looks:
                    self._end_look()
            return
        self._decide()
        self._calls_since_both += 1
        if self._calls_since_both >= self._interval and other and self._is_worth_another_look(taken, other):
            self._looks = _LOOKS

    def _decide(self) -> None:
        usual, fewer = self._times
        self._runs_fewer = bool(usual and fewer) and median(fewer) < median(usual)

    def _end_look(self) -> None:
        """Take what has turned out to be faster; look again later than the last time where that is what it was."""
        before = self._runs_fewer
        self._decide()
        self._interval = min(2 * self._interval, _AGAIN) if self._runs_fewer == before else _FIRST_AGAIN
        self._calls_since_both = 0

    def _is_worth_another_look(self, taken: deque[float], other: deque[float]) -> bool:
        """Return whether enough calls have been made that running the other again, if it takes as long as it did, is
        little beside them: a call that wants a busy core may take many times as long.  Soon after the first calls that
        is not asked.

        Args:
            taken: seconds of the last calls of what is run.
            other: seconds of the calls of what was left.
        """
        usual = median(taken)
        lost = _LOOKS * (median(other) - usual)
        return self._interval < _AGAIN or lost <= _SHARE_OF_LOOKS * usual * self._calls_since_both


_WINDOW = 16
_WINDOWS_IN_A_ROW = 4
_FIRST_WINDOWS = 3
_MOST_APART = 1.5  # times that calls in use may take what was measured before


class DriftDetector:
    """Compares the run time of recent calls with a remembered one.

    Calls are looked at in windows of 16 by their median, which interruptions of single calls do not move.  The
    machine has drifted when several windows in a row, 4 at first, are off by more than the tolerance.  Each drift
    found doubles that number, so that run times that are irregular by nature do not keep a tuner busy.

    What was measured in turns with others tells which of them is the fastest, not what calls of it take when nothing
    else is run: caches are as other calls leave them, and the one with the smallest median was the luckiest.  So what
    is settled on is compared with its own first windows, within limits: a search that is begun anew for nothing takes
    hundreds of calls.  Where these are slower by more than the tolerance, the choice is in doubt, once for each search.

    Args:
        tolerance: the relative change that counts, 0.25 for a quarter slower or a fifth faster.

    Attributes:
        is_in_doubt: whether what was settled on takes longer than it did when it was chosen, since nobody knows when.
    """

    def __init__(self, tolerance: float = 0.25):
        self._tolerance = tolerance
        self.is_in_doubt = False
        self._needed = _WINDOWS_IN_A_ROW
        self._off = 0
        self._recent: list[float] = []
        self._first: list[float] | None = None  # medians of the first windows, until there are enough
        self._in_use = 1.0  # times what is remembered, what calls took first

    def begin(self) -> None:
        """Take note that something has just been settled on, whose next calls say what it takes in use."""
        self._recent.clear()
        self._first, self._in_use, self._off = [], 1.0, 0

    def observe(self, seconds: float, reference: float) -> bool:
        """Take in one call.  Return whether the machine has drifted from `reference`, the remembered run time, or the
        choice has come into doubt.

        Sampling costs an append; the median, every sixteenth call, two microseconds.
        """
        self._recent.append(seconds)
        if len(self._recent) < _WINDOW:
            return False
        middle = sorted(self._recent)[_WINDOW // 2]
        self._recent.clear()
        if self._first is not None:
            return self._note_first(self._first, middle, reference)
        limit, usual = 1 + self._tolerance, self._in_use * reference
        self._off = self._off + 1 if middle > limit * usual or middle * limit < usual else 0
        if self._off < self._needed:
            return False
        self._off = 0
        self._needed *= 2
        self.is_in_doubt = False
        return True

    def _note_first(self, first: list[float], middle: float, reference: float) -> bool:
        """Take in one of the first windows.  Return whether they bring the choice into doubt.

        Args:
            first: the medians of those before it, to which its own is added.
            middle: its median.
            reference: what is remembered.
        """
        first.append(middle)
        if len(first) < _FIRST_WINDOWS:
            return False
        self._first = None
        if reference <= 0:
            return False
        in_use = median(first) / reference
        self._in_use = min(max(in_use, 1 / _MOST_APART), _MOST_APART)
        if self.is_in_doubt or in_use <= 1 + self._tolerance:
            return False
        self.is_in_doubt = True
        return True
