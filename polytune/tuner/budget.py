"""How much of an application's time tuning may take."""

from __future__ import annotations

import re
from dataclasses import dataclass

from polytune.errors import SpaceError

_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0}
_WRITTEN = re.compile(r"\s*(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*(calls?|%|s|ms|us|min)\s*")


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
        seconds: the most that may be lost altogether; None for no such limit.
        reserves: whether a trial is made only where there is room for it: as much as the worst of the last ones lost.
            Then the share and the seconds are not overstepped but by a trial that is worse than all of these.
    """

    share: float = 0.15
    trials: int = 24
    limit: int | None = None
    seconds: float | None = None
    reserves: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise SpaceError(f"a budget's share is a part of all time, from 0 to 1, not {self.share}")
        if self.trials < 0 or (self.limit is not None and self.limit < 0):
            raise SpaceError("a budget's trials and its limit cannot be negative")
        if self.seconds is not None and not 0 <= self.seconds < float("inf"):
            raise SpaceError(f"a budget's seconds are a number from zero up, not {self.seconds}")

    @classmethod
    def of_calls(cls, calls: int) -> Budget:
        """At most so many trials, whatever they cost."""
        return cls(share=1.0, limit=calls)

    @classmethod
    def of_seconds(cls, seconds: float) -> Budget:
        """At most so many seconds lost."""
        return cls(share=1.0, trials=0, seconds=seconds, reserves=True)

    @classmethod
    def promise(cls, excess: float) -> Budget:
        """All calls together, compiling included, take at most `excess` more than the best configurations known at
        the time of each would have: 0.05 for 5 %.

        Raises:
            SpaceError: it is negative.
        """
        if not 0 <= excess < float("inf"):
            raise SpaceError(f"what tuning may cost is a share from zero up, 0.05 for 5 %, not {excess}")
        return cls(share=excess / (1 + excess), trials=0, reserves=True)

    @classmethod
    def of(cls, text: Budget | int | str | None) -> Budget:
        """The budget that is meant by a number of calls or a text such as ``"200 calls"``, ``"2.5 s"``, ``"5 %"``.

        Raises:
            SpaceError: it cannot be read.

        >>> Budget.of("5 %").share
        0.047619047619047616
        >>> Budget.of("40 ms").seconds, Budget.of(100).limit
        (0.04, 100)
        """
        if text is None:
            return cls()
        if isinstance(text, Budget):
            return text
        if isinstance(text, int) and not isinstance(text, bool):
            return cls.of_calls(text)
        found = _WRITTEN.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise SpaceError(
                f'{text!r} is no budget: write a number of calls (200), a time ("2.5 s"), or by how much calls may be '
                'slower than with the best configuration known ("5 %")'
            )
        amount, unit = float(found[1]), found[2]
        if unit.startswith("call"):
            return cls.of_calls(int(amount))
        return cls.promise(amount / 100) if unit == "%" else cls.of_seconds(amount * _UNITS[unit])

    def allows(self, trials: int, lost: float, total: float, expected: float = 0.0) -> bool:
        """Whether one more trial may be made.

        Args:
            trials: how many there have been.
            lost, total: seconds lost, and of all time, so far.
            expected: the seconds that the trial may lose, for budgets that reserve them.
        """
        if self.limit is not None and trials >= self.limit:
            return False
        if not self.reserves:
            expected = 0.0
        if self.seconds is not None and lost + expected > self.seconds:
            return False
        if trials < self.trials or self.share == 1:
            return True
        room = self.share * (total + expected)
        return lost + expected <= room if self.reserves else lost < room
