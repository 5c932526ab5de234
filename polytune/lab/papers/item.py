"""One table or figure of a paper, and its counterpart here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, TypeVar

from polytune.lab.recording import RecordedSpace
from polytune.records import dataclass

__all__ = ["Effort", "Item", "Recordings", "Reproduction", "Table"]

_TOLD_EVERY = 10.0  # seconds
_Made = TypeVar("_Made")


def _nothing(line: str) -> None:
    """Say nothing."""


@dataclass(frozen=True)
class Effort:
    """The amount that is computed.

    Attributes:
        repeats: how many runs there are of each search where the paper has 200 or so; others have a share of these.
        seed: what all random choices come from.
        jobs: in how many processes runs of searches are made, which changes nothing about them.
        say: told how far an item is that takes long.
    """

    repeats: int
    seed: int = 0
    jobs: int = 1
    say: Callable[[str], None] = _nothing

    def watched(self, made: Iterable[_Made], what: str, total: int) -> Iterator[_Made]:
        """Pass on what is made, one after the other, and tell after each ten seconds how much that is.

        Args:
            made: makes them.
            what: they are, for people.
            total: how many there will be.
        """
        told = time.monotonic()
        for number, each in enumerate(made, start=1):
            now = time.monotonic()
            if now - told >= _TOLD_EVERY:
                told = now
                self.say(f"  {what}: {number} of {total}")
            yield each


@dataclass(frozen=True)
class Recordings:
    """The recordings at hand.

    Attributes:
        spaces: recordings of kernels on devices.
        profiled: those with performance counters of a profiler.
        laplacian: that of the Laplacian kernel; None where it is not at hand.
        examples: those of polytune's kernels that come with it, without counters.
        counted: recordings of polytune's kernels with its own counters, those that come with it among them.
    """

    spaces: Sequence[RecordedSpace]
    profiled: Sequence[RecordedSpace]
    laplacian: RecordedSpace | None
    examples: Sequence[RecordedSpace]
    counted: Sequence[RecordedSpace] = ()


@dataclass(frozen=True)
class Table:
    """A table: its title, columns, and rows of text."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Reproduction:
    """The counterpart of an item.

    Attributes:
        ours: in a sentence.
        tables: with all numbers.
        figures: image files, PNG, with what each shows.
    """

    ours: str
    tables: Sequence[Table] = ()
    figures: Mapping[str, Path] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The reproduction as a dictionary."""
        return {
            "ours": self.ours,
            "tables": [vars(table) for table in self.tables],
            "figures": {title: str(path) for title, path in self.figures.items()},
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Reproduction:
        """The reproduction that `to_json` wrote."""
        tables = [Table(**table) for table in document["tables"]]
        return cls(document["ours"], tables, {title: Path(path) for title, path in document["figures"].items()})


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper.

    Attributes:
        name: a file name for what was made of it.
        paper: whose it is.
        where: which table, figure or section.
        what: what the paper shows, in a sentence.
        theirs: the paper's own figures, in a sentence.
        command: how it is made alone.
        make: makes it: of the recordings, with an effort, figures in a folder; None where a recording that it needs is
            not at hand.
    """

    name: str
    paper: str
    where: str
    what: str
    theirs: str
    command: str
    make: Callable[[Recordings, Effort, Path], Reproduction | None]
