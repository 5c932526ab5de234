"""The share of an application's time that tuning may take."""

from __future__ import annotations

import math
import re
import sys

from polytune.errors import SpaceError
from polytune.records import dataclass
from polytune.tuner.ledger import Ledger
from polytune.tuner.spaces.condition import plain_value

_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0}
_WRITTEN = re.compile(r"\s*(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*(calls?|%|s|ms|us|min)\s*")


def seconds_text(seconds: float) -> str:
    """A time for people, in the unit that suits it."""
    if not seconds:
        return "0 s"
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if abs(seconds) * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


@dataclass(frozen=True)
class Budget:
    """The conditions on which an online tuner may try something new.

    The *loss* of a call is the time by which it took longer than the best configuration known would have, plus the
    time that it waited for compilers.  The first `trials` measurements are free; after them, something new is tried
    only while all losses so far stay below `share` of all time so far, compilation included.  So tuning makes a long
    run slower by no more than that share, whatever it finds, and an unlucky trial is followed by a pause.

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
        disturbing: by how many seconds calls may have been longer, for each second of calls, as versions were compiled
            beside them, when another compilation begins there; the default's is left out.
        reserves: whether a trial is made only where there is room for what it may lose.  Then the share and the seconds
            are not overstepped but by a trial that loses more than could be expected.
        weighs: whether tuning is started, and goes on beyond what history says is promising, only once it can be
            expected to pay, by what it has gained and cost in other cases.
    """

    share: float = 0.15
    trials: int = 24
    limit: int | None = None
    seconds: float | None = None
    excess: float = 0.03
    compiling: float = 1.0
    disturbing: float = 0.2
    reserves: bool = False
    weighs: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise SpaceError(f"a budget's share is a part of all time, from 0 to 1, not {self.share}")
        if self.trials < 0 or (self.limit is not None and self.limit < 0):
            raise SpaceError("a budget's trials and its limit cannot be negative")
        if not self.excess >= 0 or not self.compiling >= 0 or not self.disturbing >= 0:
            raise SpaceError("a budget's excess, its compiling and its disturbing are numbers from zero up")
        if self.seconds is not None and not 0 <= self.seconds < float("inf"):
            raise SpaceError(f"a budget's seconds are a number from zero up, not {self.seconds}")

    @classmethod
    def unlimited(cls) -> Budget:
        """Trials whatever they cost, until the search has converged: for programs that do nothing but tune."""
        return cls(
            share=1.0, trials=sys.maxsize, excess=math.inf, compiling=math.inf, disturbing=math.inf, weighs=False
        )

    @classmethod
    def of_calls(cls, calls: int) -> Budget:
        """A budget of so many trials at the most, whatever they cost."""
        return cls(share=1.0, limit=calls, excess=math.inf, compiling=math.inf, disturbing=math.inf, weighs=False)

    @classmethod
    def of_seconds(cls, seconds: float) -> Budget:
        """A budget of so many seconds lost at the most."""
        return cls(
            share=1.0,
            trials=0,
            seconds=seconds,
            excess=math.inf,
            compiling=math.inf,
            disturbing=math.inf,
            reserves=True,
            weighs=False,
        )

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
        return cls(
            share=share,
            trials=0,
            excess=math.inf,
            compiling=math.inf,
            disturbing=math.inf,
            reserves=True,
            weighs=False,
        )

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
        """Return whether all calls would be behind the default by no more than the excess, after one more that loses so
        many seconds."""
        return math.isinf(self.excess) or account.ahead_seconds - loss >= -self.excess * account.default_seconds

    def objection(self, account: Ledger, expected: float = 0.0, trials: int = 1, wait: float = 0.0) -> str | None:
        """Return why something may not be tried now, for people; None where it may.

        Args:
            account: what tuning has cost and saved so far.
            expected: the seconds that it may lose.
            trials: how many trials it takes.
            wait: the seconds that a call may wait for the compiler.
        """
        made, lost = account.trials, account.lost_seconds
        if self.limit is not None and made + trials > self.limit:
            return self._why_no_more_trials(made)
        expected = expected if self.reserves else 0.0
        if self.seconds is not None and (lost + expected > self.seconds or lost >= self.seconds):
            if not self.seconds:
                return "the budget allows for no trials"
            return f"a trial may lose {seconds_text(expected)}, and {seconds_text(max(0.0, self.seconds - lost))} " + (
                f"are left of the budget of {self.seconds:g} s"
            )
        if not self.bears(0.0, account):
            return f"trials have cost more than {self.excess:.0%} of the time that the first choice takes"
        if (why := self.objection_to_wait(account, wait)) is not None:
            return why
        if made < self.trials or self.share == 1:
            return None
        total = account.total_seconds + account.compile_seconds
        room = self.share * (total + expected)
        if lost + expected <= room and lost < room if self.reserves else lost < room:
            return None
        if not self.reserves:
            return f"trials have lost {self.share:.0%} of all time"
        if not self.share:
            return "the budget allows for no trials"
        allowed = self.share * total
        budget = f"the {seconds_text(allowed)} that the budget of {self._excess_text()} allows so far"
        if lost >= room:
            return f"tuning has lost {seconds_text(lost)}, more than {budget}"
        left = seconds_text(max(0.0, allowed - lost))
        return f"what is tried next may lose {seconds_text(expected)}, and {left} are left of {budget}"

    def objection_to_wait(self, account: Ledger, wait: float) -> str | None:
        """Return why no call may wait for the compiler now, for people; None where it may, or need not.

        Args:
            account: what tuning has cost and saved so far.
            wait: the seconds that it would wait.
        """
        waited = account.compile_seconds + account.default_compile_seconds
        if not wait or waited + wait <= self.compiling * account.total_seconds:
            return None
        if waited > self.compiling * account.total_seconds:
            return "compiling has taken longer than all calls"
        return f"to compile what is tried next may take {seconds_text(wait)}, more than calls have taken beyond that"

    def objection_to_disturbance(self, account: Ledger, expected: float) -> str | None:
        """Return why nothing may be compiled beside the program now, for people; None where it may.

        Args:
            account: what tuning has cost and saved so far.
            expected: by how many seconds calls may be longer meanwhile.
        """
        allowed = self.disturbing * account.total_seconds
        if account.disturbed_seconds + expected <= allowed:
            return None
        return (
            f"to compile what is tried next may make calls {seconds_text(expected)} longer, and "
            f"{seconds_text(max(0.0, allowed - account.disturbed_seconds))} are what compilers may cost so far"
        )

    def _why_no_more_trials(self, made: int) -> str:
        if not self.limit:
            return "the budget allows for no trials"
        if made >= self.limit:
            return f"all {self.limit} trials of the budget have been made"
        return f"{self.limit - made} of the {self.limit} trials of the budget are left, too few to compare anything"

    def _excess_text(self) -> str:
        return f"{100 * self.share / (1 - self.share):.3g} %" if self.share < 1 else "all time"
