"""How much of an application's time tuning may take."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass

from polytune.errors import SpaceError
from polytune.tuner.ledger import Ledger
from polytune.tuner.spaces.condition import plain_value

_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0}
_WRITTEN = re.compile(r"\s*(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*(calls?|%|s|ms|us|min)\s*")


@dataclass(frozen=True)
class Budget:
    """When an online tuner may try something new.

    The *loss* of a call is the time by which it took longer than the best configuration known would have, plus the
    time spent compiling for it.  The first `trials` measurements are free; after them, something new is tried only
    while all losses so far stay below `share` of all time so far, compilation included.  So tuning makes a long run
    slower by no more than that share, whatever it finds, and an unlucky trial is followed by a pause.

    A short run is guarded by `excess` and `compiling`, from the first trial on: what tuning has saved may be spent on
    trials, and little more than that.

    Attributes:
        share: the part of all time that may be lost, from 0 (no trials after the first ones) to 1 (no limit).
        trials: how many measurements of something other than the best are made whatever they cost.
        limit: the largest number of trials altogether; None where only convergence ends them.
        seconds: the most that may be lost altogether; None for no such limit.
        excess: how far all calls together, compilation apart, may be behind always running the default configuration
            when a trial is made, as a part of what that would have taken; infinite for no such limit.
        compiling: the most seconds of compilation, the default's included, for each second of calls when a trial is
            made: what has been compiled is kept for other processes, but a program should not wait longer for the
            compiler than it computes.
        reserves: whether a trial is made only where there is room for it: as much as the worst of the last ones lost.
            Then the share and the seconds are not overstepped but by a trial that is worse than all of these.
    """

    share: float = 0.15
    trials: int = 24
    limit: int | None = None
    seconds: float | None = None
    excess: float = 0.03
    compiling: float = 1.0
    reserves: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise SpaceError(f"a budget's share is a part of all time, from 0 to 1, not {self.share}")
        if self.trials < 0 or (self.limit is not None and self.limit < 0):
            raise SpaceError("a budget's trials and its limit cannot be negative")
        if not self.excess >= 0 or not self.compiling >= 0:
            raise SpaceError("a budget's excess and its compiling are numbers from zero up")
        if self.seconds is not None and not 0 <= self.seconds < float("inf"):
            raise SpaceError(f"a budget's seconds are a number from zero up, not {self.seconds}")

    @classmethod
    def unlimited(cls) -> Budget:
        """Trials whatever they cost, until the search has converged: for programs that do nothing but tune."""
        return cls(share=1.0, trials=sys.maxsize, excess=math.inf, compiling=math.inf)

    @classmethod
    def of_calls(cls, calls: int) -> Budget:
        """At most so many trials, whatever they cost."""
        return cls(share=1.0, limit=calls, excess=math.inf, compiling=math.inf)

    @classmethod
    def of_seconds(cls, seconds: float) -> Budget:
        """At most so many seconds lost."""
        return cls(share=1.0, trials=0, seconds=seconds, excess=math.inf, compiling=math.inf, reserves=True)

    @classmethod
    def promise(cls, excess: float) -> Budget:
        """All calls together, compiling included, take at most `excess` more than the best configurations known at
        the time of each would have: 0.05 for 5 %.

        Raises:
            SpaceError: it is negative.
        """
        if not 0 <= excess < float("inf"):
            raise SpaceError(f"what tuning may cost is a share from zero up, 0.05 for 5 %, not {excess}")
        share = excess / (1 + excess)
        return cls(share=share, trials=0, excess=math.inf, compiling=math.inf, reserves=True)

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
        text = plain_value(text)
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
            if not amount.is_integer():
                raise SpaceError(f"{text!r} is no budget: calls are counted in whole numbers")
            return cls.of_calls(int(amount))
        return cls.promise(amount / 100) if unit == "%" else cls.of_seconds(amount * _UNITS[unit])

    def bears(self, loss: float, account: Ledger) -> bool:
        """Whether all calls would be behind the default by no more than the excess, after one more that loses so many
        seconds."""
        return math.isinf(self.excess) or account.ahead_seconds - loss >= -self.excess * account.default_seconds

    def objection(self, account: Ledger) -> str | None:
        """Why no trial may be made now, for people; None where one may.

        Args:
            account: what tuning has cost and saved so far.
        """
        trials, lost = account.trials, account.lost_seconds
        if self.limit is not None and trials >= self.limit:
            return f"all {self.limit} trials of the budget have been made"
        expected = max(account.losses, default=account.best_seconds) if self.reserves else 0.0
        if self.seconds is not None and lost + expected > self.seconds:
            return f"a trial may lose more than what is left of the budget of {self.seconds:g} s"
        if not self.bears(0.0, account):
            return f"trials have cost more than {self.excess:.0%} of the time that the first choice takes"
        if account.compile_seconds + account.default_compile_seconds > self.compiling * account.total_seconds:
            return "compiling has taken longer than all calls"
        if trials < self.trials or self.share == 1:
            return None
        total = account.total_seconds + account.compile_seconds
        room = self.share * (total + expected)
        if lost + expected <= room if self.reserves else lost < room:
            return None
        return f"trials have lost {self.share:.0%} of all time"
