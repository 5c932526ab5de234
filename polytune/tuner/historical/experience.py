"""The gain and the cost of tuning in other cases, and when it may pay in this one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any

from polytune.records import dataclass
from polytune.tuner.ledger import Ledger
from polytune.tuner.memory import Key, Memory

__all__ = ["Experience", "Outlook", "experiences", "note_experience", "outlook"]

_RECORD = "tuning experience"
_VERSION = 1
_MOST = 256
"""Cases that are remembered, the last ones."""

_FEWEST_TRIALS = 8  # of a case from which anything is concluded
_FEWEST_CASES = 6  # of other kernels; of the kernel itself, one is enough
_SHARE = 0.05
"""The share of the time that tuning may cost even where it gains nothing: for no longer than that it is waited."""


@dataclass(frozen=True)
class Experience:
    """The result of tuning for one class of inputs of one kernel.

    Attributes:
        kernel, shape: as in a `Key`.
        calls: how many there have been.
        gain: how many times as long as the best configuration the first choice takes.
        cost: what tuning has lost, in calls of the first choice.
    """

    kernel: str
    shape: str
    calls: int
    gain: float
    cost: float


@dataclass(frozen=True)
class Outlook:
    """An expectation of what tuning will gain and cost.

    Attributes:
        cases: from how many cases.
        is_same_kernel: whether they are of the same kernel.
        saved: which share of the time of the first choice is saved.
        cost: what that costs, in calls of the first choice.
        calls: how many calls there will be, 0 where nothing is known.
    """

    cases: int
    is_same_kernel: bool
    saved: float
    cost: float
    calls: int

    @property
    def begins_after(self) -> int:
        """Return after how many calls tuning is started: when what it saves on as many more is worth its cost, or its
        cost is a twentieth of the time."""
        return math.ceil(self.cost / max(self.saved, _SHARE))

    def pays(self, calls: int) -> bool:
        """Return whether tuning is expected to pay after so many calls.

        Of a program that has made n calls, n more are expected, or as many as there have been in other cases of the
        kernel.
        """
        return max(calls, self.calls - calls) >= self.begins_after

    def objection(self, calls: int) -> str | None:
        """Return why tuning is not started yet, for people; None where it may be.

        Args:
            calls: how many there have been.
        """
        if self.pays(calls):
            return None
        which = "sizes of this kernel" if self.is_same_kernel else "cases of other kernels"
        cases = f"{self.cases} other {which}" if self.cases > 1 else "another size of this kernel"
        cost = f"{self.cost:.3g}" if self.cost < 1000 else f"{self.cost:.0f}"
        return (
            f"in {cases} tuning has saved {self.saved:.1%} of the time of the first choice, and cost as much as "
            f"{cost} calls: it is started after {self.begins_after} calls"
        )


def experiences(store: Memory, machine: str) -> list[Experience]:
    """Return what is remembered of all kernels on a machine; nothing where that cannot be read.

    Args:
        store: what remembers.
        machine: as in a `Key`.
    """
    record = store.load_search(_RECORD, "", machine)
    if not isinstance(record, dict) or record.get("version") != _VERSION:
        return []
    try:
        found = [Experience(str(k), str(s), int(n), float(g), float(c)) for k, s, n, g, c in record["cases"]]
    except (LookupError, TypeError, ValueError):
        return []
    return [each for each in found if math.isfinite(each.gain) and each.gain > 0 and math.isfinite(each.cost)]


def note_experience(store: Memory, key: Key, ledger: Ledger) -> None:
    """Remember what tuning has gained and cost in a case, in place of what was remembered of it; nothing before there
    have been trials enough to tell.

    Args:
        store: what remembers.
        key: the case.
        ledger: its account.
    """
    default = (ledger.gain or 0.0) * ledger.best_seconds
    if ledger.trials < _FEWEST_TRIALS or default <= 0 or ledger.gain is None:
        return
    known = [each for each in experiences(store, key.machine) if (each.kernel, each.shape) != (key.kernel, key.shape)]
    known.append(Experience(key.kernel, key.shape, ledger.calls, ledger.gain, ledger.lost_seconds / default))
    cases = [[each.kernel, each.shape, each.calls, each.gain, each.cost] for each in known[-_MOST:]]
    document: Mapping[str, Any] = {"version": _VERSION, "cases": cases}
    store.save_search(_RECORD, "", key.machine, dict(document))


def outlook(known: Sequence[Experience], key: Key) -> Outlook | None:
    """Expect of a case what others were like: those of the same kernel, or else those of other kernels.

    Args:
        known: the experiences on its machine.
        key: the case; its own experience is left out.

    Returns:
        None where there are too few.
    """
    same = [each for each in known if each.kernel == key.kernel and each.shape != key.shape]
    used = same or [each for each in known if each.kernel != key.kernel]
    if not same and len(used) < _FEWEST_CASES:
        return None
    return Outlook(
        cases=len(used),
        is_same_kernel=bool(same),
        saved=fmean(max(0.0, 1.0 - 1.0 / each.gain) for each in used),
        cost=median(each.cost for each in used),
        calls=round(median(each.calls for each in same)) if same else 0,
    )
