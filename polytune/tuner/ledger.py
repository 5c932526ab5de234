"""What tuning has cost and what it has saved."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from polytune.tuner.amortisation import Amortisation

_TRIALS_REMEMBERED = 8  # whose losses tell what the next trial may lose


@dataclass(frozen=True)
class Statistics:
    """What an online tuner has done so far, for people; times are in seconds.

    Attributes:
        calls: how many calls were reported.
        trials: how many of them tried something other than the best configuration known.
        explored: how many configurations have been measured.
        failed: how many configurations could not be run.
        total_seconds: run time of all calls.
        compile_seconds: time spent compiling configurations other than the default.
        lost_seconds: compile time, and the time by which trials took longer than the best configuration known then.
        saved_seconds: how much more time the calls of other configurations would have taken with the default one, less
            the compile time; negative while tuning has not paid yet, 0 while the default has not been measured.
        best_seconds: what the best configuration takes; None before the first measurement.
        default_seconds: what the default configuration takes; None while it has not been measured.
        repaid_after: how many more calls with the best configuration make tuning pay; 0 where it has paid, None where
            it will not or that is not known.
        converged: whether the tuner has settled on its best configuration.
        paused: why nothing is tried for now, though the tuner has not settled; None where something may be.
        reopened: how often it has started again because the machine had changed.
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


@dataclass
class Ledger:
    """The running account of an online tuner; most fields are those of `Statistics`.

    Attributes:
        other_calls: calls of configurations other than the default.
        other_seconds: run time of these.
        losses: what the last trials lost, in seconds.
        best_seconds: what the best configuration took when a call was last learned from.
        default_compile_seconds: time spent compiling the default, which a program without a tuner would spend as well.
        default_seconds: what the calls learned from would have taken with the default configuration.
        ahead_seconds: by how much less they took; negative while trials have cost more than what they found has saved.
        amortisation: whether trials still pay.
    """

    calls: int = 0
    trials: int = 0
    total_seconds: float = 0.0
    other_calls: int = 0
    other_seconds: float = 0.0
    compile_seconds: float = 0.0
    default_compile_seconds: float = 0.0
    lost_seconds: float = 0.0
    reopened: int = 0
    losses: list[float] = field(default_factory=list)
    best_seconds: float = 0.0
    default_seconds: float = 0.0
    ahead_seconds: float = 0.0
    amortisation: Amortisation = field(default_factory=Amortisation)

    def add_trial(self, lost: float, best: float | None) -> None:
        """Enter a trial that lost so much, after which the best configuration takes `best` seconds."""
        self.trials += 1
        self.losses = [*self.losses[1 - _TRIALS_REMEMBERED :], lost]
        if best is not None:
            self.amortisation.note(lost, best, self.calls)

    def compare(self, seconds: float, default: float, best: float) -> None:
        """Enter what a call took beside what the default configuration takes, after which the best takes `best`."""
        self.best_seconds = best
        self.default_seconds += default
        self.ahead_seconds += default - seconds

    def saved_seconds(self, default_seconds: float | None) -> float:
        """How much more time calls of other configurations would have taken with the default, less the compile time.

        Calls of the default are left out: that some take longer than it usually does is no cost of tuning.
        """
        if default_seconds is None:
            return 0.0
        return self.other_calls * default_seconds - self.other_seconds - self.compile_seconds

    def to_json(self) -> dict[str, Any]:
        """The account as plain dictionaries and lists; `from_json` reads it back."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Ledger:
        """The account that `to_json` wrote.

        Raises:
            TypeError: it is not one.
        """
        return cls(**{**document, "amortisation": Amortisation(**document["amortisation"])})
