"""The test whether trying on can still pay."""

from __future__ import annotations

import math

from polytune.records import dataclass

__all__ = ["Amortisation", "calls_until_repaid"]

_WINDOW = 16
_SHARE = 0.05


@dataclass
class Amortisation:
    """Weighs what trials cost against what they can still save.

    Of a program that has made n calls, n more are a fair guess: nothing else is known of when it will end.  After
    each 16 trials, what they lost is compared with what they gained: the time by which the best configuration has
    become faster, on n calls to come.  If they lost more, the next trial waits until there have been twice as many
    calls: by then the same gain would be worth twice as much.  It never waits for longer than it takes until the loss
    is a twentieth of the time: where that is little, a program that runs for long goes on until the search has
    converged.

    Attributes:
        trials: how many have been made since the last comparison.
        lost: the seconds that they lost.
        best: the seconds of the best configuration at the last comparison; None before the first.
        resume: after how many calls trials go on.
    """

    trials: int = 0
    lost: float = 0.0
    best: float | None = None
    resume: int = 0

    def allows(self, calls: int) -> bool:
        """Return whether a trial may pay after so many calls."""
        return calls >= self.resume

    def note(self, lost: float, best: float, calls: int) -> None:
        """Take in a trial.

        Args:
            lost: the seconds that it lost.
            best: what the best configuration takes after it.
            calls: how many calls there have been.
        """
        self.trials += 1
        self.lost += lost
        if self.trials < _WINDOW:
            return
        if self.best is not None and (self.best - best) * calls < self.lost:
            self.resume = min(2 * calls, calls + math.ceil(self.lost / (_SHARE * best))) if best > 0 else calls
        self.trials, self.lost, self.best = 0, 0.0, best


def calls_until_repaid(saved: float, default: float | None, best: float | None) -> int | None:
    """Return how many more calls with the best configuration make tuning pay.

    Args:
        saved: the seconds that tuning has saved so far on balance; negative while it has cost more.
        default, best: what the default and the best configuration take.

    Returns:
        0 where it has paid already; None where it will not, or that is not known.
    """
    if default is None or best is None:
        return None
    if saved >= 0:
        return 0
    return math.ceil(-saved / (default - best)) if best < default else None
