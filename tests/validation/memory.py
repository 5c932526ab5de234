"""Arrays of field elements, whose accesses are held against the tasks that run at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

from tests.validation.field import hashed, tag

Point = tuple[int, ...]


@dataclass
class Clock:
    """What is being executed.

    Attributes:
        task: the number of the task that runs; tasks are numbered in the order in which they run.
        since: the first of those tasks between which and the running one nobody waits for anybody.
        garbage: how many elements were read that nobody had written.
        first_garbage: where the first of them was read.
    """

    task: int = 0
    since: int = 0
    garbage: int = 0
    first_garbage: str = ""


@dataclass
class Cells:
    """An array, of which only the accesses' subscripts are checked: a task's own one.

    Elements are numbered along the last axis first.  Those that were never written have garbage in them, another
    number for every task: poison, if it ever comes to matter.
    """

    name: str
    shape: Point
    clock: Clock
    values: list[int | None] = field(default_factory=list)
    counts: list[int] | None = None

    def __post_init__(self) -> None:
        size = 1
        strides: list[int] = []
        for extent in reversed(self.shape):
            strides.insert(0, size)
            size *= extent
        self.strides = tuple(strides)
        self.values = self.values or [None] * size

    def number(self, index: Sequence[int]) -> int:
        """The number of an element.

        Raises:
            AssertionError: it is outside of the array.
        """
        place = 0
        for subscript, extent, stride in zip(index, self.shape, self.strides, strict=True):
            if not 0 <= subscript < extent:
                raise AssertionError(f"{self.text(index)} is accessed, outside of the shape {self.shape}")
            place += subscript * stride
        return place

    def read(self, place: int) -> int:
        """The value of an element, given its number."""
        value = self.values[place]
        return self._garbage(place) if value is None else value

    def write(self, place: int, value: int) -> None:
        """Set an element, given its number."""
        if self.counts is not None:
            self.counts[place] += 1
        self.values[place] = value

    def _garbage(self, place: int) -> int:
        clock = self.clock
        clock.garbage += 1
        clock.first_garbage = clock.first_garbage or self.element(place)
        return hashed(tag(self.name), place, clock.task)

    def index(self, place: int) -> Point:
        """The subscripts of an element, given its number."""
        found = []
        for stride, extent in zip(self.strides, self.shape, strict=True):
            found.append(place // stride % extent)
        return tuple(found)

    def element(self, place: int) -> str:
        """An element as text, given its number."""
        return self.text(self.index(place))

    def text(self, index: Sequence[int]) -> str:
        """An element as text."""
        return f"{self.name}[{', '.join(map(str, index))}]" if index else self.name


class SharedCells(Cells):
    """An array that all workers see: two tasks between which nobody waits may not both touch an element, one of
    them writing it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        size = len(self.values)
        self._writer, self._reader, self._readers_since = [-1] * size, [-1] * size, [-1] * size

    def read(self, place: int) -> int:
        clock = self.clock
        task, since = clock.task, clock.since
        if task != self._writer[place] >= since:
            self._race(place, self._writer[place], "is read")
        if self._reader[place] != task:
            if self._reader[place] >= since:
                # More than one task has read it since then.
                self._readers_since[place] = since
            self._reader[place] = task
        value = self.values[place]
        return self._garbage(place) if value is None else value

    def write(self, place: int, value: int) -> None:
        clock = self.clock
        task, since = clock.task, clock.since
        if task != self._writer[place] >= since:
            self._race(place, self._writer[place], "is written")
        if self._reader[place] >= since and (self._reader[place] != task or self._readers_since[place] == since):
            self._race(place, self._reader[place], "is written, and read")
        self._writer[place] = task
        if self.counts is not None:
            self.counts[place] += 1
        self.values[place] = value

    def written(self) -> set[int]:
        """The numbers of the elements that were written."""
        return {place for place, task in enumerate(self._writer) if task >= 0}

    def read_places(self) -> set[int]:
        """The numbers of the elements that were read."""
        return {place for place, task in enumerate(self._reader) if task >= 0}

    def _race(self, place: int, other: int, what: str) -> None:
        first = self.clock.since
        raise AssertionError(
            f"a race: {self.element(place)} {what} by tile {self.clock.task - first} of the region, and touched by "
            f"tile {other - first} (or another one), between which no worker waits"
        )


def all_places(shape: Point) -> list[Point]:
    """The subscripts of all elements, in the order of their numbers."""
    return list(product(*map(range, shape)))
