"""An account of what tuning has cost and what it has saved, and the test whether trying on can still pay."""

from __future__ import annotations

import math
from dataclasses import asdict, field
from typing import Any

from polytune.records import dataclass
from polytune.tuner.searcher import is_number
from polytune.tuner.spaces.configuration import Configuration

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


TRIALS_REMEMBERED = 8
"""The number of trials whose losses tell what the next one may lose."""


@dataclass(frozen=True)
class Statistics:
    """An account of what an online tuner has done so far, for people; times are in seconds.

    Attributes:
        calls: how many calls were reported.
        disturbed_calls: how many of them nothing was learned from, as versions were compiled beside them, or arrays
            were moved first.
        trials: how many of them tried something other than the best configuration known.
        explored: how many configurations have been measured.
        failed: how many configurations could not be run.
        total_seconds: run time of all calls.
        compile_seconds: time spent compiling configurations other than the default.
        lost_seconds: compile time, and the time by which trials, calls after them and disturbed calls took longer than
            the best configuration known then.
        saved_seconds: how much more time all calls would have taken with the default configuration, less what they
            waited for compilers and were disturbed by them; negative while tuning has not paid yet, 0 while the default
            has not been measured.
        best_seconds: what the best configuration takes; None before the first measurement.
        default_seconds: what the default configuration takes; None while it has not been measured.
        repaid_after: how many more calls with the best configuration make tuning pay; 0 where it has paid, None where
            it will not or that is not known.
        converged: whether the tuner has settled on its best configuration.
        paused: why nothing is tried for now, though the tuner has not settled; None where something may be.
        preparing: what is to be tried as soon as it is ready; None where nothing is waited for.
        reopened: how often it has started again because the machine had changed.
        history: what the search owes to measurements of other sizes and on other machines, for people.
    """

    calls: int
    trials: int
    explored: int
    failed: int
    total_seconds: float
    compile_seconds: float
    lost_seconds: float
    saved_seconds: float
    best_seconds: float | None
    default_seconds: float | None
    repaid_after: int | None
    converged: bool
    reopened: int
    paused: str | None = None
    preparing: Configuration | None = None
    disturbed_calls: int = 0
    history: str = ""


@dataclass
class Ledger:
    """The running account of an online tuner; most fields are those of `Statistics`.

    What the default configuration would have taken is reckoned from what the best one takes: by how many times longer
    it took when the two were last measured side by side.  Measurements of different moments do not compare.

    Attributes:
        longest_compile_seconds: the longest compilation that a call has waited for, the default's included.
        default_compile_seconds: time spent compiling the default, which a program without a tuner would spend as well.
        disturbed_seconds: the part of `lost_seconds` by which calls were longer as versions were compiled beside them.
        losses: what the last trials of kinds that were known lost, in seconds, compiling apart.
        first_losses: what the last trials of kinds of which nothing was known lost.
        best_seconds: what the best configuration took when a call was last learned from.
        gain: how many times longer than the best configuration the default takes; None while that is not known.
        default_seconds: what all calls would have taken with the default configuration.
        ahead_seconds: by how much less they took, compiling apart; negative while trials have cost more than what they
            found has saved.
        amortisation: whether trials still pay.
    """

    calls: int = 0
    disturbed_calls: int = 0
    trials: int = 0
    total_seconds: float = 0.0
    compile_seconds: float = 0.0
    longest_compile_seconds: float = 0.0
    default_compile_seconds: float = 0.0
    lost_seconds: float = 0.0
    disturbed_seconds: float = 0.0
    reopened: int = 0
    losses: list[float] = field(default_factory=list)
    first_losses: list[float] = field(default_factory=list)
    best_seconds: float = 0.0
    gain: float | None = None
    default_seconds: float = 0.0
    ahead_seconds: float = 0.0
    amortisation: Amortisation = field(default_factory=Amortisation)

    def charge(self, seconds: float) -> None:
        """Enter time that calls took for the tuning alone, beside what they ran."""
        self.lost_seconds += seconds
        self.ahead_seconds -= seconds

    def add_trial(self, lost: float, compile_seconds: float, best: float | None, *, is_first: bool = False) -> None:
        """Enter a trial.

        Args:
            lost: the time by which it took longer than the best configuration.
            compile_seconds: what it waited for the compiler.
            best: what the best configuration takes after it; None where the trial is not to be weighed against what it
                has gained.
            is_first: whether nothing was known of its kind.
        """
        self.trials += 1
        if is_first:
            self.first_losses = [*self.first_losses[1 - TRIALS_REMEMBERED :], lost]
        else:
            self.losses = [*self.losses[1 - TRIALS_REMEMBERED :], lost]
        if best is not None:
            self.amortisation.note(lost + compile_seconds, best, self.calls)

    def compare(self, seconds: float | None, best: float) -> None:
        """Enter a call beside what it would have taken with the default configuration.

        Args:
            seconds: what it took; None for one of the best configuration, of which every delay is the machine's.
            best: what the best configuration takes.
        """
        self.best_seconds = best
        default = best if self.gain is None else self.gain * best
        self.default_seconds += default
        self.ahead_seconds += default - (best if seconds is None else seconds)

    def compare_best(self, best: float, calls: int) -> None:
        """Enter calls of the best configuration, as `compare` enters one.

        Args:
            best: what it takes.
            calls: how many there were.
        """
        if calls:
            self.best_seconds = best
        default = best if self.gain is None else self.gain * best
        ahead = default - best
        for _ in range(calls):
            self.default_seconds += default
            self.ahead_seconds += ahead

    @property
    def saved_seconds(self) -> float:
        """Return how much more time the calls would have taken with the default configuration than they have, waiting
        for compilers and disturbed by them; negative while tuning has cost more, 0 while the default is not known."""
        return 0.0 if self.gain is None else self.ahead_seconds - self.compile_seconds - self.disturbed_seconds

    def to_json(self) -> dict[str, Any]:
        """The account as plain dictionaries and lists; `from_json` reads it back."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Ledger:
        """The account that `to_json` wrote.

        Raises:
            TypeError: it is not one.
        """
        ledger = cls(**{**document, "amortisation": Amortisation(**document["amortisation"])})
        for name, value in vars(cls()).items():
            found = getattr(ledger, name)
            numbers = found if isinstance(value, list) else [] if isinstance(value, Amortisation) else [found]
            may_be_none = value is None
            if not isinstance(numbers, list) or not all(is_number(n) or (may_be_none and n is None) for n in numbers):
                raise TypeError(f"{name} of an account cannot be {found!r}")
        return ledger
