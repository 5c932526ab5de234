"""The findings of a campaign, and how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polytune.records import dataclass
from polytune.tuner import Configuration

__all__ = ["CampaignEntry", "Progress"]


@dataclass(frozen=True)
class CampaignEntry:
    """The findings for a kernel and a shape on one kind of machine.

    Attributes:
        kernel: its name.
        shape: the sizes, by name.
        machine: the key of the machine.
        trials: how many configurations have been measured, earlier ones among them.
        failed: how many could not be run.
        best: the fastest; None where none has run.
        seconds: what it takes.
        default: the default, where it has run.
        default_seconds: what that takes.
        finished: whether the search has come to its end, or to the limit of trials.
    """

    kernel: str
    shape: Mapping[str, int]
    machine: str
    trials: int
    failed: int
    best: Configuration | None
    seconds: float | None
    default: Configuration | None
    default_seconds: float | None
    finished: bool

    def to_json(self) -> dict[str, Any]:
        """The entry as JSON has it."""
        return {
            name: dict(value) if isinstance(value, Mapping) else value
            for name, value in ((name, getattr(self, name)) for name in self.__annotations__)
        }


@dataclass(frozen=True)
class Progress:
    """The state of a campaign that runs.

    Attributes:
        entries: what has been found so far.
        limit: how many trials each of them may have.
        workers: how many workers there are.
        busy: how many of them do something.
        lost: how many tasks were lost with workers that ended or hung, and done again.
        seconds: for how long the campaign has run.
        left: how many seconds more it may take; None while that is not known.
    """

    entries: tuple[CampaignEntry, ...]
    limit: int
    workers: int
    busy: int
    lost: int
    seconds: float
    left: float | None
