"""What tuning has cost and what it has saved."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Statistics:
    """What an online tuner has done so far, for people; times are in seconds.

    Attributes:
        calls: how many calls were reported.
        trials: how many of them tried something other than the best configuration known.
        explored: how many configurations have been measured.
        failed: how many configurations could not be run.
        total_seconds: run time of all calls.
        compile_seconds: time spent compiling configurations.
        lost_seconds: compile time, and the time by which trials took longer than the best configuration known then.
        saved_seconds: how much more time all calls would have taken with the default configuration, less the compile
            time; negative while tuning has not paid yet, 0 while the default has not been measured.
        best_seconds: what the best configuration takes; None before the first measurement.
        default_seconds: what the default configuration takes; None while it has not been measured.
        converged: whether the tuner has settled on its best configuration.
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
    converged: bool
    reopened: int


@dataclass
class Ledger:
    """The running account of an online tuner; the fields are those of `Statistics`."""

    calls: int = 0
    trials: int = 0
    total_seconds: float = 0.0
    compile_seconds: float = 0.0
    lost_seconds: float = 0.0
    reopened: int = 0

    def saved_seconds(self, default_seconds: float | None) -> float:
        """How much more time all calls would have taken with the default, less the compile time."""
        if default_seconds is None:
            return 0.0
        return self.calls * default_seconds - self.total_seconds - self.compile_seconds

    def to_json(self) -> dict[str, Any]:
        """The account as a dictionary of numbers; ``Ledger(**document)`` reads it back."""
        return asdict(self)
