"""The log of an online tuner: what was tried, when, and why."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator

from polytune import notebook
from polytune.records import dataclass
from polytune.tuner.budget import seconds_text
from polytune.tuner.spaces.configuration import Configuration

__all__ = ["OnlineTrial", "TrialLog", "Trials", "trials_html", "values_text"]

_LOGGER = logging.getLogger(__name__)

_MOST_TRIALS = 10_000
_SHOWN = 10


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


def values_text(configuration: Configuration) -> str:
    """The values of a configuration, for people."""
    return ", ".join(f"{name}={value}" for name, value in configuration.items())


class Trials(list[OnlineTrial]):
    """Trials in the order of time, which notebooks show as a table."""

    def _repr_html_(self) -> str:
        return trials_html(self)


def trials_html(trials: Iterable[OnlineTrial], caption: str = "") -> str:
    """A table of trials for notebooks; of many, the first and the last ones."""
    rows: list[tuple[object, ...]] = [
        (each.call, _time(each), values_text(each.configuration), each.why) for each in trials
    ]
    left_out = len(rows) - 2 * _SHOWN
    if left_out > 0:
        rows[_SHOWN:-_SHOWN] = [("", "", f"and {left_out} more", "")]
    return notebook.table(("call", "time", "configuration", "why"), rows, caption)


def _time(trial: OnlineTrial) -> str:
    return "" if trial.seconds is None else seconds_text(trial.seconds)


class TrialLog:
    """The trials of this process in the order of time, the last ten thousand of them.

    The logger of this module is told of them too, and of what the tuner has found.

    Args:
        title: what is tuned, for people.
    """

    def __init__(self, title: str = "") -> None:
        self._title = title
        self._trials: deque[OnlineTrial] = deque(maxlen=_MOST_TRIALS)
        self._calls = 0
        self.why = ""

    def count(self, calls: int = 1) -> None:
        """Count some calls."""
        self._calls += calls

    def add(self, configuration: Configuration, seconds: float | None, why: str) -> None:
        """Enter the call that comes to its end.

        Args:
            configuration: what it ran.
            seconds: what it took; None where it failed.
            why: why it was run, or why it failed.
        """
        self._trials.append(OnlineTrial(self._calls + 1, configuration, seconds, why))
        if seconds is None:
            self.tell(logging.INFO, "gave up", configuration, why)
        else:
            self.tell(logging.DEBUG, "tried", configuration, f"{seconds_text(seconds)}, {why}")

    def tell(self, level: int, what: str, configuration: Configuration, more: str) -> None:
        """Tell the logger what was done with a configuration.

        Args:
            level: of the message, as in `logging`.
            what: was done.
            configuration: with which.
            more: what is to be said of it.
        """
        if _LOGGER.isEnabledFor(level):
            values = values_text(configuration)
            _LOGGER.log(level, "%s, call %d: %s %s: %s", self._title, self._calls + 1, what, values, more)

    def __iter__(self) -> Iterator[OnlineTrial]:
        return iter(self._trials)

    def __len__(self) -> int:
        return len(self._trials)
