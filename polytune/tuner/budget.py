"""How much of an application's time tuning may take."""

from __future__ import annotations

from dataclasses import dataclass

from polytune.errors import SpaceError


@dataclass(frozen=True)
class Budget:
    """When an online tuner may try something new.

    The *loss* of a call is the time by which it took longer than the best configuration known would have, plus the
    time spent compiling for it.  The first `trials` measurements are free; after them, something new is tried only
    while all losses so far stay below `share` of all time so far, compilation included.  So tuning makes a long run
    slower by no more than that share, whatever it finds, and an unlucky trial is followed by a pause.

    Attributes:
        share: the part of all time that may be lost, from 0 (no trials after the first ones) to 1 (no limit).
        trials: how many measurements of something other than the best are made whatever they cost.
        limit: the largest number of trials altogether; None where only convergence ends them.
    """

    share: float = 0.15
    trials: int = 24
    limit: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise SpaceError(f"a budget's share is a part of all time, from 0 to 1, not {self.share}")
        if self.trials < 0 or (self.limit is not None and self.limit < 0):
            raise SpaceError("a budget's trials and its limit cannot be negative")

    def allows(self, trials: int, lost: float, total: float) -> bool:
        """Whether one more trial may be made after `trials` that lost `lost` of `total` seconds."""
        if self.limit is not None and trials >= self.limit:
            return False
        return trials < self.trials or self.share == 1 or lost < self.share * total
