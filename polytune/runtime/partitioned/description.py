"""The description, in a generated module, of the version that is shared among platforms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from polytune.records import dataclass
from polytune.runtime.devices.device import Box

__all__ = ["DeviceCode", "Part", "Partitioned", "Transfer"]

Transfer = tuple[str, Box]
"""An array and a box of it."""


@dataclass(frozen=True)
class DeviceCode:
    """A region as a device kernel.

    Attributes:
        name: the kernel's name in its text.
        text: the text, without prelude and macros.
        arrays: the arrays and scalars in memory that it takes, a buffer each.
        private: the arrays of which each thread has a copy, a buffer each.
        extents: (array, axis) pairs, an int64 each.
        scalars: scalar arguments with their types.
        positions: per member of its band which one of the region's it is; two int64 each.
        sequential: how many of its members are sequential; the others are mapped, x last.
        shared_memory: how many bytes of shared memory a block needs, an expression of ``{x}``, ``{y}`` and ``{z}``, the
            points of a block along its axes, and ``{depth}``, those of a tile along a sequential member; empty where
            there is nothing to keep there.
        origins: of arrays of which the buffers hold parts, (array, axis) pairs, an int64 each: the first subscript.
    """

    name: str
    text: str
    arrays: tuple[str, ...]
    private: tuple[str, ...]
    extents: tuple[tuple[str, int], ...]
    scalars: tuple[tuple[str, str], ...]
    positions: tuple[int, ...]
    sequential: int
    shared_memory: str
    origins: tuple[tuple[str, int], ...] = ()

    @property
    def shares(self) -> bool:
        """Return whether it has anything to keep in shared memory."""
        return bool(self.shared_memory)

    @property
    def axes(self) -> int:
        """Return how many members are mapped to blocks and threads."""
        return len(self.positions) - self.sequential


@dataclass(frozen=True)
class Part:
    """One region: any part of its band can be run.

    Attributes:
        run: a Numba function of a context, for the processor.
        team: whether it shares its work out among workers; then ``run`` also takes a worker's number and how many there
            are.
        tiles: how many tile sizes it takes.
        splits: how many members of its band may be split.
        shared: how many members have limits; the first ``splits`` are among them.
        reductions: per member that may be split, the arrays with the operators (``+ * min max``) by which both sides
            update them; empty where there are none at all.
        sums: the arrays with the operators that any part updates by what it has added up in copies of its own, over all
            that the region as a whole updates.
        own: the arrays in memory that a part works in, and of which nothing is needed before or after it.
        ranges: of parameters and loops around it, the range (start, stop) of every member of the band.
        reads: of the same and the limits of a part, boxes that hold all it reads.
        writes: likewise exactly what it may write.
        device: the code for devices, None where the region is not parallel.
        compute: of parameters, the statement instances of all its executions together; None where that is not known.
        memory: likewise the elements accessed, added up over the accesses.
    """

    run: Any
    team: bool
    tiles: int
    splits: int
    shared: int
    ranges: Callable[..., tuple[tuple[int, int], ...]]
    reads: Callable[..., list[Transfer]]
    writes: Callable[..., list[Transfer]]
    device: DeviceCode | None = None
    reductions: tuple[tuple[tuple[str, str], ...], ...] = ()
    sums: tuple[tuple[str, str], ...] = ()
    own: tuple[str, ...] = ()
    compute: Callable[..., int] | None = None
    memory: Callable[..., int] | None = None


@dataclass(frozen=True)
class Partitioned:
    """The version.

    Attributes:
        steps: of the parameters, the regions in order, each with the values of the loops around it.
        part_words: how many integers say at most which part of a region is meant.
        parts: the regions.
    """

    steps: Callable[..., Iterator[tuple[int, tuple[int, ...]]]]
    part_words: int
    parts: tuple[Part, ...]

    @property
    def splits(self) -> int:
        """Return how many members can be split in some region that devices can run."""
        return max((part.splits for part in self.parts if part.device is not None), default=0)

    @property
    def regions(self) -> tuple[int, ...]:
        """The numbers of the regions that devices can run, where there are several: each may be divided in a way of
        its own."""
        found = tuple(number for number, part in enumerate(self.parts) if part.device is not None)
        return found if len(found) > 1 else ()

    @property
    def codes(self) -> tuple[DeviceCode, ...]:
        """The kernels for devices."""
        return tuple(part.device for part in self.parts if part.device is not None)
