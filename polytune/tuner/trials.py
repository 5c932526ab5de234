"""The log of an online tuner: what was tried, when, and why."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from polytune.records import dataclass
from polytune.tuner.spaces.configuration import Configuration

__all__ = ["OnlineTrial", "TrialLog"]

_MOST_TRIALS = 10_000


@dataclass(frozen=True)
class OnlineTrial:
    """One call of something other than the best configuration known.

    Attributes:
        call: the number of the call in this process, from 1 on.
        configuration: what it ran.
        seconds: what it took; None where it failed.
        why: why it was run, or why it failed.
    """

    call: int
    configuration: Configuration
    seconds: float | None
    why: str


class TrialLog:
    """The trials of this process in the order of time, the last ten thousand of them."""

    def __init__(self) -> None:
        self._trials: deque[OnlineTrial] = deque(maxlen=_MOST_TRIALS)
        self._calls = 0
        self.why = ""

    def count(self) -> None:
        """Count a call."""
        self._calls += 1

    def add(self, configuration: Configuration, seconds: float | None, why: str) -> None:
        """Enter the call that comes to its end.

        Args:
            configuration: what it ran.
            seconds: what it took; None where it failed.
            why: why it was run, or why it failed.
        """
        self._trials.append(OnlineTrial(self._calls + 1, configuration, seconds, why))

    def __iter__(self) -> Iterator[OnlineTrial]:
        return iter(self._trials)

    def __len__(self) -> int:
        return len(self._trials)
